"""`magma tune`: fit the ranking on questions whose evidence is known."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import orjson
import typer
from pydantic import BaseModel
from rich.console import Group
from rich.table import Table
from rich.text import Text

from bench.datasets import Conversation
from bench.locomo import read_questions
from bench.tune import Fold, TrainingQuestion, collect, cross_fit, fit
from cli.loop import run
from cli.opened import open_stores
from cli.options import DataDir, JsonFlag, settings_for
from cli.output import emit
from cli.progress import Progress
from cli.readers import Format
from memory.errors import BadSetting, NotFound
from memory.settings import Settings
from query_api.engine import Retriever
from query_api.ranking import Documents, FittedRanker, Trees


class FoldReport(BaseModel):
    """One conversation left out: recall@10 of its evidence by a model that never saw it, and by the unfitted order."""

    left_out: str
    questions: int
    recall_10: float
    base_recall_10: float


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


def tune(
    data: Annotated[Path, typer.Option("--data", help="Labelled questions.", exists=True, dir_okay=False)],
    format_: Annotated[Format, typer.Option("--format", help="What the file holds.")] = Format.LOCOMO,
    out: Annotated[Path | None, typer.Option("--out", help="Where the fitted model is written (JSON).")] = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Fit the ranking on a file whose conversations are in the memory, one tenant each, named as in the file.

    What is reported is of models that did not see the conversation they are measured on; what is written is fitted on
    all of them.

    Example: magma tune --data locomo10.json --format locomo --out model.json
    """
    if format_ is not Format.LOCOMO:
        raise typer.BadParameter("only --format locomo has questions with evidence")
    settings = settings_for(data_dir)
    conversations = read_questions(data).conversations
    if len(conversations) < 2:
        raise BadSetting(f"{data} has one conversation", hint="cross-validation needs two at least")
    encoder, sets = run(collect_all(settings, conversations))
    folds = cross_fit(sets, encoder=encoder)
    everything = [question for questions in sets.values() for question in questions]
    trees = fit(everything, about="all conversations of the file", encoder=encoder)
    if out is not None:
        write_model(trees, out)
    report = _report(encoder, everything, folds, trees, out)
    emit(json_mode, report, lambda: _drawing(report))


async def collect_all(
    settings: Settings, conversations: Sequence[Conversation]
) -> tuple[str, dict[str, list[TrainingQuestion]]]:
    """Ask the memory every question; give the encoder's name and the training questions by conversation."""
    sets: dict[str, list[TrainingQuestion]] = {}
    async with open_stores(settings) as stores:
        there = set(await stores.graph.tenants())
        missing = [conversation.id for conversation in conversations if conversation.id not in there]
        if missing:
            raise NotFound(
                f"no tenant is called {', '.join(missing)}",
                hint="`magma ingest FILE --format locomo --wait consolidated`",
            )
        # what is learned from must not depend on what was learned before
        ranker = FittedRanker(None, Documents.open())
        retriever = Retriever(stores.graph, stores.vectors, stores.encoder, ranker=ranker)
        with Progress("questions", total=sum(len(one.questions) for one in conversations)) as progress:
            done = 0
            for conversation in conversations:
                before = done

                def tell(number: int, before: int = before) -> None:
                    progress(before + number)

                sets[conversation.id] = await collect(retriever, conversation.id, conversation.questions, tell)
                done += len(conversation.questions)
        return stores.encoder.name, sets


def write_model(trees: Trees, out: Path) -> None:
    """Write a model file; the same trees give the same bytes."""
    out.write_bytes(orjson.dumps(trees.document()) + b"\n")


def _report(
    encoder: str, questions: Sequence[TrainingQuestion], folds: Sequence[Fold], trees: Trees, out: Path | None
) -> TuneReport:
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
    )


def _drawing(report: TuneReport) -> Group:
    table = Table(box=None, pad_edge=False)
    for heading in ("left out", "questions", "recall@10", "unfitted"):
        table.add_column(heading, no_wrap=True, justify="left" if heading == "left out" else "right")
    for fold in report.folds:
        table.add_row(fold.left_out, str(fold.questions), f"{fold.recall_10:.3f}", f"{fold.base_recall_10:.3f}")
    table.add_row("mean of questions", str(report.questions), f"{report.recall_10:.3f}", f"{report.base_recall_10:.3f}")
    written = f"written to {report.out}" if report.out else "nothing written: give --out FILE"
    return Group(table, Text(f"{report.trees} trees on the vectors of {report.encoder}; {written}", style="dim"))
