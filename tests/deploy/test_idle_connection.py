"""A client of the local vector server that has nothing to say keeps its connection, as with a Milvus server."""

import time
from pathlib import Path

import grpc
import pytest

from deploy.local import LocalStack, Service, StackPlan

pytestmark = pytest.mark.stack

#: As pymilvus pings while idle, only ten times as often.
_PINGS = {
    "grpc.keepalive_time_ms": 1_000,
    "grpc.keepalive_timeout_ms": 5_000,
    "grpc.keepalive_permit_without_calls": 1,
    "grpc.http2.max_pings_without_data": 0,
    "grpc.use_local_subchannel_pool": 1,
}
_IDLE_S = 6.0


def test_an_idle_client_is_not_hung_up_on(tmp_path: Path) -> None:
    seen: list[grpc.ChannelConnectivity] = []
    alone = StackPlan(external=frozenset(Service) - {Service.VECTORS})
    with (
        LocalStack(tmp_path, plan=alone) as stack,
        grpc.insecure_channel(stack.services[0].address, options=list(_PINGS.items())) as channel,
    ):
        grpc.channel_ready_future(channel).result(timeout=10)
        channel.subscribe(seen.append)
        time.sleep(_IDLE_S)
        channel.unsubscribe(seen.append)
    assert set(seen) == {grpc.ChannelConnectivity.READY}
