"""How Magma's processes speak to Kafka: the options of every consumer and producer, and the sizes they agree on."""

from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient

from memory.errors import StoreUnavailable
from memory.kafka import TokenFile, kafka_options
from memory.settings import Settings

#: Largest record of an input topic, in bytes: far over a valid event, so that what is too large can be dead-lettered.
MAX_RECORD_BYTES = 8 * 1024 * 1024
#: Room for the `x-error-*` headers beside a largest record, in bytes.
LETTER_HEADERS_BYTES = 64 * 1024
#: Bytes of one produce request to one partition.
PRODUCE_BATCH_BYTES = 256 * 1024
#: Bytes fetched from one partition at a time; also what a consumer holds in memory for each of its partitions.
FETCH_BYTES = 2 * 1024 * 1024
#: Bound on one request to a broker, in seconds.
REQUEST_TIMEOUT_S = 20.0

AbstractTokenProvider.register(TokenFile)


def make_consumer(settings: Settings, *, group: str | None, **given: Any) -> AIOKafkaConsumer:
    """Make a consumer that commits nothing by itself, from the earliest record; call it on the loop that uses it."""
    session_ms = settings.kafka_session_timeout_ms
    options: dict[str, Any] = kafka_options(settings) | {
        "group_id": group,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "isolation_level": "read_committed",
        "session_timeout_ms": session_ms,
        "heartbeat_interval_ms": max(300, session_ms // 6),
        "rebalance_timeout_ms": rebalance_timeout_ms(settings),
        "max_poll_interval_ms": 2 * session_ms,  # a worker that does not even poll gives its partitions to another
        "fetch_max_wait_ms": settings.kafka_fetch_max_wait_ms,
        "max_partition_fetch_bytes": FETCH_BYTES,
        "request_timeout_ms": int(REQUEST_TIMEOUT_S * 1000),
    }
    return AIOKafkaConsumer(**(options | given))


def rebalance_timeout_ms(settings: Settings) -> int:
    """Give how long a member may take to hand its partitions over, in milliseconds."""
    return max(10_000, settings.kafka_session_timeout_ms)


def make_producer(settings: Settings) -> AIOKafkaProducer:
    """Make a producer whose records are acknowledged by all replicas; call it on the loop that uses it."""
    return AIOKafkaProducer(
        **kafka_options(settings),
        acks="all",
        linger_ms=5,
        max_batch_size=PRODUCE_BATCH_BYTES,
        max_request_size=MAX_RECORD_BYTES + 2 * LETTER_HEADERS_BYTES,
        enable_idempotence=settings.kafka_idempotent,
        request_timeout_ms=int(REQUEST_TIMEOUT_S * 1000),
    )


def make_admin(settings: Settings) -> AIOKafkaAdminClient:
    """Make a client for topics; call it on the loop that uses it."""
    return AIOKafkaAdminClient(**kafka_options(settings), request_timeout_ms=int(REQUEST_TIMEOUT_S * 1000))


def kafka_away(settings: Settings, error: BaseException | None = None) -> StoreUnavailable:
    """Give the error for a broker that does not answer, naming it."""
    why = f" ({type(error).__name__})" if error is not None else ""
    return StoreUnavailable(
        f"Kafka at {settings.kafka_bootstrap} does not answer{why}",
        hint="start it, `magma up` for the local stack, or set MAGMA_KAFKA_BOOTSTRAP"
        + ("; it may also refuse these credentials or certificates" if settings.kafka_security.secured else ""),
    )
