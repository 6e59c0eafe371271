"""`magma entities propose, proposals, accept, reject`: merges that a model proposes and an operator decides."""

from typing import Annotated

import typer
from pydantic import BaseModel

from cli.entity_views import (
    ChangesView,
    ChangeView,
    LimitOption,
    NameArgument,
    ReasonOption,
    change_names,
    changes_table,
    operator,
    with_graph,
)
from cli.loop import run
from cli.options import DataDir, JsonFlag, TenantOption, settings_for
from cli.output import emit, note
from memory.embedding import make_encoder
from memory.graph import Graph
from memory.llm import open_merge_judge, propose_merges

proposals = typer.Typer(rich_markup_mode=None)

IntoArgument = Annotated[str, typer.Argument(help="The name of the entity that it is said to be.")]


class ProposedView(BaseModel):
    """What `magma entities propose --json` prints: entities looked at, pairs judged, and what is proposed."""

    tenant: str
    entities: int
    judged: int
    proposals: list[ChangeView]


@proposals.command("propose")
def propose(
    pairs: Annotated[
        int, typer.Option("--pairs", min=1, max=1_000, help="Most pairs that the model judges: eight a call.")
    ] = 40,
    tenant: TenantOption = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Let the configured model judge entities that look alike, and keep what it takes for one as proposals.

    Nothing is merged: `magma entities accept` or `reject` decides. A pair is judged once.

    Example: magma entities propose --tenant acme --pairs 16
    """
    settings = settings_for(data_dir)

    async def work(graph: Graph, name: str) -> ProposedView:
        encoder = make_encoder(settings)
        try:
            async with open_merge_judge(settings, graph) as judge:
                done = await propose_merges(graph, encoder, judge, name, most=pairs)
        finally:
            await encoder.close()
        return ProposedView(
            tenant=name,
            entities=done.entities,
            judged=done.judged,
            proposals=[ChangeView.of(change) for change in done.proposals],
        )

    view = run(with_graph(settings, tenant, work))
    note(f"{view.entities} entities, {view.judged} pairs judged, {len(view.proposals)} proposals")
    emit(json_mode, view, lambda: changes_table(view.proposals))


@proposals.command("proposals")
def list_proposals(
    tenant: TenantOption = None, limit: LimitOption = 50, json_mode: JsonFlag = False, data_dir: DataDir = None
) -> None:
    """List the proposals that wait for a decision, the surest first.

    Example: magma entities proposals --tenant acme
    """

    async def work(graph: Graph, name: str) -> ChangesView:
        waiting = [one for one in await graph.editor(name).judged() if one.proposed]
        return ChangesView(tenant=name, changes=[ChangeView.of(change) for change in waiting[:limit]])

    view = run(with_graph(settings_for(data_dir), tenant, work))
    emit(json_mode, view, lambda: changes_table(view.changes))


@proposals.command("accept")
def accept(
    name: NameArgument,
    into: IntoArgument,
    reason: ReasonOption = "",
    tenant: TenantOption = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Carry a proposal out: NAME is INTO from now on, as after `merge`; `split` takes it back.

    Example: magma entities accept "the bookkeeper" ledger-primary
    """
    change_names(data_dir, tenant, json_mode, lambda editor: editor.accept(name, into, operator(reason)))


@proposals.command("reject")
def reject(
    name: NameArgument,
    into: IntoArgument,
    reason: ReasonOption = "",
    tenant: TenantOption = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Close a proposal without a merge; it is not made again.

    Example: magma entities reject R-11 R-12 --reason "two racks"
    """
    change_names(data_dir, tenant, json_mode, lambda editor: editor.reject(name, into, operator(reason)))
