"""`magma entities`: who and what a memory knows, and decisions about which names are one."""

from pathlib import Path
from typing import Annotated

import orjson
import typer

from cli.entity_views import (
    ChangeView,
    EntitiesView,
    EntityView,
    ImportView,
    LimitOption,
    NameArgument,
    ReasonOption,
    ShownView,
    change_names,
    changes_table,
    entities_table,
    operator,
    with_graph,
)
from cli.loop import run
from cli.options import DataDir, JsonFlag, TenantOption, settings_for
from cli.output import emit, note
from cli.proposals import proposals
from memory.errors import NotFound
from memory.graph import Decision, Graph
from memory.names import name_form

entities = typer.Typer(
    help="Entities and their names: list, show, merge, split, propose, history, export, import.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
entities.add_typer(proposals)


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

    view = run(with_graph(settings_for(data_dir), tenant, work))
    emit(json_mode, view, lambda: entities_table(view.entities))


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

    view = run(with_graph(settings_for(data_dir), tenant, work))
    emit(json_mode, view, lambda: entities_table([view.entity]))
    if view.history and not json_mode:
        emit(json_mode, view, lambda: changes_table(view.history))


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
    change_names(data_dir, tenant, json_mode, lambda editor: editor.merge(name, into, operator(reason)))


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
    change_names(data_dir, tenant, json_mode, lambda editor: editor.split(name, operator(reason)))


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
    change_names(data_dir, tenant, json_mode, lambda editor: editor.history(name, limit=limit))


@entities.command("export")
def export_decisions(tenant: TenantOption = None, data_dir: DataDir = None) -> None:
    """Write every decision about names to stdout, a line of JSON each: what `import` takes.

    Example: magma entities export --tenant acme > names.jsonl
    """

    async def work(graph: Graph, name: str) -> list[Decision]:
        return await graph.editor(name).decisions()

    for decision in run(with_graph(settings_for(data_dir), tenant, work)):
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
                await editor.decide(decision, operator(reason))
                decided += 1
            except NotFound:
                unknown.append(decision.form)
        return ImportView(tenant=name, decided=decided, held=len(held & set(decisions)), unknown=unknown)

    view = run(with_graph(settings_for(data_dir), tenant, work))
    if view.unknown:
        note(f"{len(view.unknown)} names are not known (yet): {', '.join(view.unknown[:10])}")
    emit(json_mode, view)
