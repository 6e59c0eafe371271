"""Files of CloudEvents and of OTLP: told apart, read as intake reads them."""

from pathlib import Path

import orjson
import pytest

from cli.readers import Format, read_events
from cli.readers.detect import detect
from memory.records import Record
from memory.settings import load_settings
from streams.intake import take_in
from tests.dialects.agent_run import refund, small_talk

CLOUD = {
    "specversion": "1.0",
    "id": "e1",
    "source": "svc",
    "type": "x.note",
    "time": "2026-05-08T15:56:00+02:00",
    "tenant": "acme",
    "subject": "s1",
    "data": {"text": "hello"},
}
BAD = {**CLOUD, "id": "e2", "time": "noon"}
PRETTY = orjson.OPT_INDENT_2


def lines(*found: object) -> bytes:
    return b"\n".join(orjson.dumps(one) for one in found) + b"\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (lines(CLOUD, BAD), Format.CLOUDEVENTS),
        (lines([CLOUD, BAD]), Format.CLOUDEVENTS),
        (orjson.dumps(CLOUD, option=PRETTY), Format.CLOUDEVENTS),
        (orjson.dumps([BAD, CLOUD], option=PRETTY), Format.CLOUDEVENTS),
        (refund("acme").json(), Format.OTLP),
        (refund("acme").json() + b"\n" + small_talk("acme", 3).json(), Format.OTLP),
        (orjson.dumps(orjson.loads(refund("acme").json()), option=PRETTY), Format.OTLP),
    ],
)
def test_the_format_is_told_from_how_the_file_begins(tmp_path: Path, content: bytes, expected: Format) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    told = list(read_events(path))
    assert told == list(read_events(path, expected))
    assert any(item.event for item in told)


def test_a_bad_cloudevent_is_sent_as_it_is_and_refused_by_intake(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(lines(CLOUD, BAD))
    good, bad = read_events(path, tenant="other")
    assert good.event is not None
    assert (good.event.tenant, good.event.session, good.event.text) == ("other", "s1", "hello")
    assert "occurred_at" in bad.problem
    handled = take_in([Record("agent.events", 0, 1, 1, None, bad.raw, bad.headers)], load_settings())
    assert [one.error.code for one in handled.rejected] == ["malformed_event"]


def test_a_trace_of_a_file_is_what_the_collector_would_have_sent(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(refund("acme").json())
    handled = take_in([Record("agent.otlp", 0, 1, 1, None, refund("acme").proto())], load_settings())
    assert {item.raw for item in read_events(path)} == {
        orjson.dumps(orjson.loads(out.value or b"")) for out in handled.outgoing
    }
    assert {item.event.tenant for item in read_events(path, tenant="other") if item.event} == {"other"}


def test_bad_spans_of_a_file_are_one_item_that_intake_refuses(tmp_path: Path) -> None:
    trace = orjson.loads(refund("acme").json())
    spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"]
    del spans[0]["startTimeUnixNano"], spans[1]["startTimeUnixNano"]
    path = tmp_path / "trace.json"
    path.write_bytes(orjson.dumps(trace))
    (bad,) = [item for item in read_events(path) if item.event is None]
    assert bad.problem.startswith("2 spans")
    handled = take_in([Record("agent.events", 0, 1, 1, None, bad.raw, bad.headers)], load_settings())
    assert "2 of 2 parts" in handled.rejected[0].error.message


def test_our_own_lines_and_samples_stay_what_they_are() -> None:
    assert detect(b'{"specversion_": 1}\n') is Format.JSONL
    assert detect(b'[\n {"sample_id": "a", "conversation": {"specversion": 1}}]') is Format.LOCOMO
