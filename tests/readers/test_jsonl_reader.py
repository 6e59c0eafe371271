"""JSON lines: what is produced, what is reported, and ids that do not depend on the run."""

import io
from pathlib import Path
from typing import BinaryIO, cast

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.readers import Format, ReadItem, read_events
from cli.readers.jsonl import MAX_LINE_BYTES, read_jsonl
from memory.events import decode_event

EVENT = {
    "tenant": "acme",
    "agent": "deploy-agent",
    "session": "s1",
    "kind": "note",
    "text": "rollout started",
    "occurred_at": "2026-03-03T09:00:00-07:00",
}


def read(*lines: bytes, tenant: str | None = None) -> list[ReadItem]:
    return list(read_jsonl(io.BytesIO(b"\n".join(lines)), tenant))


def line(**changes: object) -> bytes:
    return orjson.dumps({**EVENT, **changes})


def test_a_line_with_an_id_is_produced_untouched() -> None:
    spaced = b'  {"id": "a",' + line()[1:] + b"  "
    (item,) = read(spaced)
    assert item.raw == spaced
    assert item.event is not None
    assert item.event.id == "a"
    assert item.problem == ""


def test_an_event_without_id_gets_the_same_id_in_every_run() -> None:
    first, second = read(line(), line(text="other")), read(line(), line(text="other"))
    assert [item.raw for item in first] == [item.raw for item in second]
    assert len({decode_event(item.raw).id for item in first}) == 2


def test_two_equal_lines_stay_two_events() -> None:
    ids = [item.event.id for item in read(line(), line(), line()) if item.event]
    assert len(set(ids)) == 3


def test_equal_content_is_counted_for_each_tenant_by_itself() -> None:
    items = read(line(), line(tenant="other"))
    assert items[0].event is not None
    assert items[1].event is not None
    assert items[0].event.id == items[1].event.id


def test_the_derived_id_ignores_spelling_of_the_json() -> None:
    reordered = orjson.dumps(dict(reversed(EVENT.items())), option=orjson.OPT_INDENT_2).replace(b"\n", b" ")
    (plain,), (other,) = read(line()), read(reordered)
    assert plain.event is not None
    assert plain.event == other.event


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=12), st.integers(0, 12))
def test_a_longer_file_keeps_the_ids_of_its_beginning(texts: list[str], cut: int) -> None:
    whole = [item.event.id for item in read(*(line(text=text) for text in texts)) if item.event]
    begun = [item.event.id for item in read(*(line(text=text) for text in texts[:cut])) if item.event]
    assert whole[: len(begun)] == begun
    assert len(set(whole)) == len(texts)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b'{"tenant": "acme", ', "not JSON"),
        (b"plain words", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[1, 2]", "not a valid event"),
        (line(occurred_at="2026-03-03T09:00:00"), "occurred_at"),
        (line(kind="shout"), "kind"),
        (orjson.dumps({k: v for k, v in EVENT.items() if k != "session"}), "session: Field required"),
        (line(text="x" * 70_000), "longer than 65000 bytes"),
        (line(text="x" * 2_000_000), "bytes"),
    ],
)
@pytest.mark.parametrize("tenant", [None, "other"])
def test_a_bad_line_is_produced_with_its_reason_and_the_others_go_on(bad: bytes, says: str, tenant: str | None) -> None:
    before, item, after = read(line(id="1"), bad, line(id="2"), tenant=tenant)
    assert (item.event, item.line) == (None, 2)
    if tenant is None or not bad.startswith(b'{"tenant":"acme","agent"'):
        assert item.raw == bad
    else:  # its dead letter must say what is wrong with it, and not that it has no tenant or another one
        assert orjson.loads(item.raw) == orjson.loads(bad) | {"tenant": tenant}
    assert says in item.problem
    assert item.producible
    assert before.event is not None
    assert after.event is not None
    assert after.line == 3


def test_a_line_over_the_bound_is_reported_and_not_produced_and_the_next_is_read() -> None:
    huge = line(id="big", text="x" * MAX_LINE_BYTES)
    item, after = read(huge, line(id="next"))
    assert (item.raw, item.event, item.producible) == (b"", None, False)
    assert str(MAX_LINE_BYTES) in item.problem
    assert after.event is not None
    assert (after.event.id, after.line) == ("next", 2)


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("excess", [0, 1, 2, 1_000_000, 1_000_001])
def test_the_bound_counts_the_line_without_its_end(ending: bytes, excess: int) -> None:
    stream = io.BytesIO(b"x" * (MAX_LINE_BYTES + excess) + ending + (line(id="next") if ending else b""))
    items = list(read_jsonl(stream))
    assert items[0].producible is (excess == 0)
    assert [item.event.id for item in items if item.event] == (["next"] if ending else [])


def test_the_tenant_is_filled_and_replaced() -> None:
    without = orjson.dumps({k: v for k, v in EVENT.items() if k != "tenant"})
    items = read(without, line(id="x"), tenant="blue")
    assert [decode_event(item.raw).tenant for item in items] == ["blue", "blue"]
    assert [item.event and item.event.tenant for item in items] == ["blue", "blue"]


def test_a_missing_tenant_is_a_problem_when_none_is_given() -> None:
    (item,) = read(orjson.dumps({k: v for k, v in EVENT.items() if k != "tenant"}))
    assert "tenant" in item.problem


def test_what_is_produced_is_what_was_validated() -> None:
    for item in read(line(), line(id="a"), line(attributes={"n": 1.50, "deep": {"é": [None]}}), tenant="blue"):
        assert decode_event(item.raw) == item.event


def test_blank_lines_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line(id="a") + b"\r\n\r\n   \n" + line(id="b"))
    items = list(read_events(path, Format.JSONL))
    assert [(item.line, item.event and item.event.id, item.problem) for item in items] == [(1, "a", ""), (4, "b", "")]


def test_lines_are_yielded_as_they_come() -> None:
    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            piece = line() + b"\n"
            buffer[: len(piece)] = piece
            return len(piece)

    items = read_jsonl(cast("BinaryIO", io.BufferedReader(Endless())))
    assert len({next(items).raw for _ in range(2_000)}) == 2_000
    items.close()
