"""What one record of a producer holds: one event, or a message of many."""

from collections.abc import Callable, Set
from dataclasses import dataclass

from memory.errors import Poison
from memory.events import AgentEvent
from memory.records import Record

#: Most units (spans, log records, CloudEvents, items of a mapped document) of one record.
MAX_UNITS = 10_000


@dataclass(frozen=True, slots=True)
class Piece:
    """One event of a message, or why there is none. `unit`: number of the span or CloudEvent it comes from."""

    unit: int
    event: AgentEvent | Poison


@dataclass(frozen=True, slots=True)
class Message:
    """A record as its dialect reads it. `rest`: gives the record with these units alone, as its dead letter keeps it.

    What is wrong with a unit stops no other one: the good ones go on, and the bad ones of a record are one dead letter
    that holds nothing else and can be sent again by itself.
    """

    pieces: tuple[Piece, ...]
    rest: Callable[[Set[int]], Record]
