"""What has to be decided again when some spellings are new or known otherwise, and what has to be known to do so.

A decision about a spelling depends on the fuller ones that it fits, on theirs, and so on; and, for a full form that may
join a speaker, on all full forms that are called as that speaker is. So a new spelling can change what is decided of
shorter ones, and through the speakers among these of full forms that share a speaker with it. Everything else stands
as it is, however many names have a word in common with the new one.

Nothing is read here: the generator says what it has to see, its caller adds that to the pool.
"""

from collections.abc import Callable, Collection, Generator, Iterable
from dataclasses import dataclass
from enum import Enum

from memory.identity.resolve import Pool, resolve


class Towards(Enum):
    """Which of the spellings that touch some are needed."""

    FULLER = "fuller"  # those that they fit, and what they are bound to
    SHORTER = "shorter"  # those that fit them, and those bound to them


@dataclass(frozen=True, slots=True)
class Wanted:
    """Forms of which the next step needs everything that touches them in one direction."""

    towards: Towards
    forms: frozenset[str]


Walk = Generator[Wanted, None, set[str]]


def surroundings(pool: Pool, news: Collection[str], *, gone: Collection[str] = (), spoke: Collection[str] = ()) -> Walk:
    """Give, as the value that the generator returns, the forms of the pool that have to be decided again.

    `pool` holds the new forms, and more and more of what is asked for. `gone`: forms among the new that exist no
    more; `spoke`: those that were a speaker's. Once it has returned, deciding about all of the pool but what is gone
    decides rightly about the forms that it gives, and about no others.
    """
    changing = yield from _closed(pool, news, Towards.SHORTER)
    speakers = {form for form in changing if pool[form].anchored} | {*spoke}
    called = yield from _step(pool, speakers, Towards.FULLER)
    changing |= yield from _closed(pool, called, Towards.SHORTER)
    yield from _closed(pool, changing, Towards.FULLER)
    # only who is what a changing form ends at can be adopted instead of it
    decided = resolve(known for form, known in pool.items() if form not in gone)
    ends = {decided[form].key for form in changing if form in decided} & pool.keys()
    near = yield from _step(pool, ends, Towards.SHORTER)
    yield from _closed(pool, {form for form in near if pool[form].anchored}, Towards.FULLER)
    return changing - {*gone}


def _closed(pool: Pool, start: Iterable[str], towards: Towards) -> Walk:
    """Give the forms that can be reached in a direction, the start included."""
    members = {*start}
    frontier = members
    while frontier:
        frontier = (yield from _step(pool, frontier, towards)) - members
        members = members | frontier
    return members


def _step(pool: Pool, forms: Iterable[str], towards: Towards) -> Walk:
    asked = frozenset(forms)
    if not asked:
        return set()
    yield Wanted(towards, asked)
    look: Callable[[str], set[str]] = pool.onward if towards is Towards.FULLER else pool.back
    return {other for form in asked for other in look(form)}
