"""Replay: `memory.events` from its earliest record through the fast path again, into whatever stores are configured.

Over full stores it changes nothing, into empty ones it gives the same nodes, chains and vectors: ids, order and the
time of ingestion come from the records. The ids are published on `memory.ingested` again, so the consolidators redo
their part. It belongs to no group and moves nobody's offsets. What `memory.erasures` says was forgotten stays so.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from memory.records import HandlerFactory
from memory.settings import Settings
from streams.attempts import Attempts
from streams.erasures import remember_erasures
from streams.letters import Letter
from streams.publisher import Publisher
from streams.retry import Backoff
from streams.scan import scan
from streams.state import DeliveryState, Need
from streams.topics import Stage


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay did. `records`: those replayed; `letters`: those that can never succeed, told and not written."""

    records: int
    letters: tuple[Letter, ...]
    seconds: float


async def replay(
    settings: Settings,
    factory: HandlerFactory,
    *,
    tenant: str | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> ReplayReport:
    """Replay the log, or one tenant's part of it; `progress` hears how many records are done.

    A store that is away is waited for. Raises `StoreUnavailable` when Kafka is, `Misconfigured`, and what nobody
    expected; it may be run again at any time.
    """
    begun_s = time.monotonic()
    state = DeliveryState(Stage.INGEST)
    prefix = None if tenant is None else f"{tenant}|".encode()
    done, letters = 0, list[Letter]()
    async with factory(settings) as handler, Publisher.open(settings) as publisher:
        attempts = Attempts(handler, Backoff(state, Need.STORES), timeout_s=settings.write_timeout_s)
        await remember_erasures(settings, tenant)
        output = Stage.INGEST.output.name_in(settings)
        async for read in scan(settings, Stage.INGEST.source.name_in(settings), most=settings.batch_max_events):
            records = [one for one in read if prefix is None or (one.key or b"").startswith(prefix)]
            if not records:
                continue
            worked = await attempts.work_off(records)
            await publisher.publish(output, worked.outgoing)
            letters += worked.letters
            done += len(records)
            progress(done)
    return ReplayReport(done, tuple(letters), time.monotonic() - begun_s)
