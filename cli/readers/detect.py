"""Which format a file is in, and the one function that reads any of them."""

import io
import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import orjson
from pydantic import TypeAdapter, ValidationError

from cli.readers.dialects import read_cloudevents, read_otlp_json
from cli.readers.items import BYTE_ORDER_MARK, Format, ReadItem
from cli.readers.jsonl import read_jsonl
from cli.readers.locomo import read_locomo
from memory.errors import BadSetting, UnreadableInput
from memory.events import Name
from memory.settings import Settings

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: What stands for standard input where a path is expected.
STDIN = "-"
#: How much of the first line is looked at.
HEAD_BYTES = 65_536

_READERS: dict[Format, Callable[[BinaryIO, str | None], Generator[ReadItem]]] = {
    Format.JSONL: read_jsonl,
    Format.LOCOMO: read_locomo,
    Format.CLOUDEVENTS: read_cloudevents,
    Format.OTLP: read_otlp_json,
}
#: How documents of CloudEvents and OTLP begin: their first keys, up to the one that says what they are.
_MARKS = (
    (re.compile(rb'\s*\[?\s*\{\s*"(resourceSpans|resourceLogs)"'), Format.OTLP),
    (re.compile(rb'\s*\[?\s*\{[^{}\[\]]{0,4096}?"specversion"'), Format.CLOUDEVENTS),
)
_NAME: TypeAdapter[str] = TypeAdapter(Name)


def read_events(
    path: Path | str,
    file_format: Format = Format.AUTO,
    tenant: str | None = None,
    settings: Settings | None = None,
) -> Generator[ReadItem]:
    """Yield what the file holds, item by item; `-` is standard input. JSON lines are read as they come.

    `tenant` fills or replaces the tenant of every event; `settings` say how telemetry is read. Close the iterator when
    it is left early. Raises, at the first step, `UnreadableInput` when the file cannot be read or is not in its format,
    `BadSetting` for a bad tenant.
    """
    _check_tenant(tenant)
    with _opened(path) as stream:
        try:
            head = b""
            if file_format is Format.AUTO:
                head = _head(stream)
                file_format = detect(head)
            rewound = cast("BinaryIO", io.BufferedReader(_Rewound(head, stream), HEAD_BYTES))
            reader = _READERS[file_format]
            if file_format is Format.OTLP:
                reader = partial(read_otlp_json, settings=settings)
            with closing(reader(rewound, tenant)) as items:
                yield from items
        except UnreadableInput as error:
            raise UnreadableInput(f"{path}: {error.message}", hint=error.hint) from error
        except OSError as error:
            raise UnreadableInput(f"{path}: {error.strerror or error}") from error


def detect(head: bytes) -> Format:
    """Tell the format from the first line that is not blank (its first `HEAD_BYTES` are enough).

    What names `resourceSpans` or `resourceLogs` is OTLP, what names a `specversion` CloudEvents; another document (a
    list, an object over several lines, a sample on one line) is LoCoMo; anything else is lines, where a bad one is the
    pipeline's to refuse. Raises `UnreadableInput` for a text that is not UTF-8.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableInput("the text is UTF-16", hint="convert it to UTF-8: `iconv -f UTF-16 -t UTF-8 FILE`")
    line = head.removeprefix(BYTE_ORDER_MARK).strip()
    if line.startswith(b"[") or line.split(maxsplit=1)[:1] == [b"{"]:
        return next((found for mark, found in _MARKS if mark.match(line)), Format.LOCOMO)
    try:
        first = orjson.loads(line)
    except orjson.JSONDecodeError:
        cut_off_sample = len(head) >= HEAD_BYTES and any(key in line[:64] for key in (b'"qa"', b'"conversation"'))
        return Format.LOCOMO if cut_off_sample else Format.JSONL
    if isinstance(first, dict):
        if "resourceSpans" in first or "resourceLogs" in first:
            return Format.OTLP
        if "specversion" in first:
            return Format.CLOUDEVENTS
    is_sample = isinstance(first, dict) and isinstance(first.get("conversation"), dict)
    return Format.LOCOMO if is_sample else Format.JSONL


def _check_tenant(tenant: str | None) -> None:
    try:
        if tenant is not None:
            _NAME.validate_python(tenant)
    except ValidationError as error:
        raise BadSetting(
            f"bad tenant {tenant!r}", hint="1 to 256 characters, no control character and no `|`"
        ) from error


@contextmanager
def _opened(path: Path | str) -> Iterator[io.BufferedReader]:
    """Open the file, or lend standard input, which stays open."""
    if str(path) == STDIN:
        yield cast("io.BufferedReader", sys.stdin.buffer)
        return
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 (an error while opening is not one of the body's)
    except FileNotFoundError as error:
        raise UnreadableInput(f"{path}: no such file") from error
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror or error}") from error
    with stream:
        yield stream


def _head(stream: io.BufferedReader) -> bytes:
    """Take the first line that is not blank from the stream, of a document what follows, at most `HEAD_BYTES`."""
    head = b""
    while len(head) < HEAD_BYTES and (line := stream.readline(HEAD_BYTES - len(head))):
        head += line
        # a document is read whole anyway, and its first line says nothing of what it is
        if line.strip() and head.strip()[:2].rstrip() not in (b"[", b"{") and line.strip() not in (b"[", b"{"):
            break
    return head


class _Rewound(io.RawIOBase):
    """A stream with what was already taken from it put back, because a pipe cannot seek."""

    def __init__(self, head: bytes, rest: io.BufferedReader) -> None:
        super().__init__()
        self._head = memoryview(head)
        self._rest = rest

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Fill the buffer with what is there; waits only when nothing is."""
        if not self._head:
            return self._rest.readinto1(buffer)
        target = memoryview(buffer).cast("B")
        count = min(len(target), len(self._head))
        target[:count] = self._head[:count]
        self._head = self._head[count:]
        return count
