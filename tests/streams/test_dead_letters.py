"""Dead letters in the operator's hands: listed once, sent back whole, doubled by nothing."""

from datetime import timedelta

import orjson

from memory.records import Record
from memory.settings import Settings, load_settings
from streams.dlq import drop, letters, redrive
from streams.identity import PLACE_HEADER
from streams.intake import take_in
from streams.topics import Stage, Topic
from tests.streams.helpers import WorkerProcess, committed, read, send, until
from tests.streams.ledger import Ledger


async def test_letters_are_listed_redriven_and_dropped_once(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    await send(kafka, ["good-1", "poison-1", "poison-2", "reject-3", None])
    worker = workers()
    await until(lambda: _acknowledged(kafka, 5))
    worker.terminate()

    listed = await letters(kafka)
    assert sorted(letter.code for letter in listed) == ["malformed_event", "poison", "poison", "poison"]
    assert [letter.code for letter in await letters(kafka, code="malformed_event")] == ["malformed_event"]
    assert await letters(kafka, [Topic.MEMORY_EVENTS]) == []
    assert await letters(kafka, older_than=timedelta(hours=1)) == []

    back = [letter for letter in listed if letter.record.value == b"poison-1"]
    assert await redrive(kafka, back) == 1
    assert await drop(kafka, [letter for letter in listed if letter.record.value is None]) == 1
    assert sorted(letter.record.value or b"" for letter in await letters(kafka)) == [b"poison-2", b"reject-3"]

    sources = await read(kafka, Topic.AGENT_EVENTS.name_in(kafka))
    first, again = (one for one in sources if one.value == b"poison-1")
    assert (again.key, again.value) == (first.key, first.value)
    assert again.headers == (*first.headers, (PLACE_HEADER, first.place.encode()))


async def test_a_redriven_record_that_fails_again_is_a_new_letter_that_knows_its_first_place(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    await send(kafka, ["poison-1"])
    worker = workers()
    await until(lambda: _acknowledged(kafka, 1))
    (letter,) = await letters(kafka)
    await redrive(kafka, [letter])
    await until(lambda: _acknowledged(kafka, 2))
    worker.terminate()
    (new,) = await letters(kafka)
    assert new.place != letter.place
    assert new.original().headers == letter.original().headers


def test_redriving_twice_gives_an_event_without_an_id_the_same_id() -> None:
    event = {
        "tenant": "t",
        "agent": "a",
        "session": "s",
        "kind": "note",
        "text": "x",
        "occurred_at": "2026-01-01T00:00:00Z",
    }
    places = [Record("agent.events", 0, offset, 0, None, orjson.dumps(event)) for offset in (4, 5)]
    again = [
        Record("agent.events", 1, offset, 9, None, places[0].value, ((PLACE_HEADER, places[0].place.encode()),))
        for offset in (70, 71)
    ]
    first, other, *redriven = (one.headers[0][1] for one in take_in([*places, *again], load_settings()).outgoing)
    assert set(redriven) == {first}
    assert other != first


async def _acknowledged(kafka: Settings, count: int) -> bool:
    return await committed(kafka, Stage.INTAKE) == count
