"""`magma ask`: a question to the memory, from the shell."""

from datetime import datetime
from typing import Annotated

import typer
from pydantic import ValidationError

from cli.loop import run
from cli.opened import open_stores, the_tenant
from cli.options import DataDir, JsonFlag, TenantOption, settings_for
from cli.output import emit
from cli.render import render_answer
from memory.errors import NotFound
from memory.settings import Settings
from query_api.engine import Retriever
from query_api.models import QueryRequest, QueryResult
from query_api.routing import open_router
from query_api.tuned import chosen_policy, chosen_trees


def ask(
    question: Annotated[str, typer.Argument(help="The question, in plain words.")],
    tenant: TenantOption = None,
    session: Annotated[str | None, typer.Option("--session", help="Only events of this session.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Only events of this agent.")] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", help="Reference time, ISO 8601 with offset.")] = None,
    budget: Annotated[int | None, typer.Option("--budget", min=50, help="Context budget in tokens.")] = None,
    top_k: Annotated[int | None, typer.Option("--top-k", min=1, max=200, help="Most events to return.")] = None,
    answer: Annotated[bool, typer.Option("--answer", help="Let the configured model answer from the context.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Draw the path to each event.")] = False,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Ask the memory a question.

    Example: magma ask "why did the deploy fail" --tenant acme --explain
    """
    settings = settings_for(data_dir)
    try:
        request = QueryRequest(
            question=question,
            session=session,
            agent=agent,
            as_of=_moment(as_of),
            budget_tokens=budget or settings.context_budget_tokens,
            top_k=top_k,
            explain=explain,
        )
    except ValidationError as error:
        problems = "; ".join(f"{item['loc'][0]}: {item['msg']}" for item in error.errors())
        raise typer.BadParameter(problems) from error
    result = run(ask_memory(settings, tenant, request, answer=answer))
    emit(json_mode, result, lambda: render_answer(result, explain=explain))


async def ask_memory(settings: Settings, tenant: str | None, request: QueryRequest, *, answer: bool) -> QueryResult:
    """Open the stores, ask, close them."""
    async with open_stores(settings) as stores, open_router(settings) as router:
        retriever = Retriever(
            stores.graph,
            stores.vectors,
            stores.encoder,
            chosen_policy(settings),
            router=router,
            trees=chosen_trees(settings, stores.encoder.name),
        )
        bound = await the_tenant(stores.graph, tenant)
        if answer:
            from query_api.answer import Answerer  # only this command needs a model's client

            async with Answerer.open(settings) as answerer:
                return await answerer.answer(retriever, bound, request)
        result = await retriever.query(bound, request)
        if not result.events and bound not in await stores.graph.tenants():
            raise NotFound(
                f"there are no events of tenant {bound!r}", hint="`magma ingest FILE --tenant …` brings some"
            )
        return result


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not an ISO 8601 time") from error
    if moment.tzinfo is None:
        example = moment.isoformat() + "+00:00"
        raise typer.BadParameter(f"{text!r} has no UTC offset; write for example {example}")
    return moment
