"""What a causal rule sees: one event and the few events before it in its chain.

A rule is a pure function of a scene, so the causes that rules give depend on the chain alone and not on the order or
the batches in which its events arrived: a late event changes the scenes of the `REACH` events behind it and no others.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from memory.events import EventNode
from memory.llm.model import FoundCause
from memory.relations import CausalKind

#: How many events back in the session a rule looks: as far as one window of the graph reaches.
REACH = 16


@dataclass(frozen=True, slots=True)
class Scene:
    """`event` and the events `before` it, oldest first, at most `REACH`."""

    event: EventNode
    before: tuple[EventNode, ...]

    def back(self, most: int = REACH) -> Iterator[EventNode]:
        """Give the events before, the nearest first, at most `most`."""
        return islice(reversed(self.before), most)


#: Two events of one agent at most this far apart, in microseconds, are one piece of work: a quarter of an hour.
SOON_US = 15 * 60 * 1_000_000

Rule = Callable[[Scene], Iterator[FoundCause]]


def scenes(events: Sequence[EventNode], new: Collection[str] | None = None) -> Iterator[Scene]:
    """Give the scene of each event of a chain; with `new`, only scenes that show one of these ids."""
    since_new = REACH + 1
    for place, event in enumerate(events):
        since_new = 0 if new is None or event.id in new else since_new + 1
        if since_new <= REACH:
            yield Scene(event, tuple(events[max(0, place - REACH) : place]))


def soon(first: EventNode, second: EventNode) -> bool:
    """Say whether the second event comes so soon behind the first that they can be one piece of work."""
    return second.occurred_us - first.occurred_us <= SOON_US


def found(
    cause: EventNode,
    effect: EventNode,
    rule: str,
    confidence: float,
    why: str,
    kind: CausalKind = CausalKind.LEADS_TO,
) -> FoundCause:
    """Make a finding; `why` is cut to 200 characters."""
    return FoundCause(cause.id, effect.id, kind, confidence, " ".join(why.split())[:200], rule)
