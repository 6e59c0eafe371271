"""What `memory.events` still holds of an erasure: read once, by keys, and by values where the scope needs it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

from memory.erasure import Erasure, ScopeKind
from memory.records import Record
from memory.settings import Settings
from streams.identity import accepted_us
from streams.scan import scan
from streams.topics import Topic


@dataclass(slots=True)
class Found:
    """`records`: records of the log that the erasure covers, each event once; `buried`: by session the ids of those
    without a tombstone."""

    records: int = 0
    buried: dict[str, tuple[str, ...]] = field(default_factory=dict)


async def stragglers(settings: Settings, erasure: Erasure) -> Found:
    """Read the log for events that the erasure covers; raises `StoreUnavailable`. Costs a read of the whole topic."""
    covered: dict[tuple[str, str], bool] = {}
    async for records in scan(settings, Topic.MEMORY_EVENTS.name_in(settings)):
        for session, ident, record in _of_tenant(erasure, records):
            place = (session, ident)
            if record.value is None:
                if place in covered:
                    covered[place] = True
            elif covers(erasure, session, ident, record):
                covered[place] = False
            else:
                covered.pop(place, None)  # sent again after the erasure: the later record is the one that counts
    left: dict[str, list[str]] = {}
    for (session, ident), has_tombstone in covered.items():
        if not has_tombstone:
            left.setdefault(session, []).append(ident)
    return Found(len(covered), {session: tuple(ids) for session, ids in left.items()})


def covers(erasure: Erasure, session: str, ident: str, record: Record) -> bool:
    """Say whether the erasure covers an event of its tenant as it stands in the log."""
    scope = erasure.scope
    if accepted_us(record) > erasure.at_us:
        return False
    match scope.kind:
        case ScopeKind.TENANT:
            return True
        case ScopeKind.SESSION:
            return session == scope.session
        case ScopeKind.EVENT:
            return ident == str(scope.event)
        case ScopeKind.AGENT:
            return agent_of(record.value) == scope.agent


def agent_of(value: bytes | None) -> str | None:
    """Give the agent that a record names, None when it cannot be read."""
    try:
        raw = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return None
    name = raw.get("agent") if isinstance(raw, dict) else None
    return name if isinstance(name, str) else None


def _of_tenant(erasure: Erasure, records: list[Record]) -> Iterator[tuple[str, str, Record]]:
    """Give session, id and record of those records whose key says that they are the tenant's."""
    for record in records:
        tenant, _, rest = (record.key or b"").decode(errors="replace").partition("|")
        session, _, ident = rest.partition("|")
        if tenant == erasure.scope.tenant and ident:
            yield session, ident, record
