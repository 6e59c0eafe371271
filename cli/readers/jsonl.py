"""Our JSON lines: one `AgentEvent` a line, UTF-8. Memory stays bounded however long the file is."""

import hashlib
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import BinaryIO

import orjson

from cli.readers.items import BYTE_ORDER_MARK, ReadItem
from memory.errors import OversizeEvent, Poison
from memory.events import MAX_EVENT_BYTES, AgentEvent, decode_event, validate_event

#: A line above this many bytes is not even produced as a dead letter: no default Kafka set-up would take it.
MAX_LINE_BYTES = 8_000_000
_SKIP_BYTES = 1_000_000


def read_jsonl(stream: BinaryIO, tenant: str | None = None) -> Generator[ReadItem]:
    """Yield one item for each line that is not blank.

    `tenant` fills or replaces the tenant of every line that is a JSON object. An event without an id gets one from
    its content and its occurrence number among equal contents of the file: ingesting the file again changes nothing,
    and two equal lines stay two events.
    """
    with closing(_Occurrences()) as occurrences:
        for number, line in _lines(stream):
            if line is None:
                yield ReadItem(number, b"", None, f"the line is over {MAX_LINE_BYTES} bytes: not produced")
            elif line.strip():
                yield _item(number, line, tenant, occurrences)


def _item(number: int, line: bytes, tenant: str | None, occurrences: "_Occurrences") -> ReadItem:
    raw = line
    try:
        if tenant is None:
            event = decode_event(line)
            if event.id is not None:
                return ReadItem(number, line, event)
            given = orjson.loads(line)
        else:
            given = _with_tenant(line, tenant)
            # also when the event is bad: its dead letter must say what is wrong with it, and be mendable
            raw = orjson.dumps(given) if isinstance(given, dict) else line
            event = validate_event(given)
        if event.id is None:
            given["id"] = occurrences.name(event)
            event = event.model_copy(update={"id": given["id"]})
        raw = orjson.dumps(given)
        if len(raw) > MAX_EVENT_BYTES:
            raise OversizeEvent(f"the record is {len(raw)} bytes, the bound is {MAX_EVENT_BYTES}")
    except Poison as error:
        return ReadItem(number, raw, None, str(error))
    return ReadItem(number, raw, event)


def _with_tenant(line: bytes, tenant: str) -> object:
    """Decode a line and set its tenant; whatever is wrong with the line is left for validation to say."""
    try:
        given = orjson.loads(line)
    except orjson.JSONDecodeError:
        return decode_event(line)  # raises the sentence that the pipeline gives, too
    if isinstance(given, dict):
        given["tenant"] = tenant
    return given


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield (number, line without its end); None for a line over the bound, which is skipped in pieces."""
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 2):
        number += 1
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        ended = line.endswith(b"\n")
        body = line.rstrip(b"\r\n")
        if len(body) <= MAX_LINE_BYTES:
            yield number, body
            continue
        while not ended and (rest := stream.readline(_SKIP_BYTES)):
            ended = rest.endswith(b"\n")
        yield number, None


class _Occurrences:
    """Counts equal contents. A private SQLite file that spills to disk, so that a long file costs no memory."""

    def __init__(self) -> None:
        # a reader may be advanced from a worker thread other than the one that made it, never from two at once
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("CREATE TABLE seen (digest BLOB PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID")

    def name(self, event: AgentEvent) -> str:
        """Give the id of an event without one: equal for the same content at the same occurrence, in any run."""
        content = event.model_dump(mode="json", exclude={"id", "tenant"}, exclude_defaults=True)
        digest = hashlib.blake2b(orjson.dumps(content, option=orjson.OPT_SORT_KEYS), digest_size=8)
        cursor = self._database.execute(
            "INSERT INTO seen VALUES (?, 1) ON CONFLICT (digest) DO UPDATE SET times = times + 1 RETURNING times",
            (digest.digest() + event.tenant.encode(),),
        )
        times = int(cursor.fetchall()[0][0])
        return f"c-{digest.hexdigest()}" if times == 1 else f"c-{digest.hexdigest()}-{times}"

    def close(self) -> None:
        """Forget the counts."""
        self._database.close()
