"""Policies to try: the shipped one with some of its numbers moved, always within what the policy's own file allows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory.relations import Relation
from query_api.intents import Intent
from query_api.policy import Policy

#: Seed of the proposals, the most numbers that one of them moves, and the share of moves that stay near.
SEED = 20_260_106
MOST_MOVES = 8
NEAR_SHARE = 0.6
#: Standard deviation of a move that stays near, as a share of the knob's range.
NEAR = 0.12
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Knob:
    """A number of the policy. `low`, `high`: where it is searched, inside what the policy validates.

    `whole`: it is a count. `when_absent`: what is meant where the file says nothing.
    """

    path: tuple[str, ...]
    low: float
    high: float
    whole: bool = False
    when_absent: float = 0.0

    @property
    def name(self) -> str:
        """The number's name, as in `intents.WHY.causal`."""
        return ".".join(self.path)

    def read(self, document: Mapping[str, Any]) -> float:
        """Give the number of a policy's document."""
        part: Any = document
        for step in self.path:
            part = part[step]
        return self.when_absent if part is None else float(part)

    def write(self, document: dict[str, Any], value: float) -> None:
        """Put a number, brought into the range, into a policy's document."""
        part = document
        for step in self.path[:-1]:
            part = part[step]
        bounded = min(self.high, max(self.low, value))
        part[self.path[-1]] = round(bounded) if self.whole else round(bounded, _DIGITS)


def knobs(policy: Policy) -> tuple[Knob, ...]:
    """Give the numbers that are searched; bounds keep a query about as dear as the shipped policy makes it."""
    found = [
        Knob(("walk", "lambda1"), 0.0, 4.0),
        Knob(("walk", "gamma"), 0.3, 1.0),
        Knob(("anchors", "count"), 8, 30, whole=True),
        *(Knob(("anchors", "weights", name), 0.0, 4.0) for name in ("keyword", "vector", "entity", "time")),
    ]
    for intent in Intent:
        row = ("intents", intent.value)
        found += [Knob((*row, relation.value), 0.0, 1.0) for relation in Relation]
        found += [
            Knob((*row, "lambda2"), 0.0, 3.0),
            Knob((*row, "beam"), 4, 20, whole=True),
            Knob((*row, "depth"), 1, policy.walk.depth, whole=True, when_absent=policy.walk.depth),
            Knob((*row, "cause_to_effect"), 0.0, 1.0),
            Knob((*row, "effect_to_cause"), 0.0, 1.0),
        ]
    return tuple(found)


def proposals(policy: Policy, trials: int, seed: int = SEED) -> list[Policy]:
    """Give `policy` itself, then `trials` different ones; the same arguments give the same list."""
    draw = np.random.default_rng(seed)
    every = knobs(policy)
    found = {_key(policy): policy}
    while len(found) <= trials:
        document = policy.model_dump(mode="json")
        document |= {"name": "tuned", "description": f"Fitted by magma tune, from {policy.name}."}
        for place in draw.choice(len(every), size=int(draw.integers(1, MOST_MOVES + 1)), replace=False):
            knob = every[place]
            if draw.random() < NEAR_SHARE:
                value = knob.read(document) + draw.normal() * NEAR * (knob.high - knob.low)
            else:
                value = draw.uniform(knob.low, knob.high)
            knob.write(document, value)
        moved = Policy.model_validate(document)
        found.setdefault(_key(moved), moved)
    return list(found.values())


def moves(before: Policy, after: Policy) -> dict[str, tuple[float, float]]:
    """Give the numbers in which two policies differ, by name: before and after."""
    first, second = before.model_dump(mode="json"), after.model_dump(mode="json")
    pairs = {knob.name: (knob.read(first), knob.read(second)) for knob in knobs(before)}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _key(policy: Policy) -> str:
    return policy.model_dump_json(exclude={"name", "description"})
