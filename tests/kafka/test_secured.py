"""Kafka that asks who is there: SASL over TLS with client certificates, by a real broker."""

import asyncio
import gc
import json
import logging
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest

from deploy.local.broker import ping
from memory.errors import StoreUnavailable
from memory.events import derive_id
from memory.graph import Graph
from memory.records import Outgoing
from memory.settings import Settings, load_settings
from streams.admin import ensure_topics, topic_partitions
from streams.dlq import letters
from streams.ingest import open_ingest
from streams.intake import open_intake
from streams.publisher import Publisher
from streams.runtime import serve_stages
from streams.topics import Stage, Topic
from tests.kafka.cluster import KafkaCluster
from tests.security.authority import Authority
from tests.streams.helpers import read, until

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.timeout(240),
    # asyncio's TLS ends a connection after its client closed it, and complains of it whenever it is collected
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

PASSWORD = "pass-word-5x7q"
KEY_PASSWORD = "key-word-8v2m"
LOGIN = "org.apache.kafka.common.security"


@pytest.fixture(autouse=True)
async def connections_end_with_their_test() -> AsyncIterator[None]:
    """End what a client has closed and TLS has not yet said goodbye on.

    aiokafka does not wait for it. A transport that outlives its loop warns when it is collected, in any later test.
    """
    yield
    loop = asyncio.get_running_loop()
    # by type: `isinstance` asks the object, and a proxy of something that is gone raises
    for transport in [one for one in gc.get_objects() if issubclass(type(one), asyncio.Transport)]:
        gone = getattr(transport, "_ssl_protocol", transport) is None  # TLS has said goodbye, and `abort` would fail
        if getattr(transport, "_loop", None) is loop and transport.is_closing() and not gone:
            transport.abort()
    await asyncio.sleep(0)  # the loop calls what has ended
    await asyncio.sleep(0)
    gc.collect()  # what it complains of is told here, not in a later test


@dataclass(frozen=True)
class Secured:
    """A broker that takes SASL over TLS from clients with a certificate, and what a client needs for it."""

    bootstrap: str
    authority: Authority
    folder: Path

    def settings(self, mechanism: str = "SCRAM-SHA-512", **changed: Any) -> Settings:
        client = self.folder / "client.pem"
        given = {
            "kafka_bootstrap": self.bootstrap,
            "kafka_session_timeout_ms": 6_000,
            "topic_prefix": f"s{uuid4().hex[:8]}.",
            "kafka_security": "SASL_SSL",
            "kafka_sasl_mechanism": mechanism,
            "kafka_sasl_user": "magma",
            "kafka_sasl_password": PASSWORD,
            "kafka_tls_ca_file": self.authority.ca_file,
            "kafka_tls_cert_file": client,
            "kafka_tls_key_file": client.with_suffix(".key"),
            "kafka_tls_key_password": KEY_PASSWORD,
        }
        return load_settings(**{**given, **changed})


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority(folder / "ca")
    broker = authority.identity("broker")
    authority.identity("client", password=KEY_PASSWORD)
    listener = "listener.name.sasl_ssl"
    properties = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        f"{listener}.scram-sha-512.sasl.jaas.config": f"{LOGIN}.scram.ScramLoginModule required;",
        f"{listener}.plain.sasl.jaas.config": f'{LOGIN}.plain.PlainLoginModule required user_magma="{PASSWORD}";',
        f"{listener}.oauthbearer.sasl.jaas.config": f"{LOGIN}.oauthbearer.OAuthBearerLoginModule required;",
        f"{listener}.oauthbearer.sasl.server.callback.handler.class": (
            f"{LOGIN}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
        ),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(broker.keystore()),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.ca_file),
        f"{listener}.ssl.client.auth": "required",
        "ssl.endpoint.identification.algorithm": "",
    }
    with KafkaCluster(
        folder / "kafka", properties=properties, security="SASL_SSL", scram_users={"magma": PASSWORD}
    ) as cluster:
        yield Secured(cluster.bootstrap, authority, folder / "ca")


