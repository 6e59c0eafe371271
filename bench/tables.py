"""From rankings to the numbers that are printed: means, intervals, ratios."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from pydantic import BaseModel

from bench.metrics import Spread, hit_at, ndcg_at, percentile, ratio, recall_at, spread
from bench.rankings import RANKS, Ranked

_DIGITS = 4


class Level(StrEnum):
    """What is looked for: the turns that hold the answer, or the sessions that do."""

    TURN = "turn"
    SESSION = "session"


class Interval(BaseModel):
    """A mean with its 95 % bootstrap interval by conversation."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, found: Spread) -> "Interval":
        """Round for printing."""
        return cls(mean=round(found.mean, _DIGITS), low=round(found.low, _DIGITS), high=round(found.high, _DIGITS))


class AtRank(BaseModel):
    """At one rank: share of the evidence, share of questions with all of it, and nDCG."""

    recall: Interval
    hit: float
    ndcg: float


class Milliseconds(BaseModel):
    """Wall time of a query, all stages, one client; `cpu_p50`: CPU of the asking process."""

    p50: float
    p95: float
    cpu_p50: float


class SystemTable(BaseModel):
    """One system. Keys of the maps are ranks; `context`: share of evidence in a context of so many tokens (not for
    ablations); `ms`: None for ablations, which are asked of stores that remember.
    """

    questions: int
    overall: dict[int, AtRank]
    by_category: dict[str, dict[int, AtRank]]
    by_conversation: dict[str, dict[int, AtRank]]
    context: dict[int, Interval]
    tokens: float
    ms: Milliseconds | None


class VisitDifference(BaseModel):
    """How an ablation's visited set differs from Magma's: share of questions, mean events missing and added."""

    questions: float
    missing: float
    added: float


def table(ranked: Sequence[Ranked], level: Level = Level.TURN, *, timed: bool = True) -> SystemTable:
    """Sum up one system; intervals of one conversation resample its questions. `timed`: its times mean something."""
    ranked = [one for one in ranked if evidence_of(one, level)]
    return SystemTable(
        questions=len(ranked),
        overall=at_ranks(ranked, level),
        by_category=_split(ranked, level, lambda one: one.question.category),
        by_conversation=_split(ranked, level, lambda one: one.conversation),
        context={budget: context_share(ranked, budget) for budget in _budgets(ranked, level)},
        tokens=round(sum(one.tokens for one in ranked) / len(ranked), 1) if ranked else 0.0,
        ms=Milliseconds(
            p50=round(percentile([one.ms for one in ranked], 0.50), 2),
            p95=round(percentile([one.ms for one in ranked], 0.95), 2),
            cpu_p50=round(percentile([one.cpu_ms for one in ranked], 0.50), 2),
        )
        if timed
        else None,
    )


def at_ranks(ranked: Sequence[Ranked], level: Level) -> dict[int, AtRank]:
    """Measure at every rank."""
    found = {}
    for k in RANKS:
        hits = [hit_at(listed(one, level), evidence_of(one, level), k) for one in ranked]
        gains = [ndcg_at(listed(one, level), evidence_of(one, level), k) for one in ranked]
        found[k] = AtRank(
            recall=Interval.of(spread(by_conversation(ranked, recall(level, k)))),
            hit=round(sum(hits) / len(hits), _DIGITS),
            ndcg=round(sum(gains) / len(gains), _DIGITS),
        )
    return found


def context_share(ranked: Sequence[Ranked], budget: int) -> Interval:
    """Give the share of the evidence turns that stand in a context of a budget."""

    def share(one: Ranked) -> float:
        return len(one.shown[budget] & set(one.question.evidence)) / len(one.question.evidence)

    return Interval.of(spread(by_conversation(ranked, share)))


def _budgets(ranked: Sequence[Ranked], level: Level) -> tuple[int, ...]:
    return () if level is Level.SESSION or not ranked else tuple(ranked[0].shown)


def compare(ours: Sequence[Ranked], theirs: Sequence[Ranked], value: Callable[[Ranked], float]) -> Interval | None:
    """Give the ratio of two means of a value over the same questions; None when theirs is 0."""
    found = ratio(by_conversation(ours, value), by_conversation(theirs, value))
    return None if found is None else Interval.of(found)


def visit_difference(whole: Sequence[Ranked], ablated: Sequence[Ranked]) -> VisitDifference:
    """Compare what two walks visited, question by question."""
    pairs = [(one.visited, other.visited) for one, other in zip(whole, ablated, strict=True)]
    count = max(1, len(pairs))
    return VisitDifference(
        questions=round(sum(before != after for before, after in pairs) / count, _DIGITS),
        missing=round(sum(len(before - after) for before, after in pairs) / count, 2),
        added=round(sum(len(after - before) for before, after in pairs) / count, 2),
    )


def by_conversation(ranked: Sequence[Ranked], value: Callable[[Ranked], float]) -> Mapping[str, list[float]]:
    """Give a value of each question, grouped by conversation."""
    groups: dict[str, list[float]] = {}
    for one in ranked:
        groups.setdefault(one.conversation, []).append(value(one))
    return groups


def recall(level: Level, k: int) -> Callable[[Ranked], float]:
    """Give the function that measures recall at k."""
    return lambda one: recall_at(listed(one, level), evidence_of(one, level), k)


def gain(level: Level, k: int) -> Callable[[Ranked], float]:
    """Give the function that measures nDCG at k."""
    return lambda one: ndcg_at(listed(one, level), evidence_of(one, level), k)


def listed(one: Ranked, level: Level) -> tuple[str, ...]:
    """Give the ranking of turns or of sessions."""
    return one.turns if level is Level.TURN else one.sessions


def evidence_of(one: Ranked, level: Level) -> tuple[str, ...]:
    """Give the turns or sessions that hold the answer."""
    return one.question.evidence if level is Level.TURN else one.question.sessions


def _split(ranked: Sequence[Ranked], level: Level, key: Callable[[Ranked], str]) -> dict[str, dict[int, AtRank]]:
    parts: dict[str, list[Ranked]] = {}
    for one in ranked:
        parts.setdefault(key(one), []).append(one)
    return {name: at_ranks(part, level) for name, part in sorted(parts.items())}
