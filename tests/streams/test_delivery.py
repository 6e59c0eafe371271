"""The delivery contract, with a real broker and real processes: what is acknowledged, when, and what comes again."""

import asyncio
import signal
from collections import Counter
from datetime import datetime

from memory.settings import Settings
from streams.letters import ErrorHeader, split_headers
from streams.topics import Stage, Topic
from tests.streams.helpers import WorkerProcess, committed, read, send, until
from tests.streams.ledger import Ledger

STAGE = Stage.INTAKE


def numbered(count: int, *, keys: int = 7) -> list[str]:
    return [f"k{number % keys}-{number:05d}" for number in range(count)]


async def test_nothing_is_acknowledged_before_it_is_durable_and_everything_after(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    values = numbered(50)
    ledger.ask("down")
    await send(kafka, values)
    worker = workers()
    await until(lambda: worker.ready().get("status") == 503 and bool(worker.ready()["stages"][0]["waiting"]))
    assert await committed(kafka, STAGE) == 0
    assert await read(kafka, STAGE.output.name_in(kafka)) == []
    ledger.relent("down")
    await until(lambda: len(ledger.came()) == 50)
    assert worker.terminate() < 10
    assert worker.process.returncode == 0
    assert await committed(kafka, STAGE) == 50
    out = await read(kafka, STAGE.output.name_in(kafka))
    assert Counter(record.value for record in out) == Counter(value.encode() for value in values)


async def test_each_poison_is_found_alone_and_all_others_go_on(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    good = numbered(600)
    bad: list[str | None] = ["poison-1", None, "poison-2", "reject-3"]
    await send(kafka, [*good[:200], *bad[:2], *good[200:201], *bad[2:], *good[201:]])
    worker = workers()
    await until(lambda: _acknowledged(kafka, 604))
    worker.terminate()
    assert worker.process.returncode == 0
    assert set(ledger.came()) == set(good)
    letters = await read(kafka, STAGE.source.dead_letters_in(kafka))
    assert Counter(letter.value for letter in letters) == Counter([b"poison-1", None, b"poison-2", b"reject-3"])
    sources = {record.place: record for record in await read(kafka, STAGE.source.name_in(kafka))}
    for letter in letters:
        parted = split_headers(letter.headers)
        assert parted is not None
        own, error = parted
        place = f"{error[ErrorHeader.TOPIC]}/{error[ErrorHeader.PARTITION]}/{error[ErrorHeader.OFFSET]}"
        source = sources[place]
        assert (letter.key, letter.value, own) == (source.key, source.value, source.headers)
        assert error[ErrorHeader.STAGE] == "intake"
        rejected = letter.value == b"reject-3"
        assert error[ErrorHeader.CODE] == ("malformed_event" if rejected else "poison")
        assert error[ErrorHeader.MESSAGE] == ("no" if rejected else "a bad record is in this batch")
        assert int(error[ErrorHeader.ATTEMPTS]) >= 1
        first, last = (datetime.fromisoformat(error[name]) for name in (ErrorHeader.FIRST_AT, ErrorHeader.LAST_AT))
        assert first <= last
        assert first.tzinfo is not None


async def test_a_store_away_for_longer_than_the_session_is_a_pause_without_a_redelivery(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    worker = workers(batch_max_events=20)  # more batches than fit in line: the consumer is held back
    await send(kafka, numbered(10))
    await until(lambda: len(ledger.came()) == 10)
    ledger.ask("down")
    values = numbered(400)
    await send(kafka, values[10:])
    await until(lambda: worker.ready().get("status") == 503)
    await asyncio.sleep(kafka.kafka_session_timeout_ms / 1000 * 3)
    stage = worker.ready()["stages"][0]
    assert stage["partitions"] == [0, 1, 2, 3], "the member was thrown out of its group"
    (waiting,) = stage["waiting"]
    assert waiting["need"] == "stores"
    assert waiting["code"] == "store_unavailable"
    assert waiting["missing"] == "the ledger is away"
    assert waiting["attempts"] > 2
    ledger.relent("down")
    await until(lambda: len(ledger.came()) == 400)
    await until(worker.is_ready)
    assert set(ledger.came().values()) == {1}
    assert not await read(kafka, STAGE.source.dead_letters_in(kafka))


async def test_one_of_two_stores_away_is_waited_for_as_well(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    ledger.ask("half down")
    await send(kafka, numbered(5))
    worker = workers()
    await until(lambda: any("two stores" in str(stage) for stage in worker.ready().get("stages", ())))
    ledger.relent("half down")
    await until(lambda: len(ledger.came()) == 5)


async def test_a_store_away_at_the_start_is_waited_for(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    ledger.ask("closed")
    await send(kafka, numbered(5))
    worker = workers()
    await until(lambda: any("cannot be opened" in str(stage) for stage in worker.ready().get("stages", ())))
    ledger.relent("closed")
    await until(lambda: len(ledger.came()) == 5)
    assert worker.terminate() < 10
    assert worker.process.returncode == 0


async def test_a_write_that_takes_too_long_is_tried_again(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    ledger.ask("hung")
    await send(kafka, numbered(20))
    worker = workers(write_timeout_s=1)
    await until(lambda: any("took over 1 s" in str(stage) for stage in worker.ready().get("stages", ())))
    ledger.relent("hung")
    await until(lambda: len(ledger.came()) == 20)


async def test_kill_9_in_the_middle_of_a_batch_loses_nothing(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    values = numbered(300)
    ledger.ask("slow")
    await send(kafka, values)
    first = workers(batch_max_events=50)
    await until(lambda: ledger.asked("begun"))
    first.kill()
    ledger.relent("slow")
    workers(batch_max_events=50)
    await until(lambda: set(ledger.came()) == set(values))
    await until(lambda: _output_is(kafka, values))


async def _acknowledged(kafka: Settings, count: int) -> bool:
    return await committed(kafka, STAGE) == count


async def _output_is(kafka: Settings, values: list[str]) -> bool:
    out = await read(kafka, STAGE.output.name_in(kafka))
    return {record.value for record in out} == {value.encode() for value in values}


async def test_sigterm_lets_a_batch_finish_and_acknowledges_it(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    ledger.ask("slow")
    await send(kafka, numbered(40))
    worker = workers()
    await until(lambda: ledger.asked("begun"))
    assert worker.terminate() < 10
    assert worker.process.returncode == 0, worker.told()
    written = len(ledger.came())
    assert written > 0
    assert await committed(kafka, STAGE) == written


async def test_sigterm_abandons_a_batch_that_hangs_and_acknowledges_nothing_of_it(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    ledger.ask("hung")
    await send(kafka, numbered(40))
    worker = workers(stop_timeout_s=3)
    await until(lambda: ledger.asked("begun"))
    assert worker.terminate() < 20  # the batch would hang for ever
    assert worker.process.returncode == 0, worker.told()
    assert await committed(kafka, STAGE) == 0
    ledger.relent("hung")
    workers()
    await until(lambda: len(ledger.came()) == 40)
    assert set(ledger.came().values()) == {1}


async def test_misconfiguration_ends_the_process_with_one_sentence_and_no_acknowledgement(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    ledger.ask("misconfigured")
    await send(kafka, numbered(10))
    worker = workers()
    assert await worker.ended() == 1
    told = worker.told()
    assert "intake stops: the collection was made by another model. set the model" in told
    assert "Traceback" not in told
    assert await committed(kafka, STAGE) == 0
    ledger.relent("misconfigured")
    workers()
    await until(lambda: len(ledger.came()) == 10)


async def test_an_unexpected_error_ends_the_process_with_its_traceback_and_no_acknowledgement(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    ledger.ask("bug")
    await send(kafka, numbered(10))
    worker = workers()
    assert await worker.ended() == 1
    assert "intake stops: unexpected ZeroDivisionError: nobody thought of this" in worker.told()
    assert "Traceback" in worker.told()
    assert await committed(kafka, STAGE) == 0


async def test_the_death_of_an_agent_is_the_death_of_its_process(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    ledger.ask("cancelled")
    await send(kafka, numbered(10))
    worker = workers()
    assert await worker.ended() == 1
    assert "the agent of intake ended by itself" in worker.told()
    assert await committed(kafka, STAGE) == 0


async def test_a_worker_that_does_not_get_on_ends_itself(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    ledger.ask("blocked")
    await send(kafka, numbered(10))
    worker = workers(stall_timeout_s=1.5)
    assert await worker.ended() == 1
    assert "intake has had work and no progress for" in worker.told()
    assert await committed(kafka, STAGE) == 0


async def test_a_second_worker_takes_its_share_and_all_of_it_when_the_first_is_killed(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    first = workers(batch_max_events=20)
    values = numbered(900, keys=40)
    await send(kafka, values[:300])
    await until(lambda: len(ledger.came()) >= 100)
    second = workers(batch_max_events=20)
    await until(lambda: bool(second.ready()) and len(second.ready()["stages"][0]["partitions"]) == 2)
    await send(kafka, values[300:600])
    await until(lambda: len(ledger.came()) == 600)
    assert ledger.pids() == {first.pid, second.pid}
    assert set(ledger.came().values()) == {1}, "a graceful rebalance needs no redelivery"
    first.kill()
    await send(kafka, values[600:])
    await until(lambda: set(ledger.came()) == set(values))


async def test_a_batch_in_hand_is_finished_and_acknowledged_before_its_partition_is_handed_over(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    ledger.ask("slow")
    values = numbered(400, keys=40)  # a minute's work for one: the second is there before its end
    await send(kafka, values)
    first = workers(batch_max_events=10, kafka_session_timeout_ms=6_000)
    await until(lambda: len(ledger.came()) > 0)
    second = workers(batch_max_events=10, kafka_session_timeout_ms=6_000)
    await until(lambda: second.pid in ledger.pids(), within_s=60)
    ledger.relent("slow")
    await until(lambda: set(ledger.came()) == set(values), within_s=60)
    assert ledger.pids() == {first.pid, second.pid}
    assert set(ledger.came().values()) == {1}


async def test_the_order_of_a_partition_is_kept_over_batches_and_stages_share_a_process(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    values = numbered(500)
    await send(kafka, values)
    await send(kafka, [f"x{number % 3}-{number:05d}" for number in range(200)], topic=Topic.MEMORY_EVENTS)
    workers("intake", "ingest", batch_max_events=16)
    await until(lambda: sum(1 for value in ledger.came() if value.startswith("x")) == 200)
    await until(lambda: all(ledger.came()[value] >= 2 for value in values), within_s=60)
    for partition in ledger.order().values():
        firsts = list(dict.fromkeys(value for value in partition if value.startswith("k")))
        for key in range(7):
            mine = [value for value in firsts if value.startswith(f"k{key}-")]
            assert mine == sorted(mine)


async def test_an_idle_worker_stops_at_once_also_by_ctrl_c(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    worker = workers()
    await until(worker.is_ready)
    worker.process.send_signal(signal.SIGINT)
    assert await worker.ended(within_s=5) == 0
