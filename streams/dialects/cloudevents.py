"""CloudEvents 1.0 on Kafka: binary (`ce_` headers), structured and batched JSON.

Source: the CloudEvents specification 1.0.2, its JSON format, its Kafka protocol binding, and the extensions `sequence`,
`partitionkey` and `traceparent`. The batch is the JSON format's; the Kafka binding itself names none.

| attribute | becomes |
| --- | --- |
| `id`, `source` | `id`, `source`: the pair makes the stored id, so a CloudEvent that comes twice is one event |
| `time` | `occurred_at`, its UTC offset kept |
| `type` | `kind`, when its last word is one (`com.example.tool_call`); else `kind` is `observation` |
| `subject` | `session`, when neither the extension nor the data names one |
| `sequence` | `sequence`, when it is a whole number; another one is kept in the attributes and orders nothing |
| `traceparent` | `trace` |
| `partitionkey` | nothing: the memory keys its records itself |
| `tenant`, `agent`, `session`, `kind`, `speaker`, `parent`, `causedby` | our extensions: the field of that name |
| `type`, `subject`, `dataschema`, every other extension | kept under `attributes.ce` |

What an attribute says stands; the data fill in the rest. Data that are an object with a `text` are read field by field
as our JSON, and what is no field of ours is kept in the attributes; a text is the event's text; other JSON becomes it.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Set
from dataclasses import replace

import orjson

from memory.errors import MalformedEvent, OversizeEvent, Poison
from memory.events import MAX_EVENT_BYTES, AgentEvent, EventKind, validate_event
from memory.records import Record
from streams.dialects.message import MAX_UNITS, Message, Piece
from streams.producers import TenantMismatch

PREFIX = "ce_"
VERSION_HEADER = "ce_specversion"
STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"

_JSON = re.compile(r"^[a-z]+/([a-z0-9.!#$&^_-]+\+)?json$")
_NUMBER = re.compile(r"^[0-9]{1,18}$")
#: Fields of ours that the data may give. `id` and `source` are the envelope's alone.
_FIELDS = frozenset(AgentEvent.model_fields) - {"id", "source", "attributes"}
#: Our extension attributes that are the field of the same name.
_EXTENSIONS = ("tenant", "agent", "session", "kind", "speaker", "parent")
_READ = frozenset(
    {*_EXTENSIONS, "specversion", "id", "source", "time", "datacontenttype", "partitionkey", "traceparent", "causedby"}
)
_KINDS = frozenset(EventKind)


def read_binary(record: Record, content_type: str, tenant: str | None) -> AgentEvent:
    """Read a record in binary mode; raises `MalformedEvent`, `OversizeEvent`, `TenantMismatch`."""
    value = record.value or b""
    _fits(value)
    attributes: dict[str, object] = {}
    for name, raw in record.headers:
        if name.lower().startswith(PREFIX):
            try:
                attributes[name.lower().removeprefix(PREFIX)] = raw.decode()
            except UnicodeDecodeError:
                raise MalformedEvent(f"the header {name[:80]!r} is not UTF-8") from None
    if content_type:
        attributes["datacontenttype"] = content_type
    return _event(attributes, _data(value, content_type), tenant)


def read_structured(record: Record, tenant: str | None) -> AgentEvent:
    """Read a record that is one CloudEvent in the JSON format; raises as `read_binary`."""
    value = record.value or b""
    _fits(value)
    return read_json(_loads(value), tenant)


def read_batch(record: Record, tenant: str | None) -> Message:
    """Read a record that is a list of CloudEvents in the JSON format; raises `MalformedEvent`, `OversizeEvent`."""
    found = _loads(record.value or b"")
    if not isinstance(found, list):
        raise MalformedEvent("a batch of CloudEvents is a JSON list, and this is none")
    if len(found) > MAX_UNITS:
        raise OversizeEvent(f"the batch has {len(found)} CloudEvents, the bound is {MAX_UNITS}")
    pieces = tuple(Piece(unit, _tried(item, tenant)) for unit, item in enumerate(found))

    def rest(units: Set[int]) -> Record:
        return replace(record, value=orjson.dumps([found[unit] for unit in sorted(units)]))

    return Message(pieces, rest)


def read_json(found: object, tenant: str | None) -> AgentEvent:
    """Read a decoded CloudEvent of the JSON format; raises as `read_binary`."""
    if not isinstance(found, dict):
        raise MalformedEvent("a CloudEvent is a JSON object, and this is none")
    attributes = {name: value for name, value in found.items() if name not in ("data", "data_base64")}
    if "data_base64" in found:
        if "data" in found:
            raise MalformedEvent("a CloudEvent has data or data_base64, not both")
        try:
            raw = base64.b64decode(found["data_base64"], validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise MalformedEvent("data_base64 is not base64") from None
        return _event(attributes, _data(raw, _media_type(attributes.get("datacontenttype"))), tenant)
    return _event(attributes, found.get("data"), tenant)


def _tried(item: object, tenant: str | None) -> AgentEvent | Poison:
    try:
        return read_json(item, tenant)
    except Poison as error:
        return error


def _event(given: Mapping[str, object], data: object, tenant: str | None) -> AgentEvent:
    attributes = {name: value for name, value in given.items() if value is not None}
    if attributes.get("specversion") != "1.0":
        raise MalformedEvent("not CloudEvents 1.0: specversion says something else")
    missing = [name for name in ("id", "source", "type") if not isinstance(attributes.get(name), str)]
    if missing:
        raise MalformedEvent(f"a CloudEvent must have {', '.join(missing)}, as text")
    fields, kept = _from_data(data)
    if attributes.get("tenant", fields.get("tenant")) != fields.get("tenant", attributes.get("tenant")):
        raise TenantMismatch("the data's tenant is not that of the CloudEvent")
    fields |= {name: attributes[name] for name in _EXTENSIONS if name in attributes}
    fields |= {"id": attributes["id"], "source": attributes["source"]}
    if "time" in attributes:
        fields["occurred_at"] = attributes["time"]
    if "causedby" in attributes:
        fields["caused_by"] = _names(attributes["causedby"])
    if "traceparent" in attributes:
        fields["trace"] = attributes["traceparent"]
    sequence = str(attributes.get("sequence", ""))
    if _NUMBER.match(sequence):
        fields["sequence"] = int(sequence)
    kind = str(attributes["type"]).rpartition(".")[2]
    fields.setdefault("kind", kind if kind in _KINDS else EventKind.OBSERVATION.value)
    fields.setdefault("agent", attributes["source"])
    if "subject" in attributes:
        fields.setdefault("session", attributes["subject"])
    if tenant is not None:
        fields.setdefault("tenant", tenant)
    envelope = {
        name: value
        for name, value in attributes.items()
        if name not in _READ and not (name == "sequence" and "sequence" in fields)
    }
    return validate_event({**fields, "attributes": {**kept, "ce": envelope}})


def _from_data(data: object) -> tuple[dict[str, object], dict[str, object]]:
    """Give our fields that the data hold, and what else they hold."""
    if isinstance(data, str):
        return {"text": data}, {}
    if data is None:
        return {}, {}
    if not isinstance(data, dict) or not isinstance(data.get("text"), str):
        try:
            return {"text": orjson.dumps(data).decode()}, {}
        except TypeError as error:  # too deep, or an integer beyond 64 bits
            raise MalformedEvent(f"the data cannot be kept as text: {error}") from None
    fields = {name: value for name, value in data.items() if name in _FIELDS}
    own = data.get("attributes")
    kept = dict(own) if isinstance(own, dict) else {}
    kept |= {name: value for name, value in data.items() if name not in _FIELDS and name != "attributes"}
    return fields, kept


def _names(value: object) -> object:
    """Give the ids of `causedby`: a JSON list in a text, or one id as it is."""
    if isinstance(value, str) and value.startswith("["):
        return _loads(value.encode())
    return [value]


def _data(value: bytes, content_type: str) -> object:
    if not value:
        return None
    if not content_type or _JSON.match(content_type):
        return _loads(value)
    if not content_type.startswith("text/"):
        raise MalformedEvent(f"data of the type {content_type[:80]!r} are neither JSON nor text")
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise MalformedEvent("the data are not UTF-8") from None


def _media_type(value: object) -> str:
    return value.partition(";")[0].strip().lower() if isinstance(value, str) else ""


def _loads(value: bytes) -> object:
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise MalformedEvent(f"not JSON: {error.msg} at character {error.pos}") from None


def _fits(value: bytes) -> None:
    if len(value) > MAX_EVENT_BYTES:
        raise OversizeEvent(f"the record is {len(value)} bytes, the bound is {MAX_EVENT_BYTES}")
