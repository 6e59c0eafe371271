"""What `magma bench consolidate` prints: how well each provider consolidates the labelled sets, and failure logs."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench.consolidate_causal import CausalTable, Verdict, causal_table
from bench.consolidate_dates import DatesTable, dates_table
from bench.consolidate_entities import EntitiesTable, entities_table
from bench.consolidate_failures import FailuresTable, Logs, Way
from bench.consolidate_memory import read_consolidated
from bench.consolidate_sets import LabelledSet, Split
from bench.environment import Environment
from memory.graph import Graph


class ProviderTable(BaseModel):
    """What one provider made of the sets; `model`: the model asked, empty for rules."""

    model: str
    causal: CausalTable
    entities: EntitiesTable
    dates: DatesTable
    failures: FailuresTable | None


class ConsolidateReport(BaseModel):
    """The measurement, by provider; one that was not configured is null."""

    rules: ProviderTable | None
    openai: ProviderTable | None
    data: str
    split: Split
    documents: int
    events: int
    environment: Environment


async def measure_sets(
    graph: Graph,
    labelled: LabelledSet,
    tenants: Mapping[str, str],
    *,
    show: bool,
    model: str = "",
    failures: FailuresTable | None = None,
) -> ProviderTable:
    """Read what was made of every document and judge it. `tenants`: who remembers each; `show`: list the mistakes."""
    memories = {document.id: await read_consolidated(graph, tenants[document.id]) for document in labelled.documents}
    sessions = {str(event.id): event.session for events in labelled.events.values() for event in events}
    return ProviderTable(
        model=model,
        causal=causal_table(labelled.documents, memories, sessions, show=show),
        entities=entities_table(labelled.documents, memories, show=show),
        dates=dates_table(labelled.documents, memories, show=show),
        failures=failures,
    )


def draw(report: ConsolidateReport) -> RenderableType:
    """Draw the tables for a person."""
    return Group(*_parts(report))


def _parts(report: ConsolidateReport) -> Iterator[RenderableType]:
    yield Text(f"{report.split}: {report.events} events in {report.documents} documents")
    providers = {"rules": report.rules, "openai": report.openai}
    for name, table in providers.items():
        if table is None:
            continue
        yield _quality(f"{name} {table.model}".strip(), table)
        if table.causal.mistakes is not None:
            yield from _mistakes(table)
        if table.failures is not None:
            yield _failures(table.failures)


def _quality(title: str, table: ProviderTable) -> Table:
    grid = Table(title=title, title_justify="left")
    for heading in ("measure", "value", "95 % interval", "n", "more"):
        grid.add_column(heading, justify="left" if heading in ("measure", "more") else "right")
    causal, entities, dates = table.causal, table.entities, table.dates
    verdicts = ", ".join(f"{causal.verdicts[verdict]} {verdict}" for verdict in Verdict)
    far = ", ".join(f"{reach} {one.found}/{one.n}" for reach, one in causal.recall_by_reach.items())
    made = f"{causal.made} edges: {verdicts}; {causal.non_pairs_made} of {causal.non_pairs} non-pairs"
    rows = [
        ("causal precision", causal.precision, causal.intervals.get("precision"), causal.n, made),
        ("causal recall", causal.recall, causal.intervals.get("recall"), causal.pairs, far),
        ("entities B³ F1", entities.b3_f1, entities.intervals.get("b3_f1"), entities.n, _found(entities)),
        ("dates accuracy", dates.accuracy, dates.intervals.get("accuracy"), dates.n, ""),
    ]
    for measure, value, spread, n, more in rows:
        shown = "none made" if value is None else f"{value:.3f}"
        grid.add_row(measure, shown, f"{spread.low:.3f}-{spread.high:.3f}" if spread else "", str(n), more)
    return grid


def _found(entities: EntitiesTable) -> str:
    return (
        f"precision {entities.b3_precision:.3f}, recall {entities.b3_recall:.3f}; "
        f"{entities.found} found, {entities.unlabelled} made without a label"
    )


def _mistakes(table: ProviderTable) -> Iterator[RenderableType]:
    """List what was wrong: on the half that is there to learn from."""
    causal, entities, dates = table.causal, table.entities, table.dates
    for rule, verdicts in causal.by_rule.items():
        yield Text(f"rule {rule}: {', '.join(f'{verdicts[verdict]} {verdict}' for verdict in Verdict)}")
    assert causal.mistakes is not None
    yield from _lines("wrong edge", (f"{cause} → {effect} ({rule})" for cause, effect, rule in causal.mistakes.wrong))
    yield from _lines("missed pair", (f"{cause} → {effect}" for cause, effect in causal.mistakes.missed))
    if entities.mistakes is not None:
        yield from _lines("missed mention", (f"{event} {surface!r}" for event, surface in entities.mistakes.missed))
        for what, places in (("merged", entities.mistakes.merged), ("split", entities.mistakes.split)):
            yield from _lines(what, (f"{document} {one}: {', '.join(others)}" for document, one, others in places))
    wrong = ((event, phrase, ", ".join(made) or "nothing") for event, phrase, made in dates.mistakes or ())
    yield from _lines("wrong date", (f"{event} {phrase!r}: {made}" for event, phrase, made in wrong))


def _lines(what: str, lines: Iterator[str]) -> Iterator[Text]:
    return (Text(f"{what}: {line}") for line in lines)


def _failures(table: FailuresTable) -> Table:
    grid = Table(title=f"decisive mistakes of {table.data}", title_justify="left")
    grid.add_column("logs")
    ways = [f"first ten: {way}" for way in Way]
    for heading in ("n", "reached", "by chance", "events behind the end", "causes an event", *ways):
        grid.add_column(heading, justify="right")
    named: Sequence[tuple[str, Logs | None]] = [
        ("all", table.all),
        ("more than ten events", table.longer),
        *table.by_source.items(),
    ]
    for name, logs in named:
        if logs is None:
            continue
        grid.add_row(
            name,
            str(logs.n),
            str(logs.reached),
            f"{logs.reached_chance:.1f}",
            f"{logs.reached_events:.1f}",
            f"{logs.causes_per_event:.2f}",
            *(f"{logs.first[way]:g}" for way in Way),
        )
    return grid
