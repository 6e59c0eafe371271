"""The labelled sets of `bench/data`: events as producers send them, and what a careful reader says of them.

What the labels mean is written in `bench/data/README.md`.
"""

from enum import StrEnum
from pathlib import Path

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, TypeAdapter, ValidationError

from memory.dates import Precision
from memory.errors import MalformedEvent, UnreadableInput
from memory.events import AgentEvent, decode_event
from memory.relations import CausalKind

#: Where the sets that come with the project lie.
DATA = Path(__file__).resolve().parent / "data"

Pair = tuple[str, str]


class Split(StrEnum):
    """Half of the sets: the one that rules are written on, and the one that nobody looks at."""

    DEV = "dev"
    HELD = "held"


class _Label(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CausalLabel(_Label):
    """A pair of events that is causal, or one that looks so and is not."""

    cause: str
    effect: str
    causal: bool
    kind: CausalKind | None
    note: str


class DisputableLabel(_Label):
    """A pair about which careful readers may differ."""

    cause: str
    effect: str
    note: str


class MentionLabel(_Label):
    """A name in an event's text, and what it means within the document."""

    event: str
    surface: str
    entity: str


class DateLabel(_Label):
    """A phrase of time and what it means: [`start`, `end`)."""

    event: str
    phrase: str
    start: AwareDatetime
    end: AwareDatetime
    precision: Precision


class Document(_Label):
    """The labels of one document. `closed`: all of its causal pairs are labelled."""

    id: str
    domain: str
    closed: bool
    causal: tuple[CausalLabel, ...]
    disputable: tuple[DisputableLabel, ...]
    mentions: tuple[MentionLabel, ...]
    dates: tuple[DateLabel, ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every pair that has a label, as often as it has one."""
        judged = tuple((label.cause, label.effect) for label in self.causal)
        return judged + tuple((label.cause, label.effect) for label in self.disputable)

    @property
    def causes(self) -> frozenset[Pair]:
        """The pairs that are causal."""
        return frozenset((label.cause, label.effect) for label in self.causal if label.causal)

    @property
    def non_causes(self) -> frozenset[Pair]:
        """The pairs that are labelled as not causal."""
        return frozenset((label.cause, label.effect) for label in self.causal if not label.causal)


class LabelledSet(_Label):
    """One half: its documents, and the events of each in the file's order."""

    documents: tuple[Document, ...]
    events: dict[str, tuple[AgentEvent, ...]]


_DOCUMENTS = TypeAdapter(tuple[Document, ...])


def read_set(folder: Path, split: Split) -> LabelledSet:
    """Read one half from a folder; raises `UnreadableInput` naming the file and what is wrong with it."""
    labels, lines = folder / f"{split}.labels.json", folder / f"{split}.events.jsonl"
    try:
        documents = _DOCUMENTS.validate_json(labels.read_bytes())
        events = [decode_event(line) for line in lines.read_bytes().splitlines()]
    except OSError as error:
        raise UnreadableInput(f"{error.filename}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UnreadableInput(f"{labels}: {place}: {first['msg']}") from error
    except (MalformedEvent, orjson.JSONDecodeError) as error:
        raise UnreadableInput(f"{lines}: {error}") from error
    by_document = {document.id: tuple(one for one in events if one.tenant == document.id) for document in documents}
    _consistent(labels, documents, by_document)
    return LabelledSet(documents=documents, events=by_document)


def closure(pairs: frozenset[Pair]) -> frozenset[Pair]:
    """Give the pairs that follow by going from cause to cause, those given included."""
    onward: dict[str, set[str]] = {}
    for cause, effect in pairs:
        onward.setdefault(cause, set()).add(effect)
    found: set[Pair] = set()
    for cause in onward:
        frontier = set(onward[cause])
        reached: set[str] = set()
        while frontier:
            reached |= frontier
            frontier = {later for one in frontier for later in onward.get(one, ())} - reached
        found |= {(cause, effect) for effect in reached}
    return frozenset(found)


def _consistent(path: Path, documents: tuple[Document, ...], by_document: dict[str, tuple[AgentEvent, ...]]) -> None:
    """Refuse labels that name what is not there: they would be counted as misses of the system."""
    for document in documents:
        texts = {event.id: event.text for event in by_document[document.id]}
        named = {end for pair in document.pairs for end in pair}
        spoken = [(mention.event, mention.surface) for mention in document.mentions]
        spoken += [(date.event, date.phrase) for date in document.dates]
        absent = sorted(named - texts.keys()) + sorted({event for event, _ in spoken} - texts.keys())
        if absent:
            raise UnreadableInput(f"{path}: {document.id}: there is no event {absent[0]}")
        unsaid = [(event, words) for event, words in spoken if words not in texts[event]]
        if unsaid:
            raise UnreadableInput(f"{path}: {unsaid[0][0]} does not say {unsaid[0][1]!r}")
