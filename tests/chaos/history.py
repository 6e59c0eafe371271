"""A seeded history of what agents send: out of order, with duplicates and poison, and what must come of it."""

import random
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import orjson

from memory.events import AgentEvent, derive_id, to_us

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
KINDS = ("message", "tool_call", "tool_result", "observation", "decision", "error")
WORDS = ("deploy", "rollback", "queue", "latency", "checkout", "replica", "timeout", "alert", "owner", "retry")


@dataclass(frozen=True)
class Sent:
    """One record as it is produced: its key and its value."""

    key: bytes
    value: bytes


@dataclass(frozen=True)
class History:
    """What is sent, in the order it is sent, and what is true of it.

    `chains`: for each (tenant, session) the stored ids in the order the memory must have them. `poison`: the values
    that must be in the dead letters, each once.
    """

    sent: tuple[Sent, ...]
    chains: dict[tuple[str, str], tuple[str, ...]] = field(repr=False)
    poison: tuple[bytes, ...] = field(repr=False)

    @property
    def good(self) -> int:
        """Number of distinct good events."""
        return sum(len(chain) for chain in self.chains.values())


def make_history(
    seed: int, *, events: int, sessions: int = 200, tenants: int = 5, duplicates: float = 0.05, poison: float = 0.01
) -> History:
    """Generate a history; the same seed gives the same one."""
    dice = random.Random(seed)
    places = [(f"chaos-{seed}-{number % tenants}", f"session-{number}") for number in range(sessions)]
    records: list[Sent] = []
    order: dict[tuple[str, str], list[tuple[int, int, str]]] = defaultdict(list)
    bad: list[bytes] = []
    for number in range(events):
        tenant, session = dice.choice(places)
        key = f"{tenant}|{session}".encode()
        if dice.random() < poison:
            value = _poison(dice, number, tenant, session)
            bad.append(value)
            records.append(Sent(key, value))
            continue
        # Equal times are common on purpose: then the sequence, and where that is missing the id, decides.
        moment = START + timedelta(seconds=dice.randrange(events // 4))
        sequence = dice.choice((None, dice.randrange(50)))
        event = AgentEvent(
            id=f"e{number}",
            source="chaos",
            tenant=tenant,
            agent=f"agent-{dice.randrange(6)}",
            session=session,
            kind=dice.choice(KINDS),
            text=f"step {number}: {' '.join(dice.choices(WORDS, k=8))}{_fact(number)}",
            occurred_at=moment,
            sequence=sequence,
        )
        stored = derive_id(tenant, "chaos", f"e{number}")
        order[tenant, session].append((to_us(moment), -1 if sequence is None else sequence, stored))
        records.append(Sent(key, orjson.dumps(event.model_dump(mode="json", exclude_defaults=True))))
        if dice.random() < duplicates:
            records.append(records[-1])
    dice.shuffle(records)
    chains = {place: tuple(ident for _, _, ident in sorted(found)) for place, found in order.items()}
    return History(tuple(records), chains, tuple(bad))


def _fact(number: int) -> str:
    """Let every fifth event give one of a few settings another value."""
    return "" if number % 5 else f". The {WORDS[number % 7]} limit is now {number % 11}."


def _poison(dice: random.Random, number: int, tenant: str, session: str) -> bytes:
    """Give a value that is no event; each is different, so that each can be found again."""
    event = {"id": f"p{number}", "tenant": tenant, "agent": "a", "session": session, "kind": "message", "text": "x"}
    event["occurred_at"] = "2026-03-02T08:00:00+00:00"
    match dice.randrange(4):
        case 0:
            return orjson.dumps(event)[:-1]  # cut off
        case 1:
            return orjson.dumps(event | {"occurred_at": "2026-03-02T08:00:00"})  # naive time
        case 2:
            return orjson.dumps({name: value for name, value in event.items() if name != "session"})
        case _:
            return orjson.dumps(event | {"text": "x" * 70_000})  # over the bound