async def test_an_event_becomes_durable_over_a_secured_log(
    secured: Secured, settings: Settings, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    names = ("graph_uri", "graph_user", "graph_password", "graph_database", "milvus_uri", "milvus_collection")
    both = secured.settings(**{name: getattr(settings, name) for name in names})
    event = {
        "id": "e1",
        "tenant": tenant,
        "agent": "planner",
        "session": "s1",
        "kind": "message",
        "text": "Deploy is done",
        "occurred_at": "2026-05-08T15:56:00+02:00",
    }
    await ensure_topics(both)
    async with Publisher.open(both) as publisher:
        topic = Topic.AGENT_EVENTS.name_in(both)
        await publisher.publish(topic, [Outgoing(b"k", orjson.dumps(event)), Outgoing(b"k", b"{")])
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        worker = group.create_task(serve_stages(both, {Stage.INTAKE: open_intake, Stage.INGEST: open_ingest}, stop))
        ident = derive_id(tenant, None, "e1")
        async with Graph.open(both) as graph:

            async def durable() -> bool:
                assert not worker.done()
                return ident in await graph.reader(tenant).events([ident])

            await until(durable, within_s=120)
        await until(lambda: _one_letter(both), within_s=60)
        stop.set()
    assert worker.result() == 0
    assert PASSWORD not in caplog.text
    assert KEY_PASSWORD not in caplog.text


async def _one_letter(settings: Settings) -> bool:
    return [letter.code for letter in await letters(settings, [Topic.AGENT_EVENTS])] == ["malformed_event"]


def bearer_token(**claims: Any) -> str:
    """Give a token as the broker's own validator for tests takes it: not signed."""
    body = {"sub": "magma", "iat": time.time(), "exp": time.time() + 600, **claims}
    parts = [urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "none"}, body)]
    return ".".join(parts) + "."


async def round_trip(settings: Settings) -> None:
    """Send and read a record with every kind of client there is."""
    await ensure_topics(settings)
    topic = Topic.AGENT_EVENTS.name_in(settings)
    async with Publisher.open(settings) as publisher:
        await publisher.publish(topic, [Outgoing(b"k", b"v")])
    assert [record.value for record in await read(settings, topic)] == [b"v"]
    assert await ping(settings, 20.0) == ""


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"])
async def test_every_client_gets_in_by_each_mechanism(secured: Secured, tmp_path: Path, mechanism: str) -> None:
    given: dict[str, Any] = {}
    if mechanism == "OAUTHBEARER":
        given = {"kafka_sasl_token_file": tmp_path / "token", "kafka_sasl_user": "", "kafka_sasl_password": ""}
        given["kafka_sasl_token_file"].write_text(bearer_token() + "\n")
    await round_trip(secured.settings(mechanism, **given))


async def test_a_password_from_a_file_gets_in(secured: Secured, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(PASSWORD + "\n")
    await round_trip(secured.settings(kafka_sasl_password="", kafka_sasl_password_file=tmp_path / "password"))


async def test_who_proves_nothing_or_is_not_who_it_says_gets_nothing(
    secured: Secured, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    stranger = Authority(tmp_path / "stranger", "stranger")
    theirs = stranger.identity("client")
    refused = {
        "a wrong password": secured.settings(kafka_sasl_password="hunter2-wrong"),
        "a wrong password in the clear": secured.settings("PLAIN", kafka_sasl_password="hunter2-wrong"),
        "a server of a stranger": secured.settings(kafka_tls_ca_file=stranger.ca_file),
        "our own certificate of a stranger": secured.settings(
            kafka_tls_cert_file=theirs.cert_file, kafka_tls_key_file=theirs.key_file
        ),
        "no certificate of our own": secured.settings(kafka_tls_cert_file=None, kafka_tls_key_file=None),
        "no TLS": load_settings(kafka_bootstrap=secured.bootstrap),
    }
    for settings in refused.values():
        with pytest.raises(StoreUnavailable) as told:
            await topic_partitions(settings)
        if settings.kafka_security.secured:
            assert "credentials or certificates" in str(told.value)
        assert "hunter2" not in str(told.value) + repr(told.value.__cause__)
    assert "hunter2" not in caplog.text
