"""What a language model read in events, kept so that it is asked once: claimed, kept, forgotten.

One node for each event, model and prompt version. A claim keeps other workers from asking the same at the same time;
it ends by itself, so that a worker that dies holds nobody up for long. An extraction knows every event that the model
saw with it: when one of them is forgotten, it goes too.
"""

import base64
import hashlib
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.driver import Bolt, Transaction
from memory.graph.marks import uids_of
from memory.graph.model_statements import ModelStatement
from memory.graph.statements import Statement

#: Extractions that one page of a walk holds.
PAGE = 500


@dataclass(frozen=True, slots=True)
class Claimed:
    """Outcome of a claim, by key: what is kept, what must not be asked and why, what is ours to ask now.

    All other keys are being asked by somebody else.
    """

    kept: Mapping[str, bytes] = field(default_factory=dict)
    unusable: Mapping[str, str] = field(default_factory=dict)
    mine: frozenset[str] = frozenset()


class Extractions:
    """One tenant's extractions. Times are microseconds since 1970 UTC, the caller's. Raises as `Bolt.transact` does."""

    def __init__(self, bolt: Bolt, tenant: str) -> None:
        self._bolt = bolt
        self._tenant = tenant

    async def claim(self, keys: Sequence[str], *, holder: str, now_us: int, until_us: int) -> Claimed:
        """Give what is kept, and claim the rest for `holder` until `until_us` where nobody else has."""
        by_uid = {uid(self._tenant, key): key for key in keys}

        async def work(transaction: Transaction) -> Claimed:
            found = await transaction.collected(ModelStatement.EXTRACTIONS_KEPT, uids=sorted(by_uid))
            kept = {by_uid[at]: _unpacked(reading) for at, reading in found}
            rows = [
                {"uid": at, "tenant": self._tenant, "place": self._place(now_us, key)}
                for at, key in sorted(by_uid.items())
                if key not in kept
            ]
            unusable: dict[str, str] = {}
            mine: set[str] = set()
            if rows:
                claims = await transaction.collected(
                    ModelStatement.EXTRACTIONS_CLAIM, rows=rows, holder=holder, now_us=now_us, until_us=until_us
                )
                for at, reading, held_by, why in claims:
                    if reading:
                        kept[by_uid[at]] = _unpacked(reading)
                    elif why:
                        unusable[by_uid[at]] = why
                    elif held_by == holder:
                        mine.add(by_uid[at])
            return Claimed(kept, unusable, frozenset(mine))

        return await self._bolt.transact(work, what="claim of extractions")

    async def keep(self, readings: Mapping[str, bytes], seen: Sequence[str], *, now_us: int) -> bool:
        """Keep readings by key; `seen`: ids of all events that the model was shown with them.

        Gives False and keeps nothing when one of those events is not stored (any more): it was forgotten meanwhile.
        """
        shown = uids_of(self._tenant, seen)

        async def work(transaction: Transaction) -> bool:
            known = {row[0] for row in await transaction.collected(Statement.EVENTS_KNOWN, uids=shown)}
            if not known.issuperset(shown):
                gone = sorted(uid(self._tenant, key) for key in readings)
                await transaction.run(ModelStatement.EXTRACTIONS_DROP, uids=gone)
                return False
            rows = [
                {
                    "uid": uid(self._tenant, key),
                    "tenant": self._tenant,
                    "place": self._place(now_us, key),
                    "reading": _packed(reading),
                    "seen": sorted({_short(ident) for ident in seen}),
                    "holder": "",
                    "why": "",
                    "until_us": 0,
                }
                for key, reading in sorted(readings.items())
            ]
            await transaction.run(ModelStatement.EXTRACTIONS_KEEP, rows=rows)
            return True

        return await self._bolt.transact(work, what="keeping of extractions")

    async def release(self, keys: Sequence[str], *, holder: str, why: str = "", until_us: int = 0) -> None:
        """Give claims back; with a `why`, nobody asks again before `until_us`."""
        uids = sorted(uid(self._tenant, key) for key in keys)

        async def work(transaction: Transaction) -> None:
            await transaction.run(
                ModelStatement.EXTRACTIONS_RELEASE, uids=uids, holder=holder, why=why, until_us=until_us
            )

        await self._bolt.transact(work, what="release of extractions")

    async def forget(self, ids: Sequence[str] | None = None, *, before_us: int | None = None) -> int:
        """Delete extractions that the model made with one of these events in sight; without ids all of them.

        `before_us`: only those kept before. Walks over all of the tenant's extractions. Gives how many were deleted.
        """
        wanted = None if ids is None else {_short(ident) for ident in ids}
        gone = 0
        async for page in self._pages(before_us):
            drop = [at for at, seen in page if wanted is None or not wanted.isdisjoint(seen)]
            for part in chunks(sorted(drop)):

                async def work(transaction: Transaction, part: Sequence[str] = part) -> None:
                    await transaction.run(ModelStatement.EXTRACTIONS_DROP, uids=part)

                await self._bolt.transact(work, what="forgetting of extractions")
            gone += len(drop)
        return gone

    async def _pages(self, before_us: int | None) -> AsyncIterator[list[tuple[str, list[str]]]]:
        low = uid(self._tenant, "")
        high = uid(self._tenant, "~") if before_us is None else self._place(before_us, "")
        while True:

            async def work(transaction: Transaction, low: str = low) -> tuple[str | None, list[tuple[str, list[str]]]]:
                top = await transaction.value(ModelStatement.EXTRACTIONS_PAGE_END, low=low, high=high, limit=PAGE)
                if top is None:
                    return None, []
                page = await transaction.collected(ModelStatement.EXTRACTIONS_PAGE, low=low, top=top)
                return str(top), [(at, seen) for at, seen in page]

            top, page = await self._bolt.transact(work, what="walk over extractions")
            if top is None:
                return
            yield page
            low = top

    def _place(self, at_us: int, key: str) -> str:
        return f"{uid(self._tenant, f'{at_us:020d}')}|{key}"


def _short(ident: str) -> str:
    """Give 16 digits for an id: enough to find what saw it; an extraction too many that goes is only asked again."""
    return hashlib.sha256(ident.encode()).hexdigest()[:16]


def _packed(reading: bytes) -> str:
    return base64.b85encode(zlib.compress(reading, 6)).decode()


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b85decode(text))
