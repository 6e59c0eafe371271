"""The three servers as children of the test: they answer, keep what they must, and end."""

import asyncio
import os
from pathlib import Path
from uuid import uuid4

import pytest

from deploy.local import LocalStack, Service, StackPlan
from deploy.local.ports import free_port
from deploy.local.server import ping
from memory.errors import StackProblem, StoreRefused, StoreUnavailable
from memory.settings import STACK_FILE, Settings, load_settings
from tests.deploy.stores import count_nodes, is_alive, read_vector, write_node, write_vector

pytestmark = pytest.mark.stack

PING_TIMEOUT_S = 10.0


@pytest.mark.parametrize("service", list(Service))
async def test_each_server_answers_a_question(stack: Settings, service: Service) -> None:
    await ping(service, stack, PING_TIMEOUT_S)


async def test_each_test_has_names_of_its_own(stack: Settings, settings: Settings) -> None:
    assert settings.topic_prefix != stack.topic_prefix
    assert settings.milvus_collection != stack.milvus_collection
    assert settings.graph_uri == stack.graph_uri


async def test_a_wrong_password_is_refused_not_unavailable(stack: Settings) -> None:
    wrong = stack.model_copy(update={"graph_password": stack.graph_password.__class__("not the password")})
    with pytest.raises(StoreRefused, match="refuses the user"):
        await ping(Service.GRAPH, wrong, PING_TIMEOUT_S)


@pytest.mark.parametrize("service", list(Service))
async def test_a_server_that_is_away_is_unavailable(stack: Settings, service: Service) -> None:
    scheme = {Service.BROKER: "", Service.GRAPH: "bolt://", Service.VECTORS: "http://"}[service]
    away = stack.model_copy(update={service.address_setting: f"{scheme}127.0.0.1:{free_port()}"})
    with pytest.raises(StoreUnavailable, match="does not listen"):
        await ping(service, away, PING_TIMEOUT_S)


def test_graph_and_vectors_outlive_the_stack_and_their_servers_do_not(tmp_path: Path) -> None:
    uid, collection = uuid4().hex, f"kept_{uuid4().hex[:8]}"
    with LocalStack(tmp_path) as first:
        pids = [service.pid for service in first.services]
        found = load_settings(data_dir=tmp_path)
        assert found.graph_uri == first.settings.graph_uri
        assert (tmp_path / STACK_FILE).stat().st_mode & 0o777 == 0o600
        asyncio.run(write_node(first.settings, uid))
        write_vector(first.settings, collection)
    assert not (tmp_path / STACK_FILE).exists()
    for pid in pids:
        assert pid is not None
        assert not is_alive(pid)
    with LocalStack(tmp_path) as second:
        assert second.left_behind is None
        assert asyncio.run(count_nodes(second.settings, uid)) == 1
        assert read_vector(second.settings, collection) == ["kept"]


def test_a_lost_password_is_made_anew_and_the_data_stay(tmp_path: Path) -> None:
    plan = StackPlan(external=frozenset({Service.BROKER, Service.VECTORS}))
    uid = uuid4().hex
    with LocalStack(tmp_path, plan=plan) as first:
        asyncio.run(write_node(first.settings, uid))
    (tmp_path / "graph" / "password").unlink()
    with LocalStack(tmp_path, plan=plan) as second:
        assert second.settings.graph_password != first.settings.graph_password
        assert asyncio.run(count_nodes(second.settings, uid)) == 1


def test_a_directory_serves_one_stack_and_two_stand_side_by_side(stack: Settings, tmp_path: Path) -> None:
    with LocalStack(tmp_path, plan=StackPlan(external=frozenset({Service.GRAPH, Service.VECTORS}))) as local:
        assert local.settings.kafka_bootstrap != stack.kafka_bootstrap
        with pytest.raises(StackProblem, match=rf"{tmp_path} is held by the local stack of the process {os.getpid()}"):
            LocalStack(tmp_path).start()


@pytest.mark.parametrize("service", list(Service))
def test_a_wanted_port_in_use_is_named_and_nothing_is_left(service: Service, stack: Settings, tmp_path: Path) -> None:
    taken = int(getattr(stack, service.address_setting).rsplit(":", 1)[1])
    local = LocalStack(tmp_path, plan=StackPlan(ports={service: taken}))
    with pytest.raises(StackProblem, match=f"port {taken} .* is in use.*{service.port_option}"):
        local.start()
    assert local.services == ()
    assert not (tmp_path / STACK_FILE).exists()


def test_a_fixed_port_is_used(tmp_path: Path) -> None:
    port = free_port()
    only = StackPlan(ports={Service.BROKER: port}, external=frozenset({Service.GRAPH, Service.VECTORS}))
    with LocalStack(tmp_path, plan=only) as local:
        assert local.settings.kafka_bootstrap == f"127.0.0.1:{port}"


def test_a_server_that_cannot_start_is_named_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "vectors").mkdir()
    (tmp_path / "vectors" / "LOCK").mkdir()
    with pytest.raises(StackProblem, match=r"the vectors ended while starting .*LOCK"):
        LocalStack(tmp_path, plan=StackPlan(external=frozenset({Service.BROKER, Service.GRAPH}))).start()
