"""A query process forgets what others were told to erase: all that it remembers of a tenant for which an order comes.

It forgets when it reads the order, and again when the order's receipt is there: what it read of the stores in between
may have been on its way out. The query path knows no Kafka: who builds the app gives the feed of orders.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from memory.erasure import Erasure
from memory.errors import MagmaError
from query_api.backends import Opened

#: Gives every order from the earliest on and goes on as they come, with empty turns in between.
Feed = Callable[[], AsyncGenerator[tuple[Erasure, ...], None]]

#: Orders whose receipts are waited for; the oldest gives way. Receipts that are looked for in one turn.
MAX_PENDING = 1_000
_LOOKS_A_TURN = 20
#: An order that is older when it is read was carried out before this process remembered anything, in seconds.
_OLD_S = 86_400
#: Wait before the feed is opened again, from and to, in seconds.
_WAIT_S = (1.0, 30.0)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Forgetful:
    """Orders that were read and have no receipt yet, oldest first: id and tenant."""

    opened: Callable[[], Opened]
    pending: dict[UUID, str] = field(default_factory=dict)

    async def turn(self, orders: tuple[Erasure, ...]) -> None:
        """Take orders in, and look for receipts; raises what keeps the stores from answering."""
        stores = self.opened()
        for order in orders:
            stores.retriever.forget(order.scope.tenant)
            if order.at_us > (time.time() - _OLD_S) * 1_000_000:
                self.pending[order.id] = order.scope.tenant
        while len(self.pending) > MAX_PENDING:
            self.pending.pop(next(iter(self.pending)))
        for ident in list(self.pending)[:_LOOKS_A_TURN]:
            tenant = self.pending.pop(ident)
            if await stores.graph.eraser(tenant).receipt(str(ident)):
                stores.retriever.forget(tenant)
            else:
                self.pending[ident] = tenant  # behind the others: no order holds up another


@asynccontextmanager
async def forgetful(opened: Callable[[], Opened], feed: Feed | None) -> AsyncIterator[None]:
    """Follow the orders while the body runs; without a feed nothing is followed."""
    if feed is None:
        yield
        return
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_follow(opened, feed))
        try:
            yield
        finally:
            task.cancel()


async def _follow(opened: Callable[[], Opened], feed: Feed) -> None:
    wait_s = _WAIT_S[0]
    while True:
        known = Forgetful(opened)
        try:
            async with aclosing(feed()) as turns:
                async for orders in turns:
                    await known.turn(orders)
                    wait_s = _WAIT_S[0]
        except MagmaError as error:
            # no order is missed: the feed begins with the earliest one again
            _log.warning("orders of erasure are not followed: %s; again in %g s", error, wait_s)
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, _WAIT_S[1])
