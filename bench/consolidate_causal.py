"""How right and how complete the causal edges of a memory are (rules of judging: `bench/data/README.md`)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import BaseModel

from bench.consolidate_intervals import interval, share
from bench.consolidate_memory import Consolidated, MadeCause
from bench.consolidate_sets import Document, Pair, closure
from bench.tables import Interval
from memory.relations import Origin

_DIGITS = 4


class Verdict(StrEnum):
    """What the labels say of an edge; `NEUTRAL`: it follows from labelled ones, or careful readers may differ."""

    RIGHT = "right"
    NEUTRAL = "neutral"
    WRONG = "wrong"


class Reach(StrEnum):
    """How far a labelled cause stands from its effect."""

    ADJACENT = "adjacent"
    APART = "apart"
    ACROSS = "across"


class Found(BaseModel):
    """So many labelled pairs found, of so many."""

    found: int = 0
    n: int = 0


class CausalMistakes(BaseModel):
    """Edges made that are wrong, with the rule that made them, and labelled pairs that were not found."""

    wrong: list[tuple[str, str, str]]
    missed: list[Pair]


class CausalTable(BaseModel):
    """`n`: labelled pairs and non-pairs; `precision` over every edge of closed documents; null: no edge was made.

    `recall_by_reach`: neighbours in a session, others of a session, pairs across sessions. `non_pairs_made`: labelled
    non-pairs that became edges. `by_rule`: verdicts of each rule's or model's edges. `mistakes` only on `dev`.
    """

    precision: float | None
    recall: float
    n: int
    pairs: int
    non_pairs: int
    non_pairs_made: int
    made: int
    verdicts: dict[Verdict, int]
    intervals: dict[str, Interval]
    recall_by_reach: dict[Reach, Found]
    by_rule: dict[str, dict[Verdict, int]]
    mistakes: CausalMistakes | None


@dataclass(slots=True)
class _Counts:
    """Of one document."""

    verdicts: dict[Verdict, int] = field(default_factory=lambda: dict.fromkeys(Verdict, 0))
    found: int = 0
    pairs: int = 0


class CausalJudge:
    """The verdicts of one document."""

    def __init__(self, document: Document) -> None:
        self._right = document.causes
        self._wrong = document.non_causes
        disputable = {(label.cause, label.effect) for label in document.disputable}
        self._neutral = (closure(document.causes) | disputable) - self._right - self._wrong
        self._closed = document.closed

    def verdict(self, pair: Pair) -> Verdict:
        """Judge one edge; outside closed documents an edge without a label is neutral."""
        if pair in self._right:
            return Verdict.RIGHT
        if pair in self._neutral or not (self._closed or pair in self._wrong):
            return Verdict.NEUTRAL
        return Verdict.WRONG


def causal_table(
    documents: Sequence[Document], memories: Mapping[str, Consolidated], sessions: Mapping[str, str], *, show: bool
) -> CausalTable:
    """Judge every edge that was inferred. `sessions`: the session of each event; `show`: list the mistakes."""
    counts: list[_Counts] = []
    by_rule: dict[str, dict[Verdict, int]] = {}
    by_reach = {reach: Found() for reach in Reach}
    mistakes = CausalMistakes(wrong=[], missed=[])
    non_pairs_made = 0
    for document in documents:
        memory, judge, count = memories[document.id], CausalJudge(document), _Counts(pairs=len(document.causes))
        made = [edge for edge in memory.causes if edge.origin is not Origin.PRODUCER]
        for edge in made:
            verdict = judge.verdict((edge.cause, edge.effect))
            count.verdicts[verdict] += 1
            by_rule.setdefault(edge.rule, dict.fromkeys(Verdict, 0))[verdict] += 1
            if verdict is Verdict.WRONG:
                mistakes.wrong.append((edge.cause, edge.effect, edge.rule))
        pairs = {(edge.cause, edge.effect) for edge in made}
        non_pairs_made += len(pairs & document.non_causes)
        chains = _chains(memory.events, sessions)
        for pair in sorted(document.causes):
            reach = by_reach[_reach(pair, chains, sessions)]
            reach.n += 1
            if pair in pairs:
                reach.found += 1
                count.found += 1
            else:
                mistakes.missed.append(pair)
        counts.append(count)
    return _table(documents, counts, by_rule, by_reach, non_pairs_made, mistakes if show else None)


def _table(
    documents: Sequence[Document],
    counts: Sequence[_Counts],
    by_rule: dict[str, dict[Verdict, int]],
    by_reach: dict[Reach, Found],
    non_pairs_made: int,
    mistakes: CausalMistakes | None,
) -> CausalTable:
    verdicts = {verdict: sum(count.verdicts[verdict] for count in counts) for verdict in Verdict}
    judged = verdicts[Verdict.RIGHT] + verdicts[Verdict.WRONG]
    pairs, found = sum(count.pairs for count in counts), sum(count.found for count in counts)
    non_pairs = sum(len(document.non_causes) for document in documents)
    rows = [
        (count.verdicts[Verdict.RIGHT], count.verdicts[Verdict.RIGHT] + count.verdicts[Verdict.WRONG])
        for count in counts
    ]
    spreads = {
        "precision": interval(rows, share),
        "recall": interval([(count.found, count.pairs) for count in counts], share),
    }
    return CausalTable(
        precision=round(verdicts[Verdict.RIGHT] / judged, _DIGITS) if judged else None,
        recall=round(found / pairs, _DIGITS) if pairs else 0.0,
        n=pairs + non_pairs,
        pairs=pairs,
        non_pairs=non_pairs,
        non_pairs_made=non_pairs_made,
        made=sum(verdicts.values()),
        verdicts=verdicts,
        intervals={name: spread for name, spread in spreads.items() if spread is not None},
        recall_by_reach=by_reach,
        by_rule=dict(sorted(by_rule.items())),
        mistakes=mistakes,
    )


def _chains(events: Iterable[str], sessions: Mapping[str, str]) -> dict[str, int]:
    """Give each event's place in its session."""
    lengths: dict[str, int] = {}
    places = {}
    for event in events:
        places[event] = lengths.get(sessions[event], 0)
        lengths[sessions[event]] = places[event] + 1
    return places


def _reach(pair: Pair, places: Mapping[str, int], sessions: Mapping[str, str]) -> Reach:
    cause, effect = pair
    if sessions[cause] != sessions[effect]:
        return Reach.ACROSS
    return Reach.ADJACENT if places[effect] - places[cause] == 1 else Reach.APART


def reachable(causes: Sequence[MadeCause], end: str) -> set[str]:
    """Give every event from which causes lead to `end`, that one left out."""
    before: dict[str, set[str]] = {}
    for edge in causes:
        before.setdefault(edge.effect, set()).add(edge.cause)
    reached: set[str] = set()
    frontier = set(before.get(end, ()))
    while frontier:
        reached |= frontier
        frontier = {cause for effect in frontier for cause in before.get(effect, ())} - reached
    return reached - {end}
