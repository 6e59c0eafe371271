"""What `magma tune` prints."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench.tables import Interval
from bench.tune import Fold, Search, TrainingQuestion, moves
from query_api.policy import Policy
from query_api.ranking import Trees


class FoldReport(BaseModel):
    """One conversation left out: recall@10 of its evidence by a model that never saw it, and by the unfitted order."""

    left_out: str
    questions: int
    recall_10: float
    base_recall_10: float


class PolicyFoldReport(BaseModel):
    """One conversation left out: recall@10 by the policy chosen on the others, and by the shipped one.

    `moved`: the numbers that the choice changed, before and after.
    """

    left_out: str
    questions: int
    fitted: Interval
    shipped: Interval
    moved: dict[str, tuple[float, float]]


class PolicyReport(BaseModel):
    """The search for a policy. `gain`: held-out recall@10 of the folds' choices over the shipped policy's, with its

    interval by conversation; `pays`: that lies above 1; `moved`: the numbers of the policy of all conversations, which
    is written to `out` and measured on none.
    """

    trials: int
    folds: list[PolicyFoldReport]
    gain: Interval | None
    pays: bool
    moved: dict[str, tuple[float, float]]
    out: str | None


class TuneReport(BaseModel):
    """What `magma tune --json` prints. `out`: the model of all conversations, null when none was written."""

    encoder: str
    questions: int
    taught: int
    folds: list[FoldReport]
    recall_10: float
    base_recall_10: float
    trees: int
    out: str | None
    policy: PolicyReport | None


def tune_report(
    encoder: str,
    questions: Sequence[TrainingQuestion],
    folds: Sequence[Fold],
    trees: Trees,
    out: Path | None,
    policy: PolicyReport | None,
) -> TuneReport:
    """Sum up what was fitted."""
    total = sum(fold.questions for fold in folds)
    return TuneReport(
        encoder=encoder,
        questions=len(questions),
        taught=sum(question.teaches for question in questions),
        folds=[
            FoldReport(
                left_out=fold.left_out, questions=fold.questions, recall_10=fold.recall, base_recall_10=fold.base
            )
            for fold in folds
        ],
        recall_10=sum(fold.recall * fold.questions for fold in folds) / total,
        base_recall_10=sum(fold.base * fold.questions for fold in folds) / total,
        trees=len(trees.roots),
        out=None if out is None else str(out),
        policy=policy,
    )


def policy_report(search: Search, tried: Sequence[Policy], out: Path | None) -> PolicyReport:
    """Sum up a search; `out`: where its policy is written."""
    return PolicyReport(
        trials=len(tried) - 1,
        folds=[
            PolicyFoldReport(
                left_out=fold.left_out,
                questions=fold.questions,
                fitted=Interval.of(fold.fitted),
                shipped=Interval.of(fold.shipped),
                moved=moves(tried[0], tried[fold.chosen]),
            )
            for fold in search.folds
        ],
        gain=None if search.gain is None else Interval.of(search.gain),
        pays=search.pays,
        moved=moves(tried[0], tried[search.place]),
        out=None if out is None else str(out),
    )


def draw_report(report: TuneReport) -> Group:
    """Draw the tables for a person."""
    table = Table(box=None, pad_edge=False)
    for heading in ("left out", "questions", "recall@10", "unfitted"):
        table.add_column(heading, no_wrap=True, justify="left" if heading == "left out" else "right")
    for fold in report.folds:
        table.add_row(fold.left_out, str(fold.questions), f"{fold.recall_10:.3f}", f"{fold.base_recall_10:.3f}")
    table.add_row("mean of questions", str(report.questions), f"{report.recall_10:.3f}", f"{report.base_recall_10:.3f}")
    written = f"written to {report.out}" if report.out else "nothing written: give --out FILE"
    parts: list[RenderableType] = [
        table,
        Text(f"{report.trees} trees on the vectors of {report.encoder}; {written}", style="dim"),
    ]
    return Group(*parts, *(() if report.policy is None else _policy_parts(report.policy)))


def _policy_parts(report: PolicyReport) -> Iterator[RenderableType]:
    table = Table(box=None, pad_edge=False)
    for heading in ("left out", "questions", "recall@10, fitted policy", "shipped policy", "numbers moved"):
        table.add_column(heading, no_wrap=True, justify="left" if heading == "left out" else "right")
    for fold in report.folds:
        found = (f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in (fold.fitted, fold.shipped))
        table.add_row(fold.left_out, str(fold.questions), *found, str(len(fold.moved)))
    yield Text("")
    yield table
    gain = "the shipped policy finds nothing to compare with" if report.gain is None else times(report.gain)
    verdict = "it pays" if report.pays else "it does not pay beyond chance: stay with the shipped policy"
    yield Text(f"held-out recall@10, fitted over shipped, of {report.trials} policies tried: {gain}: {verdict}")
    for name, (before, after) in report.moved.items():
        yield Text(f"  {name} {before:g} → {after:g}", style="dim")
    yield Text(f"written to {report.out}" if report.out else "nothing written: give --policy-out FILE", style="dim")


def times(gain: Interval) -> str:
    """Write a ratio with its interval."""
    return f"×{gain.mean:.3f} [{gain.low:.3f}, {gain.high:.3f}]"
