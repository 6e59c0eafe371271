"""Consolidators gather windows of sessions: nothing is acknowledged that waits, and nothing that waits is lost."""

from memory.records import Ingested, Outgoing, session_key
from memory.settings import Settings
from streams.admin import ensure_topics
from streams.publisher import Publisher
from streams.topics import Stage, Topic
from tests.streams.helpers import WorkerProcess, committed, until
from tests.streams.ledger import Ledger

STAGE = Stage.CAUSAL
#: As good as for ever: what waits for quiet waits until the test is over.
HELD = {"window_quiet_ms": 3_000_000, "window_max_age_ms": 3_000_000}
QUICK = {"window_quiet_ms": 50, "window_max_age_ms": 200}


async def announce(settings: Settings, tenant: str, sessions: int, events: int) -> set[str]:
    """Announce events one by one, the sessions taking turns; gives the values."""
    await ensure_topics(settings)
    records = []
    for number in range(sessions * events):
        session = f"s{number % sessions}"
        value = Ingested(tenant=tenant, session=session, ids=(f"{tenant}{number}",))
        records.append(Outgoing(session_key(tenant, session), value.encode()))
    async with Publisher.open(settings) as publisher:
        await publisher.publish(Topic.MEMORY_INGESTED.name_in(settings), records)
    return {(record.value or b"").decode() for record in records}


def held_by(*workers: WorkerProcess) -> int:
    return sum(stage["held_records"] for worker in workers for stage in worker.ready().get("stages", ()))


async def test_a_kill_while_gathering_loses_nothing(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    values = await announce(kafka, "t", sessions=6, events=4)
    first = workers(STAGE.value, **HELD)
    await until(lambda: held_by(first) == len(values))
    assert await committed(kafka, STAGE) == 0
    first.kill()
    workers(STAGE.value, **QUICK)
    await until(lambda: set(ledger.came()) == values)
    await until(lambda: _acknowledged(kafka, len(values)))
    assert set(ledger.came().values()) == {1}


async def test_a_window_with_enough_events_goes_first_and_only_what_stands_before_the_others_is_acknowledged(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    few = await announce(kafka, "few", sessions=8, events=1)
    many = await announce(kafka, "many", sessions=8, events=5)
    worker = workers(STAGE.value, **HELD, window_max_events=5)
    await until(lambda: set(ledger.came()) == many)
    assert await committed(kafka, STAGE) < len(many)
    assert held_by(worker) == len(few)
    assert worker.terminate() < 10
    workers(STAGE.value, **QUICK)
    await until(lambda: set(ledger.came()) == few | many)
    await until(lambda: _acknowledged(kafka, len(few | many)))


async def test_what_is_gathered_moves_with_its_partition(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    values = await announce(kafka, "t", sessions=12, events=2)
    first = workers(STAGE.value, **HELD)
    await until(lambda: held_by(first) == len(values))
    second = workers(STAGE.value, **HELD)
    await until(lambda: held_by(second) > 0 and held_by(first, second) == len(values))
    assert first.terminate() < 10
    await until(lambda: held_by(second) == len(values))
    assert ledger.came() == {}


async def test_a_tenant_that_must_wait_holds_back_the_offset_and_nobody_else(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    ledger.ask("spent")
    spent = await announce(kafka, "spent", sessions=8, events=2)
    others = await announce(kafka, "other", sessions=8, events=2)
    worker = workers(STAGE.value, **QUICK)
    await until(lambda: set(ledger.came()) == others)
    await until(lambda: worker.is_ready() and worker.ready()["stages"][0]["postponed"]["records"] == len(spent))
    assert worker.ready()["stages"][0]["postponed"]["resumes_at"] is not None
    assert await committed(kafka, STAGE) < len(others)
    ledger.relent("spent")
    await until(lambda: set(ledger.came()) == spent | others)
    await until(lambda: _acknowledged(kafka, len(spent | others)))
    assert set(ledger.came().values()) == {1}


async def _acknowledged(kafka: Settings, count: int) -> bool:
    return await committed(kafka, STAGE) == count
