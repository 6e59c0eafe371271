"""Events that are nearly the same cost what others cost, and as much at the end as at the beginning."""

import random

import pytest

from consolidators import open_handler
from consolidators.semantic import MAX_DEGREE, NEAR, NEW_DEGREE
from memory.events import AgentEvent
from memory.graph import Mark
from tests.consolidators.counted import Cost, counted
from tests.consolidators.memory import Memory

pytestmark = pytest.mark.stack

_ROUNDS = 6
_SESSIONS, _IN_A_SESSION = 3, 8
_WORDS = tuple("late red slow full old wet tall dark open lost new cold thin flat loud".split())  # noqa: SIM905
_THINGS = tuple("bridge kettle ladder garden ticket window blanket river camera engine".split())  # noqa: SIM905


def _near(number: int, at: int) -> str:
    return f"Order {number} for Ana Ruiz failed at step {at} because Basalt Replica {number} was slow."


def _other(number: int, at: int) -> str:
    dice = random.Random(number * 1_000 + at)
    word, thing, other = dice.choice(_WORDS), dice.choice(_THINGS), dice.choice(_THINGS)
    return (
        f"The {word} {thing} of Kim{number} Vos{number} broke at {at}, so we brought the {other} to Lake Tern {number}."
    )


async def _costs(memory: Memory, stage: str, kind: str) -> list[Cost]:
    """Give what each round of new events costs a stage."""
    text = _near if kind == "near" else _other
    costs = []
    async with open_handler(stage, memory.settings) as handler:
        for round_ in range(_ROUNDS):
            events: list[AgentEvent] = []
            for session in range(_SESSIONS):
                for at in range(_IN_A_SESSION):
                    number = (round_ * _SESSIONS + session) * _IN_A_SESSION + at
                    name = f"{kind}-{round_}-{session}"
                    events.append(memory.event(f"{kind}-{number}", text(number, at), session=name, at=number))
            records = await memory.store(events)
            with counted() as cost:
                await handler.handle(records)
            costs.append(cost)
    return costs


@pytest.mark.parametrize("stage", [mark.value for mark in Mark])
async def test_near_identical_events_cost_at_most_twice_what_others_cost_and_never_more(
    memory: Memory, stage: str
) -> None:
    near = await _costs(memory, stage, "near")
    other = await _costs(memory, stage, "other")
    assert near[-1].trips <= 2 * other[-1].trips
    assert near[-1].rows <= 2 * other[-1].rows
    # the first two rounds find less to look at
    assert near[-1].trips <= 1.25 * near[2].trips
    if stage != Mark.SEMANTIC:
        assert near[-1].rows <= 1.25 * near[2].rows
    # an event and its nearest are searched for, read and counted, however many there are
    assert near[-1].rows <= (1 + NEW_DEGREE) * (NEAR + 2 + MAX_DEGREE) * _SESSIONS * _IN_A_SESSION
