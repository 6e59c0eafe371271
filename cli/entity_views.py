"""What commands about entities share: options, views, tables, and how they reach the graph."""

import getpass
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from pydantic import BaseModel
from rich.table import Table

from cli.loop import run
from cli.opened import the_tenant
from cli.options import settings_for
from cli.output import as_it_is, emit
from memory.events import from_us
from memory.graph import EntityEditor, EntityNode, Graph, NameChange, Why
from memory.relations import Origin
from memory.settings import Settings

T = TypeVar("T")

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
    prompt_version: str

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
            prompt_version=change.prompt_version,
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


async def with_graph(settings: Settings, tenant: str | None, work: Callable[[Graph, str], Awaitable[T]]) -> T:
    """Run work over the graph, for the tenant that is meant."""
    async with Graph.open(settings) as graph:
        await graph.ensure_schema()
        return await work(graph, await the_tenant(graph, tenant))


def change_names(
    data_dir: Path | None,
    tenant: str | None,
    json_mode: bool,
    ask: Callable[[EntityEditor], Awaitable[list[NameChange]]],
) -> None:
    """Ask the editor of names for a change, and show what it changed."""

    async def work(graph: Graph, name: str) -> ChangesView:
        changes = await ask(graph.editor(name))
        return ChangesView(tenant=name, changes=[ChangeView.of(change) for change in changes])

    view = run(with_graph(settings_for(data_dir), tenant, work))
    emit(json_mode, view, lambda: changes_table(view.changes))


def operator(reason: str) -> Why:
    """Say that whoever runs this command decides, now."""
    try:
        author = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        author = "operator"
    return Why(Origin.OPERATOR, time.time_ns() // 1_000, author, reason, 1.0)


def entities_table(found: list[EntityView]) -> Table:
    """Lay entities out."""
    table = Table()
    for column in ("key", "name", "type", "events", "first", "last", "also spelled"):
        table.add_column(column)
    for one in found:
        others = ", ".join(alias for alias in one.aliases if alias != one.name)
        shown = (one.key, one.name, one.type, str(one.events), one.first[:16], one.last[:16], others)
        table.add_row(*(as_it_is(text) for text in shown))
    return table


def changes_table(changes: list[ChangeView]) -> Table:
    """Lay changes of names out."""
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
