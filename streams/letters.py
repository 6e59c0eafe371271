"""Dead letters: a record that can never succeed, kept whole, with what went wrong in headers beside its own.

The key, the value and the headers of the record stay untouched; exactly the headers of `ErrorHeader` are put after
them, in that order, so that a redrive can take off what was put on and nothing else.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.errors import Poison
from memory.records import Outgoing, Record
from streams.topics import Stage

#: Bound on `x-error-message`, in bytes.
MESSAGE_BYTES = 1_000


class ErrorHeader(StrEnum):
    """Headers that a dead letter carries after the record's own; all values are UTF-8, times are ISO 8601 in UTC."""

    CODE = "x-error-code"
    MESSAGE = "x-error-message"
    STAGE = "x-error-stage"
    ATTEMPTS = "x-error-attempts"
    FIRST_AT = "x-error-first-at"
    LAST_AT = "x-error-last-at"
    TOPIC = "x-error-topic"
    PARTITION = "x-error-partition"
    OFFSET = "x-error-offset"


_NAMES = tuple(header.value for header in ErrorHeader)


@dataclass(frozen=True, slots=True)
class Letter:
    """A record on its way to its dead-letter topic.

    `attempts`: handler calls the record took part in; `first_at`, `last_at`: its first and last failure.
    """

    record: Record
    error: Poison
    attempts: int
    first_at: datetime
    last_at: datetime

    def headers(self, stage: Stage) -> tuple[tuple[str, bytes], ...]:
        """Give the record's own headers, then those that say what went wrong."""
        record = self.record
        values = (
            self.error.code,
            one_line(self.error.message),
            stage.value,
            str(self.attempts),
            self.first_at.isoformat(timespec="milliseconds"),
            self.last_at.isoformat(timespec="milliseconds"),
            record.topic,
            str(record.partition),
            str(record.offset),
        )
        return record.headers + tuple(zip(_NAMES, (value.encode() for value in values), strict=True))

    def as_outgoing(self, stage: Stage) -> "Outgoing":
        """Give what is published on the dead-letter topic."""
        return Outgoing(self.record.key, self.record.value, self.headers(stage))


def one_line(message: str) -> str:
    """Give the message on one line, without control characters, at most `MESSAGE_BYTES` of UTF-8."""
    line = " ".join("".join(char if char.isprintable() else " " for char in message).split())
    return line.encode(errors="replace")[:MESSAGE_BYTES].decode(errors="ignore")


def split_headers(
    headers: tuple[tuple[str, bytes], ...],
) -> tuple[tuple[tuple[str, bytes], ...], dict[ErrorHeader, str]] | None:
    """Part a dead letter's headers into the record's own and what went wrong; None when it is not a dead letter."""
    own, error = headers[: -len(_NAMES)], headers[-len(_NAMES) :]
    if tuple(name for name, _ in error) != _NAMES:
        return None
    return own, {ErrorHeader(name): value.decode(errors="replace") for name, value in error}
