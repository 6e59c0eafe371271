"""What `magma bench locomo` and `magma bench longmemeval` print."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench.datasets import Dataset
from bench.environment import Environment
from bench.judge import JudgeTable
from bench.measure import Measured
from bench.rankings import RANKS, Ranked
from bench.refit import Refitted
from bench.systems import ABLATIONS, System
from bench.tables import (
    Interval,
    Level,
    SystemTable,
    VisitDifference,
    compare,
    gain,
    recall,
    table,
    visit_difference,
)

_REFERENCES = (System.FUSION, System.ADJACENT)


class Evidence(BaseModel):
    """Slips of the data: questions whose evidence had to be read out of form, and evidence that names no turn."""

    repaired: int
    dropped: int


class Report(BaseModel):
    """The measurement. `systems` and `sessions` by system: evidence turns, and the sessions they stand in.

    `fit`: where Magma's ranking weights come from, in words; `repeatable`: asking twice gave equal bytes. `ratios`:
    Magma's mean over a baseline's, by what is measured; `visited`: how an ablation's walk differs from Magma's;
    `refitted`: Magma and its ablations with a ranking fitted to what each has, where that was asked for.
    """

    data: str
    embedding: str
    fit: str
    questions: int
    skipped: dict[str, int]
    evidence: Evidence
    events: int
    repeatable: bool | None
    systems: dict[System, SystemTable]
    sessions: dict[System, SystemTable]
    ratios: dict[System, dict[str, Interval]]
    visited: dict[System, VisitDifference]
    refitted: dict[System, Refitted]
    judge: JudgeTable | None
    environment: Environment


def make_report(
    dataset: Dataset,
    measured: Measured,
    *,
    data: str,
    embedding: str,
    environment: Environment,
) -> Report:
    """Sum everything up."""
    outcomes = measured.outcomes
    ours = outcomes.get(System.MAGMA)
    return Report(
        data=data,
        embedding=embedding,
        fit=measured.fit,
        questions=dataset.questions,
        skipped={reason.value: count for reason, count in dataset.skipped.items()},
        evidence=Evidence(repaired=dataset.repaired, dropped=dataset.dropped),
        events=measured.events,
        repeatable=measured.repeatable,
        systems={system: table(ranked, timed=system not in ABLATIONS) for system, ranked in outcomes.items()},
        sessions={
            system: table(ranked, Level.SESSION, timed=system not in ABLATIONS) for system, ranked in outcomes.items()
        },
        ratios={
            system: _ratios(ours, outcomes[system]) for system in _REFERENCES if ours is not None and system in outcomes
        },
        visited={
            system: visit_difference(ours, ranked)
            for system, ranked in outcomes.items()
            if ours is not None and system in ABLATIONS
        },
        refitted=measured.refitted,
        judge=measured.judge,
        environment=environment,
    )


def _ratios(ours: Sequence[Ranked], theirs: Sequence[Ranked]) -> dict[str, Interval]:
    pairs = {"ndcg@10": compare(ours, theirs, gain(Level.TURN, 10))}
    for k in RANKS:
        pairs[f"recall@{k}"] = compare(ours, theirs, recall(Level.TURN, k))
    for category in sorted({one.question.category for one in ours}):
        mine, others = ([one for one in ranked if one.question.category == category] for ranked in (ours, theirs))
        pairs[f"recall@10, category {category}"] = compare(mine, others, recall(Level.TURN, 10))
    return {name: found for name, found in pairs.items() if found is not None}


def draw(report: Report, categories: Mapping[str, str]) -> RenderableType:
    """Draw the tables for a person."""
    return Group(*_parts(report, categories))


def _parts(report: Report, categories: Mapping[str, str]) -> Iterator[RenderableType]:
    skipped = ", ".join(f"{count} {reason}" for reason, count in report.skipped.items()) or "none"
    yield Text(f"{report.questions} questions to {report.events} events (skipped: {skipped}); {report.embedding}")
    yield Text(f"ranking weights: {report.fit}")
    names = sorted(next(iter(report.systems.values())).by_category)
    yield _table("evidence turns", report.systems, categories, names)
    if any(one.questions for one in report.sessions.values()):
        yield _table("sessions of the evidence", report.sessions, categories, names)
    for system, found in report.ratios.items():
        lines = (f"{name} ×{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]" for name, one in found.items())
        yield Text(f"magma / {system}: {'; '.join(lines)}")
    for system, difference in report.visited.items():
        yield Text(
            f"{system}: another visited set for {difference.questions:.0%} of the questions "
            f"(-{difference.missing:g} +{difference.added:g} events)"
        )
    for system, fair in report.refitted.items():
        parts = "; ".join(f"{categories.get(name, name)} {mean:.3f}" for name, mean in fair.by_category.items())
        recall = fair.recall
        yield Text(f"{system}, fitted anew: recall@10 {recall.mean:.3f} [{recall.low:.3f}, {recall.high:.3f}]; {parts}")
        worth = (
            f"{categories.get(name, name)} ×{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]"
            for name, one in fair.worth.items()
        )
        if fair.worth:
            yield Text(f"magma / {system}, both fitted anew: {'; '.join(worth)}")
    if report.repeatable is not None:
        yield Text(f"asked twice: {'equal bytes' if report.repeatable else 'DIFFERENT RESULTS'}")
    if report.judge is not None:
        for name, row in {"overall": report.judge.overall, **report.judge.by_category}.items():
            yield Text(f"{name}: judge {row.judge:.3f}, F1 {row.f1:.3f}, BLEU-1 {row.bleu1:.3f} ({row.n})")


def _table(
    title: str, systems: Mapping[System, SystemTable], categories: Mapping[str, str], names: Sequence[str]
) -> Table:
    grid = Table(title=title, title_justify="left")
    grid.add_column("system")
    for heading in (*(f"recall@{k}" for k in RANKS), "recall@10 within", "all@10", "nDCG@10"):
        grid.add_column(heading, justify="right")
    for name in names:
        grid.add_column(f"r@10 {categories.get(name, name)}", justify="right")
    for heading in ("evidence in 1,200 / 2,400 tokens", "ms p50", "p95", "cpu"):
        grid.add_column(heading, justify="right")
    for system, one in systems.items():
        ten = one.overall[10]
        share = " / ".join(f"{one.context[budget].mean:.3f}" for budget in (1_200, 2_400) if budget in one.context)
        grid.add_row(
            system.value,
            *(f"{one.overall[k].recall.mean:.3f}" for k in RANKS),
            f"{ten.recall.low:.3f}-{ten.recall.high:.3f}",
            f"{ten.hit:.3f}",
            f"{ten.ndcg:.3f}",
            *(f"{one.by_category[name][10].recall.mean:.3f}" if name in one.by_category else "" for name in names),
            share,
            *(("", "", "") if one.ms is None else (f"{ms:.1f}" for ms in (one.ms.p50, one.ms.p95, one.ms.cpu_p50))),
        )
    return grid
