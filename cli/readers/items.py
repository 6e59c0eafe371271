"""What a reader yields, and the formats there are."""

from dataclasses import dataclass
from enum import StrEnum

import orjson

from memory.events import AgentEvent

#: What some editors put before UTF-8; it says nothing.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Format(StrEnum):
    """Formats of event files (`magma ingest --format`)."""

    AUTO = "auto"
    JSONL = "jsonl"
    LOCOMO = "locomo"
    CLOUDEVENTS = "cloudevents"
    OTLP = "otlp"


@dataclass(frozen=True, slots=True)
class ReadItem:
    """One event of a file, or what stands where one should be.

    `line`: line number, from 1, in a file of lines; the turn's number, from 1 and through all sessions, in a document.
    `raw`: the value to produce to `agent.events`: the event's JSON, or the untouched bad line, which the pipeline
    dead-letters with its reason. Empty when the line is too large for any topic: such a line can only be reported.
    `event`: the validated event; None exactly when `problem` says what is wrong. `headers`: what a bad item needs to be
    told from our own JSON.
    """

    line: int
    raw: bytes
    event: AgentEvent | None
    problem: str = ""
    headers: tuple[tuple[str, bytes], ...] = ()

    @property
    def producible(self) -> bool:
        """Whether there is anything to produce."""
        return bool(self.raw)


def encode_event(event: AgentEvent) -> bytes:
    """Give the event's JSON, without fields that say nothing, its UTC offset kept."""
    return orjson.dumps(event.model_dump(mode="json", exclude_defaults=True))
