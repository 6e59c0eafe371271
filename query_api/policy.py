"""How a question walks the memory, as data: one readable TOML file a policy, validated here.

arXiv 2601.03236, section 3.3: φ(relation, intent) is a table of weights; an unsure router mixes its rows linearly.
"""

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from memory.errors import BadSetting
from memory.relations import Relation
from query_api.intents import Intent, IntentMix

#: Where the shipped policies stand, as package data.
POLICY_PACKAGE = "query_api"
POLICY_FOLDER = "policies"

Weight = Annotated[float, Field(ge=0, le=100)]
Factor = Annotated[float, Field(ge=0, le=1)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ListWeights(_Part):
    """Weight of each list in the fusion of anchors; 0 leaves the list out."""

    keyword: Weight = 1.0
    vector: Weight = 1.0
    entity: Weight = 1.0
    time: Weight = 1.0


class AnchorPolicy(_Part):
    """Where the walk starts (eq. 4).

    `count`: anchors kept; `rrf_k`: k of the fusion; `list_size`: longest list asked of a store; `min_in_window`: nodes
    a hard window must leave; `window_grace_days`: how long after a window a message may stand that talks about it.
    """

    count: Annotated[int, Field(ge=1, le=200)] = 20
    rrf_k: Annotated[int, Field(ge=1, le=1_000)] = 60
    list_size: Annotated[int, Field(ge=1, le=500)] = 20
    min_in_window: Annotated[int, Field(ge=1, le=100)] = 5
    window_grace_days: Annotated[int, Field(ge=0, le=366)] = 0
    weights: ListWeights = ListWeights()


class WalkPolicy(_Part):
    """Bounds and constants of the beam search (Alg. 1, eq. 5-6).

    `depth`: most hops from an anchor; `budget`: most nodes visited, anchors included; `hub_limit`: an entity with more
    events is a hub, and so many of its events are expanded; `hubs`: most hubs searched for in one walk, beyond
    those whose events stand among the nearest anyway; `strength`: multiply φ by the edge's own strength;
    `drop_threshold`: a hop on which the cosine falls by more is not taken (None: no such rule).
    """

    lambda1: Annotated[float, Field(ge=0, le=10)] = 1.0
    gamma: Annotated[float, Field(ge=0, le=1)] = 0.9
    depth: Annotated[int, Field(ge=0, le=20)] = 5
    budget: Annotated[int, Field(ge=1, le=1_000)] = 200
    hub_limit: Annotated[int, Field(ge=1, le=100)] = 10
    hubs: Annotated[int, Field(ge=0, le=50)] = 4
    strength: bool = True
    drop_threshold: Annotated[float, Field(gt=0, le=2)] | None = None


class RankerName(StrEnum):
    """Who orders what was found: trees fitted on known evidence, fusion with neighbours in time, the weights below."""

    FITTED = "fitted"
    BASE = "base"
    SALIENCE = "salience"


class RankingPolicy(_Part):
    """Who ranks, and weights of the terms of salience; see `query_api.ranking` for what each term means.

    `chain` is used by every ranker, the other weights by `salience` alone. `near`, `near_two`: what an event gets of
    the base score of its neighbours in time, one and two steps away. `untrusted`, `recalled`: multiply, for every
    ranker, the salience of an event of an untrusted source, and of one that only repeats others (`derived_from`).
    """

    ranker: RankerName = RankerName.FITTED
    rrf: Weight = 0.0
    walk: Weight = 0.0
    words: Weight = 0.0
    meaning: Weight = 0.0
    near: Weight = 0.0
    near_two: Weight = 0.0
    chain: Weight = 0.0
    speaker: Weight = 0.0
    date: Weight = 0.0
    untrusted: Factor = 1.0
    recalled: Factor = 1.0


class IntentRow(_Part):
    """One intent's row of the table: φ by relation, λ2, depth (else the walk's), beam width, direction factors.

    `cause_to_effect` / `effect_to_cause` multiply φ when a causal edge is walked along / against its arrow.
    `window`: whether a hard window binds every event returned, or only the anchors.
    """

    causal: Weight
    temporal: Weight
    entity: Weight
    semantic: Weight
    lambda2: Annotated[float, Field(ge=0, le=10)]
    depth: Annotated[int, Field(ge=0, le=20)] | None = None
    beam: Annotated[int, Field(ge=1, le=200)] = 10
    cause_to_effect: Factor = 1.0
    effect_to_cause: Factor = 1.0
    window: Literal["all", "anchors"] = "all"


@dataclass(frozen=True, slots=True)
class Steering:
    """What one question walks with: the rows of the table mixed by its intent."""

    relation: dict[Relation, float]
    lambda2: float
    depth: int
    beam: int
    cause_to_effect: float
    effect_to_cause: float
    window_binds_all: bool


class Policy(_Part):
    """One policy file."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    description: str = ""
    anchors: AnchorPolicy = AnchorPolicy()
    walk: WalkPolicy = WalkPolicy()
    ranking: RankingPolicy = RankingPolicy()
    intents: dict[Intent, IntentRow]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        missing = [intent.value for intent in Intent if intent not in self.intents]
        if missing:
            raise ValueError(f"no row for the intents {', '.join(missing)}")
        return self

    def steering(self, mix: IntentMix, relations: frozenset[Relation] = frozenset(Relation)) -> Steering:
        """Mix the rows linearly by the intent's shares; relations that may not be walked weigh nothing (absent)."""
        rows = [(share, self.intents[intent]) for intent, share in mix.shares().items()]
        weights = {
            Relation.CAUSAL: sum(share * row.causal for share, row in rows),
            Relation.TEMPORAL: sum(share * row.temporal for share, row in rows),
            Relation.ENTITY: sum(share * row.entity for share, row in rows),
            Relation.SEMANTIC: sum(share * row.semantic for share, row in rows),
        }
        return Steering(
            relation={relation: weight for relation, weight in weights.items() if relation in relations},
            lambda2=sum(share * row.lambda2 for share, row in rows),
            depth=round(sum(share * (self.walk.depth if row.depth is None else row.depth) for share, row in rows)),
            beam=max(1, round(sum(share * row.beam for share, row in rows))),
            cause_to_effect=sum(share * row.cause_to_effect for share, row in rows),
            effect_to_cause=sum(share * row.effect_to_cause for share, row in rows),
            window_binds_all=self.intents[mix.top].window == "all",
        )


def parse_policy(text: str, where: str) -> Policy:
    """Read one policy from TOML; raises `BadSetting` naming the file, the field and what is wrong."""
    try:
        return Policy.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(f"policy {where} is not TOML: {error}") from error
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, item['loc'])) or 'policy'}: {item['msg']}" for item in error.errors()]
        raise BadSetting(f"policy {where} is not valid: {'; '.join(lines)}") from error


def read_policy(path: Path) -> Policy:
    """Read a policy file of the operator's; raises `BadSetting` when it is not there or not valid."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadSetting(f"policy {path} cannot be read: {error.strerror}") from error
    return parse_policy(text, str(path))


@cache
def shipped_policies() -> dict[str, Policy]:
    """Give the policies that come with the package, by name."""
    folder = files(POLICY_PACKAGE) / POLICY_FOLDER
    found = [
        parse_policy(item.read_text("utf-8"), item.name) for item in folder.iterdir() if item.name.endswith(".toml")
    ]
    return {policy.name: policy for policy in sorted(found, key=lambda policy: policy.name)}


def shipped_policy(name: str) -> Policy:
    """Give one shipped policy; raises `BadSetting` naming those there are."""
    policies = shipped_policies()
    if name not in policies:
        raise BadSetting(f"no policy is called {name!r}", hint=f"there are {', '.join(policies)}")
    return policies[name]
