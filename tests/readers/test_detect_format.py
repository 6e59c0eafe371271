"""Choosing the format, opening files and standard input."""

import io
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest

from cli.readers import Format, ReadItem, read_events
from cli.readers.detect import HEAD_BYTES, detect
from memory.errors import BadSetting, UnreadableInput

LINE = orjson.dumps(
    {
        "id": "a",
        "tenant": "acme",
        "agent": "fix-agent",
        "session": "s1",
        "kind": "note",
        "text": "hello",
        "occurred_at": "2026-03-03T09:00:00Z",
    }
)
SAMPLE = {
    "qa": [{"question": "q" * 300, "answer": "a"}],
    "sample_id": "talk-1",
    "conversation": {
        "session_1_date_time": "1:00 pm on 2 March, 2024",
        "session_1": [{"dia_id": "D1:1", "speaker": "Tom", "text": "hello"}],
    },
}


def ids(items: list[ReadItem]) -> list[str | None]:
    return [item.event.id for item in items if item.event]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (LINE, Format.JSONL),
        (LINE + b"\n" + LINE, Format.JSONL),
        (b"\n\n" + LINE, Format.JSONL),
        (b"not json at all", Format.JSONL),
        (b"", Format.JSONL),
        (orjson.dumps([SAMPLE]), Format.LOCOMO),
        (orjson.dumps(SAMPLE), Format.LOCOMO),
        (orjson.dumps(SAMPLE, option=orjson.OPT_INDENT_2), Format.LOCOMO),
        (orjson.dumps([SAMPLE], option=orjson.OPT_INDENT_2), Format.LOCOMO),
        (b"\xef\xbb\xbf" + orjson.dumps([SAMPLE]), Format.LOCOMO),
        (orjson.dumps({**SAMPLE, "qa": ["x" * HEAD_BYTES]}), Format.LOCOMO),
        (LINE.replace(b"hello", b"x" * HEAD_BYTES), Format.JSONL),
    ],
)
def test_the_format_is_told_from_the_first_line_and_nothing_of_it_is_lost(
    tmp_path: Path, content: bytes, expected: Format
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert list(read_events(path)) == list(read_events(path, expected))


def test_a_line_that_is_no_event_is_still_lines() -> None:
    assert detect(b'{"conversation": "a word"}\n') is Format.JSONL


def test_utf16_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(LINE.decode(), encoding="utf-16")
    with pytest.raises(UnreadableInput, match="UTF-16"):
        list(read_events(path))


def test_a_list_of_events_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(b"[" + LINE + b"]")
    with pytest.raises(UnreadableInput, match=r"file\.json.*one a line"):
        list(read_events(path))


@pytest.mark.parametrize("name", ["missing.jsonl", ".", "file/below"])
def test_a_path_that_cannot_be_read_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(LINE)
    with pytest.raises(UnreadableInput, match=r"no such file|directory"):
        list(read_events(tmp_path / name))


@pytest.mark.parametrize("tenant", ["", "a|b", "a\nb", "x" * 257])
def test_a_bad_tenant_is_refused_before_anything_is_read(tmp_path: Path, tenant: str) -> None:
    with pytest.raises(BadSetting, match="tenant"):
        list(read_events(tmp_path / "missing.jsonl", Format.JSONL, tenant))


def test_the_file_is_closed_when_the_reader_is_left_early(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(LINE + b"\n" + LINE)
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    items = read_events(path)
    next(items)
    items.close()
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_standard_input_is_read_line_by_line_while_it_is_being_written(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as stdin, open(writing, "wb", buffering=0) as producer:  # noqa: PTH123
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stdin))
        producer.write(LINE + b"\n")
        items = read_events("-")
        got: list[ReadItem] = []
        thread = threading.Thread(target=lambda: got.append(next(items)), daemon=True)
        thread.start()
        thread.join(timeout=10)
        assert ids(got) == ["a"]
        producer.write(LINE.replace(b'"a"', b'"b"') + b"\n")
        producer.close()
        assert ids(list(items)) == ["b"]
        assert not stdin.closed


def test_a_document_on_standard_input_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.BufferedReader(io.BytesIO(orjson.dumps([SAMPLE])))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stdin))
    assert ids(list(read_events("-"))) == ["D1:1"]
