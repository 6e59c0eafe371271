"""From a record of the log to what the stores take."""

import numpy as np
import orjson

from memory.events import derive_id
from memory.records import Record
from streams.identity import ID_HEADER, INGESTED_HEADER
from streams.prepare import prepare

EVENT = {
    "id": "e9",
    "source": "svc",
    "tenant": "acme",
    "agent": "planner",
    "session": "s1",
    "kind": "tool_result",
    "text": "Yesterday Alice moved payments-service to v2.14 with Bob",
    "speaker": "Carol Reyes",
    "occurred_at": "2026-05-08T01:30:00+02:00",
    "parent": "e8",
    "caused_by": ["e7", "e8", "e9"],
    "entities": ["Payments Service"],
}


def record(event: dict[str, object], offset: int = 3, headers: tuple[tuple[str, bytes], ...] = ()) -> Record:
    return Record("memory.events", 0, offset, 1_700_000_000_000, b"acme|s1", orjson.dumps(event), headers)


def test_an_event_becomes_a_node_with_stored_ids_names_and_dates() -> None:
    prepared = prepare([record(EVENT, headers=((INGESTED_HEADER, b"5"),))])
    (node,) = prepared.nodes
    assert node.id == derive_id("acme", "svc", "e9")
    assert (node.ref, node.source, node.arrival, node.ingested_us, node.sequence) == ("e9", "svc", 3, 5, -1)
    assert node.parents == (derive_id("acme", "svc", "e8"), derive_id("acme", "svc", "e7"))
    assert node.offset_minutes == 120
    assert {"payments service", "carol reyes", "alice", "bob", "v2.14"} <= set(node.mentions)
    assert len(node.mentions) == len(set(node.mentions))
    (yesterday,) = node.dates
    assert yesterday.start_us == 1_778_104_800_000_000  # 7 May 2026, 00:00 at +02:00, the producer's own calendar
    assert "Carol Reyes" in prepared.texts[0]
    assert "8 May 2026" in prepared.texts[0]


def test_an_event_without_an_id_keeps_the_one_intake_gave_and_shows_its_first_digits() -> None:
    event = {key: EVENT[key] for key in EVENT if key != "id"}
    given = "0b7f5a3e-7a53-5b0f-8a7e-3d0f4c6f2f11"
    (node,) = prepare([record(event, headers=((ID_HEADER, given.encode()),))]).nodes
    assert (node.id, node.ref) == (given, "0b7f5a3e7a53")


def test_an_event_that_comes_twice_is_prepared_once_and_another_with_its_id_is_rejected() -> None:
    prepared = prepare([record(EVENT, 1), record(EVENT, 2), record({**EVENT, "text": "something else"}, 3)])
    assert len(prepared.nodes) == 1
    assert [one.offset for one in prepared.records[0]] == [1, 2]
    (rejected,) = prepared.rejected
    assert (rejected.record.offset, rejected.error.code) == (3, "conflicting_event")


def test_what_is_no_event_is_rejected_and_the_others_go_on() -> None:
    bad = Record("memory.events", 0, 4, 0, b"k", b"[]")
    tombstone = Record("memory.events", 0, 3, 0, b"k", None)  # of an event that was erased
    forged = record({key: EVENT[key] for key in EVENT if key != "id"}, 5, headers=((ID_HEADER, b"not an id"),))
    prepared = prepare([tombstone, bad, record(EVENT), forged])
    assert len(prepared.nodes) == 1
    assert [one.record.offset for one in prepared.rejected] == [4, 5]


def test_rows_carry_what_can_be_filtered_by() -> None:
    prepared = prepare([record(EVENT)])
    (row,) = prepared.rows(np.ones((1, 4), dtype=np.float32))
    assert (row.tenant, row.session, row.agent, row.speaker) == ("acme", "s1", "planner", "Carol Reyes")
    assert "payments service" in row.entities
    assert row.keywords == prepared.keywords[0] != ""
