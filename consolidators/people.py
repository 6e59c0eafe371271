"""Who a tenant's memory knows: its speakers, its agents and the persons that were found in its texts."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from memory.graph import GraphReader
from memory.llm.model import EntityType
from memory.names import normal_form

#: Tenants that are remembered, entities and sessions that are read of one, and for how long, in seconds.
MAX_TENANTS = 256
MAX_ENTITIES = 5_000
MAX_SESSIONS = 2_000
MAX_AGE_S = 60.0
_PAGE = 1_000


@dataclass
class _Known:
    read_s: float
    people: set[str] = field(default_factory=set)


class People:
    """Remembers the people of the last tenants; what it does not know yet it reads again after a minute."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def of(self, reader: GraphReader) -> set[str]:
        """Give the normal forms of the tenant's people; add to the set what a batch brings."""
        known = self._known.get(reader.tenant)
        if known is None or self._now_s() - known.read_s > MAX_AGE_S:
            known = _Known(self._now_s(), await _read(reader))
            self._known[reader.tenant] = known
            while len(self._known) > MAX_TENANTS:
                self._known.popitem(last=False)
        self._known.move_to_end(reader.tenant)
        return known.people


async def _read(reader: GraphReader) -> set[str]:
    people: set[str] = set()
    after, seen = "", 0
    while seen < MAX_ENTITIES and (page := await reader.entity_names(limit=_PAGE, after=after)):
        people.update(entity.key for entity in page if entity.type in {EntityType.PERSON, EntityType.AGENT})
        after, seen = page[-1].key, seen + len(page)
    after, seen = "", 0
    while seen < MAX_SESSIONS and (sessions := await reader.sessions(limit=_PAGE, after=after)):
        people.update(normal_form(agent) for session in sessions for agent in session.agents)
        after, seen = sessions[-1].session, seen + len(sessions)
    return people - {""}
