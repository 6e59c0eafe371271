"""`magma entities`: who and what a memory knows, and decisions about which names are one."""

import getpass
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import orjson
import typer
from pydantic import BaseModel
from rich.table import Table

from cli.loop import run
from cli.opened import the_tenant
from cli.options import DataDir, JsonFlag, TenantOption, settings_for
from cli.output import as_it_is, emit, note
from memory.errors import NotFound
from memory.events import from_us
from memory.graph import Decision, EntityEditor, EntityNode, Graph, NameChange, Why
from memory.names import name_form
from memory.relations import Origin
from memory.settings import Settings

T = TypeVar("T")

entities = typer.Typer(
    help="Entities and their names: list, show, merge, split, history, export, import.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

ReasonOption = Annotated[str, typer.Option("--reason", help="Why; kept in the history.")]
NameArgument = Annotated[str, typer.Argument(help="A name, in any of its spellings.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, max=1_000, help="Most lines to show.")]


class EntityView(BaseModel):
    """An entity. `events`: its mentions and what it said; times are the event times of the first and the last."""

    key: str
    name: str
    type: str
    aliases: list[str]
    events: int
    first: str
    last: str

    @classmethod
    def of(cls, node: EntityNode) -> "EntityView":
        """Show an entity."""
        return cls(
            key=node.key,
            name=node.name,
            type=node.type,
            aliases=list(node.aliases),
            events=node.events,
            first=from_us(node.first_us).isoformat(),
            last=from_us(node.last_us).isoformat(),
        )


class ChangeView(BaseModel):
    """A spelling that stands for another entity than before; `proposed`: only a proposal, nothing has moved."""

    spelling: str
    before: str
    after: str
    rule: str
    origin: Origin
    author: str
    confidence: float
    moved: int
    reason: str
    at: str
    proposed: bool

    @classmethod
    def of(cls, change: NameChange) -> "ChangeView":
        """Show a change."""
        return cls(
            spelling=change.form,
            before=change.before,
            after=change.after,
            rule=change.rule,
            origin=change.origin,
            author=change.author,
            confidence=change.confidence,
            moved=change.moved,
            reason=change.reason,
            at=from_us(change.at_us).isoformat() if change.at_us else "",
            proposed=change.proposed,
        )


class EntitiesView(BaseModel):
    """What `magma entities list --json` prints; `next`: the key to go on after, empty at the end."""

    tenant: str
    entities: list[EntityView]
    next: str


class ChangesView(BaseModel):
    """What `merge`, `split` and `history` print with --json."""

    tenant: str
    changes: list[ChangeView]


class ShownView(BaseModel):
    """What `magma entities show --json` prints."""

    tenant: str
    entity: EntityView
    history: list[ChangeView]


class ImportView(BaseModel):
    """What `magma entities import --json` prints; `unknown`: decisions about names that the memory does not know."""

    tenant: str
    decided: int
    held: int
    unknown: list[str]


@entities.command("list")
def list_entities(
    tenant: TenantOption = None,
    after: Annotated[str, typer.Option("--after", help="Go on behind this key.")] = "",
    limit: LimitOption = 50,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """List entities in the order of their keys.

    Example: magma entities list --tenant acme
    """

    async def work(graph: Graph, name: str) -> EntitiesView:
        page = await graph.reader(name).entity_names(limit=limit, after=after)
        last = page[-1].key if len(page) == limit else ""
        return EntitiesView(tenant=name, entities=[EntityView.of(node) for node in page], next=last)

    view = run(_with_graph(settings_for(data_dir), tenant, work))
    emit(json_mode, view, lambda: _entities_table(view.entities))


@entities.command("show")
def show_entity(
    name: NameArgument, tenant: TenantOption = None, json_mode: JsonFlag = False, data_dir: DataDir = None
) -> None:
    """Show the entity that a name stands for, its spellings, and what has changed about them.

    Example: magma entities show "Payments Service"
    """

    async def work(graph: Graph, tenant_name: str) -> ShownView:
        reader, form = graph.reader(tenant_name), name_form(name)
        key = (await reader.resolve_names([form])).get(form, form)
        found = (await reader.entities([key])).get(key)
        if found is None:
            raise NotFound(f"no entity of tenant {tenant_name} is spelled {name!r}", hint="see `magma entities list`")
        history = await graph.editor(tenant_name).history(key, limit=20)
        return ShownView(
            tenant=tenant_name, entity=EntityView.of(found), history=[ChangeView.of(change) for change in history]
        )

    view = run(_with_graph(settings_for(data_dir), tenant, work))
    emit(json_mode, view, lambda: _entities_table([view.entity]))
    if view.history and not json_mode:
        emit(json_mode, view, lambda: _changes_table(view.history))


@entities.command("merge")
def merge_entities(
    name: NameArgument,
    into: Annotated[str, typer.Argument(help="The name of the entity that it is.")],
    reason: ReasonOption = "",
    tenant: TenantOption = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Make two entities one: everything called NAME is INTO, in what is stored and in what comes.

    `magma entities split NAME` takes it back.

    Example: magma entities merge "the ledger" ledger-primary --reason "one database"
    """
    _change(data_dir, tenant, json_mode, lambda editor: editor.merge(name, into, _operator(reason)))


@entities.command("split")
def split_entity(
    name: NameArgument,
    reason: ReasonOption = "",
    tenant: TenantOption = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Take a spelling out of its entity, and keep it out: of a merge, or of what the rules joined.

    Example: magma entities split Mel --reason "two people are called so"
    """
    _change(data_dir, tenant, json_mode, lambda editor: editor.split(name, _operator(reason)))


@entities.command("history")
def show_history(
    name: Annotated[str, typer.Argument(help="A spelling or a key; all of them when left out.")] = "",
    tenant: TenantOption = None,
    limit: LimitOption = 50,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Show what changed about names, the newest first: by whom, when, why, and how many mentions moved.

    Example: magma entities history Mel
    """
    _change(data_dir, tenant, json_mode, lambda editor: editor.history(name, limit=limit))


@entities.command("export")
def export_decisions(tenant: TenantOption = None, data_dir: DataDir = None) -> None:
    """Write every decision about names to stdout, a line of JSON each: what `import` takes.

    Example: magma entities export --tenant acme > names.jsonl
    """

    async def work(graph: Graph, name: str) -> list[Decision]:
        return await graph.editor(name).decisions()

    for decision in run(_with_graph(settings_for(data_dir), tenant, work)):
        typer.echo(orjson.dumps({"spelling": decision.form, "entity": decision.into}).decode())


@entities.command("import")
def import_decisions(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `export` wrote.")],
    reason: ReasonOption = "imported",
    tenant: TenantOption = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Make exported decisions again, over a memory that was built anew; those that hold already change nothing.

    Example: magma entities import names.jsonl --tenant acme
    """
    rows = [orjson.loads(line) for line in file.read_bytes().splitlines() if line.strip()]
    decisions = [Decision(str(row["spelling"]), str(row["entity"])) for row in rows]

    async def work(graph: Graph, name: str) -> ImportView:
        decided, unknown = 0, []
        editor = graph.editor(name)
        held = set(await editor.decisions())
        for decision in decisions:
            if decision in held:
                continue
            try:
                await editor.decide(decision, _operator(reason))
                decided += 1
            except NotFound:
                unknown.append(decision.form)
        return ImportView(tenant=name, decided=decided, held=len(held & set(decisions)), unknown=unknown)

    view = run(_with_graph(settings_for(data_dir), tenant, work))
    if view.unknown:
        note(f"{len(view.unknown)} names are not known (yet): {', '.join(view.unknown[:10])}")
    emit(json_mode, view)


async def _with_graph(settings: Settings, tenant: str | None, work: Callable[[Graph, str], Awaitable[T]]) -> T:
    async with Graph.open(settings) as graph:
        await graph.ensure_schema()
        return await work(graph, await the_tenant(graph, tenant))


def _change(
    data_dir: Path | None,
    tenant: str | None,
    json_mode: bool,
    ask: Callable[[EntityEditor], Awaitable[list[NameChange]]],
) -> None:
    async def work(graph: Graph, name: str) -> ChangesView:
        changes = await ask(graph.editor(name))
        return ChangesView(tenant=name, changes=[ChangeView.of(change) for change in changes])

    view = run(_with_graph(settings_for(data_dir), tenant, work))
    emit(json_mode, view, lambda: _changes_table(view.changes))


def _operator(reason: str) -> Why:
    try:
        author = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        author = "operator"
    return Why(Origin.OPERATOR, time.time_ns() // 1_000, author, reason, 1.0)


def _entities_table(found: list[EntityView]) -> Table:
    table = Table()
    for column in ("key", "name", "type", "events", "first", "last", "also spelled"):
        table.add_column(column)
    for one in found:
        others = ", ".join(alias for alias in one.aliases if alias != one.name)
        shown = (one.key, one.name, one.type, str(one.events), one.first[:16], one.last[:16], others)
        table.add_row(*(as_it_is(text) for text in shown))
    return table


def _changes_table(changes: list[ChangeView]) -> Table:
    table = Table()
    for column in ("at", "spelling", "from", "to", "by", "rule", "confidence", "moved", "reason"):
        table.add_column(column)
    for one in changes:
        by = f"{one.origin}{f' {one.author}' if one.author else ''}{' (proposed)' if one.proposed else ''}"
        shown = (
            one.at[:19],
            one.spelling,
            one.before,
            one.after,
            by,
            one.rule,
            f"{one.confidence:g}",
            str(one.moved),
            one.reason,
        )
        table.add_row(*(as_it_is(text) for text in shown))
    return table
