"""Forgetting over HTTP: an order is written to the log and answered with its receipt's id; a worker carries it out.

The query path knows no Kafka: who builds the app gives what writes orders. Without it these routes do not exist.
"""

import uuid
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict

from memory.erasure import Erasure, Receipt, Scope
from memory.errors import NotFound
from memory.events import Name
from query_api.access import ErasingTenant
from query_api.backends import Opened

#: Writes an order to the log and returns once it is acknowledged; raises `StoreUnavailable`.
Order = Callable[[Scope], Awaitable[Erasure]]

Named = Annotated[Name, Path()]


class Ordered(BaseModel):
    """An order that is in the log. `receipt`: where its receipt will be, at `/v1/receipts/{receipt}`."""

    model_config = ConfigDict(frozen=True)

    receipt: uuid.UUID


class ReceiptView(BaseModel):
    """The receipt of an order; null while it is carried out."""

    model_config = ConfigDict(frozen=True)

    receipt: Receipt | None


def forgetting(opened: Callable[[], Opened], order: Order) -> APIRouter:
    """Give the routes that erase. A process that answers questions forgets at once what it remembers of the tenant."""
    router = APIRouter(prefix="/v1", tags=["forgetting"])

    async def ordered(scope: Scope) -> Ordered:
        erasure = await order(scope)
        opened().retriever.forget(scope.tenant)
        return Ordered(receipt=erasure.id)

    @router.delete("/events/{id}", status_code=202)
    async def event(tenant: ErasingTenant, id: Annotated[uuid.UUID, Path()]) -> Ordered:  # noqa: A002  the address's name
        """Forget one event, by its stored id."""
        return await ordered(Scope(tenant=tenant, event=id))

    @router.delete("/sessions/{id}", status_code=202)
    async def session(tenant: ErasingTenant, id: Named) -> Ordered:  # noqa: A002  the address's name
        """Forget a session."""
        return await ordered(Scope(tenant=tenant, session=id))

    @router.delete("/agents/{id}", status_code=202)
    async def agent(tenant: ErasingTenant, id: Named) -> Ordered:  # noqa: A002  the address's name
        """Forget all events of an agent."""
        return await ordered(Scope(tenant=tenant, agent=id))

    @router.delete("/tenant", status_code=202)
    async def everything(tenant: ErasingTenant) -> Ordered:
        """Forget the caller's whole tenant."""
        return await ordered(Scope(tenant=tenant))

    @router.get("/receipts/{id}")
    async def receipt(tenant: ErasingTenant, id: Annotated[uuid.UUID, Path()]) -> ReceiptView:  # noqa: A002
        """Give the receipt of an order of this tenant; null until a worker has carried it out."""
        stores = opened()
        told = await stores.graph.eraser(tenant).receipt(str(id))
        if told is None:
            raise NotFound(f"no order {id} has been begun for this tenant")
        stores.retriever.forget(tenant)  # read again meanwhile, it may be: by now nothing of it can be
        return ReceiptView(receipt=Receipt.model_validate_json(told) if told else None)

    return router
