"""Log records become events: messages, model calls, exceptions; others as `otlp_other` says. Pure.

A log record has no id. It gets one from its span, its time and what it says: `<trace id>:<span id>:log.<digest>`.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from memory.errors import MalformedEvent, Poison
from memory.events import AgentEvent, EventKind, validate_event
from streams.dialects.otel_messages import Said, messages, text_of
from streams.dialects.otel_spans import moment, short
from streams.dialects.otel_tables import (
    DETAILS,
    EXCEPTION_MESSAGE,
    EXCEPTION_TYPE,
    GEN_AI,
    SERVICE,
    SPOKEN,
    first_of,
)
from streams.dialects.otel_view import said_in
from streams.dialects.otlp import attributes_of, plain

#: From this severity on a record tells of an error (OpenTelemetry's logs data model).
_ERROR = 17


def log_events(
    resource: dict[str, object], log: Any, *, source: str | None, tenant: str | None, observe: bool
) -> Iterator[AgentEvent | Poison]:
    """Give the events of a log record, each with why there is none where it is not valid."""
    at_ns = log.time_unix_nano or log.observed_time_unix_nano
    if not at_ns:
        yield MalformedEvent("a log record without a time")
        return
    attributes = attributes_of(log.attributes)
    name = log.event_name or str(attributes.get("event.name") or "")
    body = plain(log.body)
    trace, span = log.trace_id.hex(), log.span_id.hex()
    head = f"{trace}:{span}" if span else trace
    digest = hashlib.blake2b(log.SerializeToString(deterministic=True), digest_size=8).hexdigest()
    named = first_of({**resource, **attributes}, (*GEN_AI.agent, SERVICE))
    agent = named if isinstance(named, str) else "agent"
    session = first_of({**resource, **attributes}, GEN_AI.session) or trace
    for part, fields in enumerate(_told(name, body, attributes, agent, observe, log.severity_number)):
        event = {
            "id": f"{head or 'log'}:log.{digest}" + (f".{part}" if part else ""),
            "source": source,
            "tenant": tenant,
            "agent": agent,
            "session": session,
            "occurred_at": moment(at_ns),
            "sequence": (at_ns % 1_000) * 10_000 + min(part, 9_999),
            "parent": head if span else None,
            "attributes": {"otel": {"event": name[:256], **short(attributes, {*GEN_AI.asked, *GEN_AI.answered})}},
            **fields,
        }
        try:
            yield validate_event({key: value for key, value in event.items() if value not in (None, "")})
        except Poison as error:
            yield error


def _told(
    name: str, body: object, attributes: dict[str, object], agent: str, observe: bool, severity: int
) -> Iterator[dict[str, Any]]:
    if name in SPOKEN:
        given = {**body, "role": SPOKEN[name]} if isinstance(body, dict) else {"role": SPOKEN[name], "content": body}
        for said in messages([given]):
            yield from _said(said, agent)
    elif name == DETAILS:
        for said in said_in(attributes, GEN_AI, GEN_AI.answered):
            yield from _said(Said("assistant", said.text, said.calls, said.answers), agent)
    elif EXCEPTION_TYPE in attributes or EXCEPTION_MESSAGE in attributes:
        told = ": ".join(str(attributes[key]) for key in (EXCEPTION_TYPE, EXCEPTION_MESSAGE) if attributes.get(key))
        yield {"kind": EventKind.ERROR, "text": " ".join(part for part in (text_of(body), told) if part)}
    elif observe:
        kind = EventKind.ERROR if severity >= _ERROR else EventKind.OBSERVATION
        yield {"kind": kind, "text": text_of(body) or name or "log record"}


def _said(said: Said, agent: str) -> Iterator[dict[str, Any]]:
    for _, answer in said.answers:
        yield {"kind": EventKind.TOOL_RESULT, "text": answer}
    texts = [said.text] if said.text else []
    texts += [f"decides to call {call.name}({call.arguments})" for call in said.calls]
    if texts:
        kind = EventKind.DECISION if said.calls else EventKind.MESSAGE
        yield {"kind": kind, "text": "\n".join(texts), "speaker": agent if said.role != "user" else "user"}
