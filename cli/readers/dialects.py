"""Files in the languages that intake reads: CloudEvents JSON and OTLP JSON, as documents or one message a line."""

from collections.abc import Generator, Iterator, Sequence
from typing import Any, BinaryIO

import orjson

from cli.readers.items import BYTE_ORDER_MARK, ReadItem, encode_event
from memory.errors import Poison, UnreadableInput
from memory.records import Record
from memory.settings import Settings
from memory.settings_intake import OtherSpans
from streams.dialects import Message, cloudevents, otel, otlp

#: A document is held whole, so it is bounded.
MAX_DOCUMENT_BYTES = 256_000_000

_CLOUDEVENT = (("content-type", cloudevents.STRUCTURED.encode()),)
_OTLP = (("content-type", otlp.PROTOBUF[0].encode()),)


def read_cloudevents(stream: BinaryIO, tenant: str | None = None) -> Generator[ReadItem]:
    """Yield one item for each CloudEvent of a list, an object, or lines of either; `tenant` replaces theirs."""
    number = 0
    for found in _documents(stream):
        for given in found if isinstance(found, list) else [found]:
            number += 1
            item = _of_tenant(given, tenant) if tenant is not None and isinstance(given, dict) else given
            try:
                event = cloudevents.read_json(item, tenant)
            except Poison as error:
                yield ReadItem(number, orjson.dumps(item), None, str(error), _CLOUDEVENT)
            else:
                yield ReadItem(number, encode_event(event), event)


def read_otlp_json(
    stream: BinaryIO, tenant: str | None = None, settings: Settings | None = None
) -> Generator[ReadItem]:
    """Yield one item for each event of OTLP messages, and one for all bad spans of a message.

    `tenant` replaces what the resources name. Raises `UnreadableInput` for a file that is not JSON.
    """
    settings = settings or Settings()
    number = 0
    for found in _documents(stream):
        record = Record("", 0, 0, 0, None, orjson.dumps(found))
        try:
            message = otel.read_otlp(
                record,
                tenant,
                tenant_attribute=settings.otlp_tenant_attribute if tenant is None else "",
                observe=settings.otlp_other is OtherSpans.OBSERVE,
                json=True,
            )
        except Poison as error:
            number += 1
            yield ReadItem(number, record.value or b"", None, str(error), _OTLP)
            continue
        for item in _items(message, number):
            number = item.line
            yield item


def _items(message: Message, number: int) -> Iterator[ReadItem]:
    bad: dict[int, Poison] = {}
    for piece in message.pieces:
        if isinstance(piece.event, Poison):
            bad.setdefault(piece.unit, piece.event)
            continue
        number += 1
        yield ReadItem(number, encode_event(piece.event), piece.event)
    if bad:
        first = min(bad)
        why = f"{len(bad)} spans or log records; the first, number {first}: {bad[first]}"
        yield ReadItem(number + 1, message.rest(bad.keys()).value or b"", None, why, _OTLP)


def _of_tenant(item: dict[str, Any], tenant: str) -> dict[str, Any]:
    data = item.get("data")
    own = {"data": {**data, "tenant": tenant}} if isinstance(data, dict) and "tenant" in data else {}
    return {**item, **own, "tenant": tenant}


def _documents(stream: BinaryIO) -> Sequence[object]:
    """Give the one document of a file, or that of each line."""
    raw = stream.read(MAX_DOCUMENT_BYTES + 1)
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise UnreadableInput(f"the document is over {MAX_DOCUMENT_BYTES} bytes", hint="split it")
    raw = raw.removeprefix(BYTE_ORDER_MARK)
    try:
        return [orjson.loads(raw)]
    except orjson.JSONDecodeError:
        pass
    found: list[object] = []
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            if line.strip():
                found.append(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            raise UnreadableInput(f"line {number} is not JSON: {error.msg}") from error
    return found
