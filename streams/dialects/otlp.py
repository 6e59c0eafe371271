"""OTLP messages on Kafka, as the Collector's exporter writes them: `otlp_proto` and `otlp_json`, traces and logs.

Source: OTLP 1.x (`opentelemetry-proto`) with its JSON encoding: ids in hexadecimal, keys in lowerCamelCase, unknown
fields ignored. Nothing in a record says whether it holds traces or logs: what has no span with an id is read as logs.
"""

import base64
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from typing import Any, TypeVar

import orjson
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, TracesData

from memory.errors import MalformedEvent, OversizeEvent
from memory.records import Record
from streams.dialects.message import MAX_UNITS

PROTOBUF = ("application/x-protobuf", "application/protobuf")
_HEX_IDS = ("traceId", "spanId", "parentSpanId")
_Data = TypeVar("_Data", TracesData, LogsData)


def decode(value: bytes | None, *, json: bool | None = None) -> TracesData | LogsData:
    """Decode a message; `json`: what the content type says, None when it says nothing.

    Raises `MalformedEvent`, `OversizeEvent` for more spans or log records than `MAX_UNITS`.
    """
    if not value:
        raise MalformedEvent("the record has no value: not an OTLP message")
    found = _from_json(value) if (value[:1] == b"{" if json is None else json) else _from_proto(value)
    count = sum(1 for _ in units(found))
    if count > MAX_UNITS:
        raise OversizeEvent(
            f"the message has {count} spans or log records, the bound is {MAX_UNITS}",
            hint="set send_batch_max_size of the Collector's batch processor",
        )
    if count == 0 and found.ByteSize() == 0:
        raise MalformedEvent("neither OTLP traces nor OTLP logs")
    return found


def units(data: TracesData | LogsData) -> Iterator[tuple[Any, Any]]:
    """Give each span or log record with its resource before it, in the message's order."""
    for group in _groups(data):
        for scoped in _scopes(group):
            for item in _items(scoped):
                yield group.resource, item


def only(record: Record, data: TracesData | LogsData, wanted: Set[int]) -> Record:
    """Give the record with these units alone, as `otlp_proto`: what a dead letter holds and a redrive sends."""
    kept: Any = type(data).FromString(data.SerializeToString())
    number = 0
    groups = _groups(kept)
    for group in groups:
        for scoped in _scopes(group):
            items = _items(scoped)
            chosen = [item for place, item in enumerate(items, start=number) if place in wanted]
            number += len(items)
            del items[:]
            items.extend(chosen)
    # what held none of the chosen goes: its resource may be large
    for place in range(len(groups) - 1, -1, -1):
        scopes = _scopes(groups[place])
        for inner in range(len(scopes) - 1, -1, -1):
            if not _items(scopes[inner]):
                del scopes[inner]
        if not scopes:
            del groups[place]
    headers = tuple((name, value) for name, value in record.headers if name != "content-type")
    typed = (("content-type", PROTOBUF[0].encode()),) if len(headers) < len(record.headers) else ()
    return replace(record, value=kept.SerializeToString(deterministic=True), headers=headers + typed)


def _groups(data: TracesData | LogsData) -> Any:
    return data.resource_spans if isinstance(data, TracesData) else data.resource_logs


def _scopes(group: Any) -> Any:
    return group.scope_spans if isinstance(group, ResourceSpans) else group.scope_logs


def _items(scoped: Any) -> Any:
    return scoped.spans if isinstance(scoped, ScopeSpans) else scoped.log_records


def plain(value: AnyValue) -> object:
    """Give an attribute's value as Python has it; bytes as hexadecimal."""
    match value.WhichOneof("value"):
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "int_value":
            return value.int_value
        case "double_value":
            return value.double_value
        case "array_value":
            return [plain(item) for item in value.array_value.values]
        case "kvlist_value":
            return {item.key: plain(item.value) for item in value.kvlist_value.values}
        case "bytes_value":
            return value.bytes_value.hex()
    return None


def attributes_of(pairs: Iterable[KeyValue]) -> dict[str, object]:
    """Give attributes by name."""
    return {pair.key: plain(pair.value) for pair in pairs}


def _from_proto(value: bytes) -> TracesData | LogsData:
    try:
        traces = TracesData.FromString(value)
    except DecodeError:
        traces = None
    if traces is not None and any(span.trace_id or span.span_id for _, span in units(traces)):
        return traces
    try:
        logs = LogsData.FromString(value)
    except DecodeError:
        logs = None
    if logs is not None and any(log.time_unix_nano or log.observed_time_unix_nano for _, log in units(logs)):
        return logs
    found = traces if traces is not None else logs
    if found is None:
        raise MalformedEvent("neither OTLP traces nor OTLP logs: not their protobuf")
    return found


def _from_json(value: bytes) -> TracesData | LogsData:
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise MalformedEvent(f"not JSON: {error.msg} at character {error.pos}") from None
    if isinstance(found, dict) and "resourceSpans" in found:
        return _parsed(found, TracesData())
    if isinstance(found, dict) and "resourceLogs" in found:
        return _parsed(found, LogsData())
    raise MalformedEvent("neither OTLP traces nor OTLP logs: no resourceSpans and no resourceLogs")


def _parsed(found: dict[str, Any], into: _Data) -> _Data:
    try:
        for item in _json_items(found):
            _hex_to_base64(item)
            for link in item.get("links") or ():
                _hex_to_base64(link)
        return ParseDict(found, into, ignore_unknown_fields=True)
    except (ParseError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise MalformedEvent(f"not the JSON of OTLP: {str(error)[:200]}") from None


def _json_items(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for groups, scopes, items in (
        ("resourceSpans", "scopeSpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
    ):
        for group in found.get(groups) or ():
            for scoped in group.get(scopes) or ():
                yield from scoped.get(items) or ()


def _hex_to_base64(item: dict[str, Any]) -> None:
    """Turn the ids of OTLP's JSON into those of protobuf's. Raises `ValueError`, `TypeError`, `AttributeError`."""
    for name in _HEX_IDS:
        if item.get(name):
            item[name] = base64.b64encode(bytes.fromhex(item[name])).decode()
