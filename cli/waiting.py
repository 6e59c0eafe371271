"""Waits until events are durable, or consolidated: judged by what the stores hold, never by offsets."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from memory.errors import StoreUnavailable
from memory.graph import Graph, Mark
from memory.vectors import Vectors

#: How many ids are asked for in one query.
PAGE = 500
#: Pause between two looks; after a long look as many times its length, so that looking does not slow what it waits for.
POLL_S = 0.25
POLL_TIMES = 4
MAX_POLL_S = 5.0
#: How long nothing may move before the wait is given up.
STALLED_AFTER_S = 120.0


async def wait_until_stored(
    graph: Graph,
    vectors: Vectors,
    ids_by_tenant: Mapping[str, Sequence[str]],
    stages: Sequence[Mark] = (),
    *,
    stalled_after_s: float = STALLED_AFTER_S,
    progress: Callable[[int], None] = lambda _: None,
    alive: Callable[[], None] = lambda: None,
) -> int:
    """Wait until each id is in both stores and marked by each of `stages`; give how many there are.

    `progress` is told how many are done; `alive` is called at each poll and raises when the workers are gone.
    Raises `StoreUnavailable` when nothing has moved for `stalled_after_s` seconds.
    """
    total = sum(len(ids) for ids in ids_by_tenant.values())
    missing = {tenant: list(ids) for tenant, ids in ids_by_tenant.items()}
    last, moved_at = -1, time.monotonic()
    while True:
        looked_at = time.monotonic()
        for tenant, ids in missing.items():
            missing[tenant] = await _missing(graph, vectors, tenant, ids, stages)
        left = sum(len(ids) for ids in missing.values())
        progress(total - left)
        if left == 0:
            return total
        if left != last:
            last, moved_at = left, time.monotonic()
        elif time.monotonic() - moved_at > stalled_after_s:
            what = "consolidated" if stages else "durable"
            raise StoreUnavailable(
                f"{left} of {total} events are not {what} after {stalled_after_s:.0f} s without progress",
                hint="are the workers running? (`magma worker intake ingest semantic entities causal episodes`)",
            )
        alive()
        await asyncio.sleep(min(MAX_POLL_S, max(POLL_S, POLL_TIMES * (time.monotonic() - looked_at))))


async def _missing(
    graph: Graph, vectors: Vectors, tenant: str, ids: Sequence[str], stages: Sequence[Mark]
) -> list[str]:
    """Give those of `ids` that are not there yet. Stops at the first full page of missing ones: enough to wait for."""
    reader, found = graph.reader(tenant), vectors.reader(tenant)
    late: list[str] = []
    for start in range(0, len(ids), PAGE):
        page = ids[start : start + PAGE]
        unfinished = await reader.unfinished(page, stages)
        present = await found.present([ident for ident in page if ident not in unfinished])
        late += [ident for ident in page if ident in unfinished or ident not in present]
        if len(late) >= PAGE:
            return late + list(ids[start + PAGE :])
    return late
