"""Reading spellings in order to decide about some: those that the decision depends on, found by their blocks.

A block lists the forms that share a word, a beginning or the letters. Most of them fit nothing of what is asked about;
their nodes are not read.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.driver import Bolt, Transaction
from memory.graph.entity_statements import EntityStatement
from memory.graph.naming import Name, name_of
from memory.identity import Known, Pool, Spellings, Towards, Wanted, blocks_of, pinned_to, surroundings
from memory.identity.surroundings import Walk

T = TypeVar("T")

#: Spellings beyond which working on them leaves the event loop.
MANY = 150


@dataclass(slots=True)
class Touched:
    """What was read. `stored`: names as they are stored; `blocks`: their forms by name; `changing`: what is decided
    again."""

    stored: dict[str, Name]
    blocks: dict[str, list[str]] = field(default_factory=dict)
    changing: set[str] = field(default_factory=set)


async def read_names(
    transaction: Transaction, tenant: str, forms: Sequence[str], *, hold: bool = False
) -> dict[str, Name]:
    """Give the stored names among `forms`; with `hold` no other writer changes them until the commit."""
    statement = EntityStatement.NAMES_HOLD if hold else EntityStatement.NAMES_READ
    found: dict[str, Name] = {}
    for part in chunks([uid(tenant, form) for form in sorted(set(forms))]):
        for row in await transaction.collected(statement, uids=part):
            name = name_of(row)
            found[name.form] = name
    return found


async def glance_at_names(bolt: Bolt, tenant: str, forms: Sequence[str]) -> dict[str, Name]:
    """Give the stored names among `forms` as they are at this moment, in one round trip for a thousand of them."""
    found: dict[str, Name] = {}
    for part in chunks([uid(tenant, form) for form in forms]):
        [[rows]] = await bolt.ask(EntityStatement.NAMES_READ, uids=part)
        found |= {name.form: name for name in map(name_of, rows)}
    return found


async def read_touched(
    transaction: Transaction, tenant: str, news: Mapping[str, Name], *, gone: frozenset[str]
) -> Touched:
    """Read what deciding about the new names, and about what they change, depends on; the tenant is held."""
    pool = Pool(name.known for name in news.values())
    touched = Touched(await read_names(transaction, tenant, sorted(news)))
    spoke = {form for form, name in touched.stored.items() if name.known.anchored}
    walk = surroundings(pool, news, gone=gone, spoke=spoke)
    spellings = Spellings()
    while isinstance(wanted := await _off_loop(len(pool), _advance, walk), Wanted):
        fresh = await _load_blocks(transaction, tenant, touched, [pool[form] for form in sorted(wanted.forms)])
        size = len(fresh) + len(wanted.forms)
        near = await _off_loop(size, _fitting, spellings, fresh, wanted, touched.blocks, pool)
        for form, name in (await read_names(transaction, tenant, sorted(near - pool.keys()))).items():
            touched.stored[form] = name
            pool.add(name.known)
    touched.changing = wanted
    return touched


def _advance(walk: Walk) -> Wanted | set[str]:
    try:
        return next(walk)
    except StopIteration as end:
        changing: set[str] = end.value
        return changing


async def _load_blocks(transaction: Transaction, tenant: str, touched: Touched, names: Iterable[Known]) -> list[str]:
    """Read the blocks of names that have not been read yet; gives the forms in them."""
    wanted = {block for known in names for block in _blocks_of(known)} - touched.blocks.keys()
    touched.blocks |= {block: [] for block in wanted}
    for part in chunks([uid(tenant, block) for block in sorted(wanted)]):
        for block, forms in await transaction.collected(EntityStatement.BLOCKS_READ, uids=part):
            touched.blocks[block.partition("|")[2]] = list(forms)
    return [form for block in sorted(wanted) for form in touched.blocks[block]]


def _fitting(
    spellings: Spellings, fresh: Sequence[str], wanted: Wanted, blocks: Mapping[str, Sequence[str]], pool: Pool
) -> set[str]:
    """Give the forms that touch those wanted in the wanted direction, among all in the blocks that were read."""
    for form in fresh:
        spellings.add(form)
    if wanted.towards is Towards.SHORTER:
        bound = {other for form in wanted.forms for other in blocks.get(pinned_to(form), ())}
        return bound | {other for form in wanted.forms for other in spellings.shorter(form)}
    bound = {pool[form].bound for form in wanted.forms} - {""}
    return bound | {other for form in wanted.forms for other in spellings.fuller(form)}


def _blocks_of(known: Known) -> tuple[str, ...]:
    return (*blocks_of(known.form), *(blocks_of(known.bound) if known.bound else ()))


async def _off_loop(size: int, work: Callable[..., T], *given: Any) -> T:
    """Do what takes long with many spellings on a thread."""
    if size > MANY:
        return await asyncio.to_thread(work, *given)
    return work(*given)
