"""`magma erase`: forgets, and prints the receipt."""

import asyncio
import sys
import uuid
from typing import Annotated

import typer
from pydantic import BaseModel, ValidationError

from cli.loop import run
from cli.options import DataDir, JsonFlag, settings_for
from cli.output import emit, note
from cli.workers import running_stages
from memory.erasure import Receipt, Scope
from memory.errors import StoreUnavailable
from memory.events import derive_id
from memory.graph import Graph
from memory.settings import Settings
from streams.erasures import ask, open_erase
from streams.publisher import Publisher
from streams.topics import Stage

#: How long a worker is waited for that runs the stage, and how often it is asked, in seconds.
PATIENCE_S, ASKED_EVERY_S = 600.0, 0.25


class ReceiptView(BaseModel):
    """What `magma erase --json` prints."""

    receipt: Receipt


def erase(
    tenant: Annotated[str, typer.Option("--tenant", help="Whose memory. Alone: all of it.")],
    session: Annotated[str | None, typer.Option("--session", help="Only this session.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Only the events of this agent.")] = None,
    event: Annotated[
        str | None, typer.Option("--event", help="Only this event: its stored id, or the one its producer gave it.")
    ] = None,
    source: Annotated[str | None, typer.Option("--source", help="The source of --event, when it has one.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Forget a tenant, a session, an agent or an event, everywhere; prints the receipt.

    Example: magma erase --tenant acme --session s-17 --yes
    """
    if sum(part is not None for part in (session, agent, event)) > 1:
        raise typer.BadParameter("name one of --session, --agent and --event, or none for the whole tenant")
    try:
        scope = Scope(tenant=tenant, session=session, agent=agent, event=_stored_id(tenant, source, event))
    except ValidationError as error:
        wrong = ", ".join(str(item["loc"][0]) for item in error.errors())
        raise typer.BadParameter(f"not a name: {wrong} (1 to 256 characters, no control character, no |)") from error
    settings = settings_for(data_dir)
    if not yes:
        if not sys.stdin.isatty():
            raise typer.BadParameter("nobody can be asked here: say --yes")
        typer.confirm(f"Forget {scope.kind.value} {session or agent or event or tenant} of {tenant}?", abort=True)
    receipt = run(_erase(settings, scope))
    emit(json_mode, ReceiptView(receipt=receipt), _told(receipt))
    if not receipt.verified:
        note("something of it came back while it was erased; run the command again")
        raise typer.Exit(1)


def _stored_id(tenant: str, source: str | None, event: str | None) -> uuid.UUID | None:
    if event is None:
        return None
    try:
        return uuid.UUID(event)
    except ValueError:
        return uuid.UUID(derive_id(tenant, source, event))


async def _erase(settings: Settings, scope: Scope) -> Receipt:
    erasure = await ask(settings, scope)
    if Stage.ERASE in running_stages(settings):
        async with Graph.open(settings) as graph:
            return await _waited_for(graph, scope.tenant, str(erasure.id))
    # No worker that we know of: this process does the work. One that we do not know of does no harm.
    async with open_erase(settings) as handler, Publisher.open(settings) as publisher:
        receipt, again = await handler.erase(erasure)
        await publisher.publish(Stage.ERASE.output.name_in(settings), again)
        return receipt


async def _waited_for(graph: Graph, tenant: str, erasure_id: str) -> Receipt:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                told = await graph.eraser(tenant).receipt(erasure_id)
                if told:
                    return Receipt.model_validate_json(told)
                await asyncio.sleep(ASKED_EVERY_S)
    except TimeoutError as error:
        raise StoreUnavailable(
            f"erasure {erasure_id} has no receipt after {PATIENCE_S:.0f} s", hint="is the worker of stage erase well?"
        ) from error


def _told(receipt: Receipt) -> str:
    counts = ", ".join(
        f"{getattr(receipt, name)} {name.replace('_', ' ')}"
        for name in ("events", "edges", "entities", "episodes", "vectors", "log_records", "letters")
    )
    more = (
        f"\n{receipt.letters_unreadable} dead letters name no tenant: `magma dlq list`"
        if receipt.letters_unreadable
        else ""
    )
    return f"forgotten: {counts}\nreceipt {receipt.id}, {'verified' if receipt.verified else 'NOT verified'}{more}"
