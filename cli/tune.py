"""`magma tune`: fit the ranking, and the policy if asked for, on questions whose evidence is known."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import orjson
import typer

from bench.datasets import Conversation
from bench.locomo import read_questions
from bench.recalled import OpenStores, open_recalled
from bench.tune import (
    KeepingRanker,
    OutOfFold,
    Search,
    TrainingQuestion,
    choose,
    collect,
    cross_fit,
    fit,
    policy_toml,
    proposals,
    try_policies,
)
from cli.loop import run
from cli.opened import open_stores
from cli.options import DataDir, JsonFlag, settings_for
from cli.output import emit
from cli.progress import Progress
from cli.readers import Format
from cli.tune_report import PolicyReport, draw_report, policy_report, times, tune_report
from memory.errors import BadSetting, NotFound
from memory.settings import Settings
from query_api.engine import Retriever
from query_api.policy import Policy, shipped_policy
from query_api.ranking import Documents, Trees

#: Policies tried when nothing is said: a few minutes on a thousand questions.
TRIALS = 24


@dataclass(frozen=True, slots=True)
class Learned:
    """What was asked, and what the search for a policy found; None when there was none."""

    encoder: str
    sets: dict[str, list[TrainingQuestion]]
    search: Search | None
    tried: Sequence[Policy]


def tune(
    data: Annotated[Path, typer.Option("--data", help="Labelled questions.", exists=True, dir_okay=False)],
    format_: Annotated[Format, typer.Option("--format", help="What the file holds.")] = Format.LOCOMO,
    out: Annotated[Path | None, typer.Option("--out", help="Where the fitted model is written (JSON).")] = None,
    policy_out: Annotated[
        Path | None, typer.Option("--policy-out", help="Fit the policy, too, and write it here (TOML).")
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", min=1, max=1_000, help=f"Policies to try; {TRIALS} with --policy-out.")
    ] = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Fit the ranking on a file whose conversations are in the memory, one tenant each, named as in the file.

    What is reported is of models that did not see the conversation they are measured on; what is written is fitted on
    all of them. With --policy-out or --trials the numbers of the policy are searched as well.

    Example: magma tune --data locomo10.json --format locomo --out model.json --policy-out policy.toml
    """
    if format_ is not Format.LOCOMO:
        raise typer.BadParameter("only --format locomo has questions with evidence")
    settings = settings_for(data_dir)
    conversations = read_questions(data).conversations
    if len(conversations) < 2:
        raise BadSetting(f"{data} has one conversation", hint="cross-validation needs two at least")
    wanted = trials or (TRIALS if policy_out is not None else 0)
    learned = run(learn(settings, conversations, wanted))
    folds = cross_fit(learned.sets, encoder=learned.encoder)
    everything = [question for questions in learned.sets.values() for question in questions]
    trees = fit(everything, about="all conversations of the file", encoder=learned.encoder)
    if out is not None:
        write_model(trees, out)
    policy = None if learned.search is None else policy_report(learned.search, learned.tried, policy_out)
    if learned.search is not None and policy is not None and policy_out is not None:
        write_policy(learned.search.chosen, policy, policy_out)
    report = tune_report(learned.encoder, everything, folds, trees, out, policy)
    emit(json_mode, report, lambda: draw_report(report))


async def learn(settings: Settings, conversations: Sequence[Conversation], trials: int) -> Learned:
    """Ask the memory every question, and again under each of `trials` policies; 0: none but the shipped one."""
    async with open_stores(settings) as stores, open_recalled(settings, stores.encoder) as recalled:
        there = set(await stores.graph.tenants())
        missing = [conversation.id for conversation in conversations if conversation.id not in there]
        if missing:
            raise NotFound(
                f"no tenant is called {', '.join(missing)}",
                hint="`magma ingest FILE --format locomo --wait consolidated`",
            )
        sets = await collect_all(recalled, conversations)
        encoder = stores.encoder.name
        if not trials:
            return Learned(encoder, sets, None, ())
        tried = proposals(shipped_policy("default"), trials)
        judge = await asyncio.to_thread(OutOfFold, sets, encoder)
        tenants = {one.id: one.id for one in conversations}
        with Progress("policies", total=len(tried)) as progress:
            outcomes = await try_policies(recalled, tenants, conversations, tried, judge, progress)
        return Learned(encoder, sets, choose(tried, outcomes, list(tenants)), tried)


async def collect_all(stores: OpenStores, conversations: Sequence[Conversation]) -> dict[str, list[TrainingQuestion]]:
    """Ask the memory every question; give the training questions by conversation."""
    sets: dict[str, list[TrainingQuestion]] = {}
    # what is learned from must not depend on what was learned before
    ranker = KeepingRanker(None, Documents.open())
    retriever = Retriever(stores.graph, stores.vectors, stores.encoder, ranker=ranker)
    with Progress("questions", total=sum(len(one.questions) for one in conversations)) as progress:
        done = 0
        for conversation in conversations:
            before = done

            def tell(number: int, before: int = before) -> None:
                progress(before + number)

            sets[conversation.id] = await collect(retriever, ranker, conversation.id, conversation.questions, tell)
            done += len(conversation.questions)
    return sets


def write_policy(policy: Policy, report: PolicyReport, out: Path) -> None:
    """Write a policy file that says of itself what it was worth where it was not fitted."""
    gain = "nothing to compare" if report.gain is None else times(report.gain)
    comments = (
        f"Fitted by `magma tune` on {len(report.folds)} conversations, {report.trials} policies tried.",
        f"Held-out recall@10 over the shipped policy's: {gain}.",
    )
    out.write_text(policy_toml(policy, comments), encoding="utf-8")


def write_model(trees: Trees, out: Path) -> None:
    """Write a model file; the same trees give the same bytes."""
    out.write_bytes(orjson.dumps(trees.document()) + b"\n")
