"""A model's judgement of pairs of names: are they one? Nothing follows from it but a proposal.

The ground of a judgement is one of a few words, not the model's own: what events say does not get into the history of
names through it, where an erasure of those events would not find it.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field

from memory.errors import LlmNotConfigured
from memory.graph import Graph
from memory.llm.accounting import Purpose
from memory.llm.answers import BadAnswer, parse_as
from memory.llm.budget import DailyBudget
from memory.llm.client import ModelClient, Question
from memory.llm.prompts import Prompt, load_prompt
from memory.llm.rendering import visible
from memory.settings import LlmProvider, Settings
from memory.text import clip_tokens

#: Pairs of one call.
PAIRS_A_CALL = 8
#: Bound in tokens of one text, and spellings shown of one side.
TEXT_TOKENS = 60
MAX_SPELLINGS = 8
_MAX_CHARS = 2_000
_BASE_TOKENS = 100
_TOKENS_A_PAIR = 60
_STAGE = "merges"


class Ground(StrEnum):
    """What a judgement rests on."""

    SPELLING = "spelling"
    SHORT_FORM = "short_form"
    NICKNAME = "nickname"
    TRANSLATION = "translation"
    ROLE = "role"
    CONTEXT = "context"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a pair, as the model is shown it."""

    name: str
    type: str
    spellings: tuple[str, ...]
    events: int
    texts: tuple[str, ...]


class Judgement(BaseModel):
    """What the model says of one pair."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    same: bool
    confidence: float = Field(ge=0, le=1)
    ground: Ground


class _Judged(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    pairs: dict[str, Judgement]


class MergeJudge:
    """Asks one model about pairs. Belongs to the event loop that it is used on."""

    def __init__(self, settings: Settings, budget: DailyBudget | None = None) -> None:
        self._prompt = load_prompt("merge")
        self.prompt_version = self._prompt.version
        self._client = ModelClient(settings, budget)
        self.model = self._client.model

    async def judge(self, tenant: str, pairs: Sequence[tuple[Side, Side]]) -> list[Judgement]:
        """Give a judgement of each pair, in one call; raises as `ModelClient.ask` does."""
        ids = [f"p{number}" for number in range(1, len(pairs) + 1)]
        user = await asyncio.to_thread(rendered, pairs, self._prompt)
        answer = await self._client.ask(
            Question(
                Purpose(tenant, _STAGE, self.prompt_version),
                name="merges",
                system=self._prompt.system,
                user=user,
                schema=judged_schema(ids),
                room_tokens=_BASE_TOKENS + _TOKENS_A_PAIR * len(pairs),
                repair=self._prompt.repair,
                read=lambda content: judgements(content, ids),
            )
        )
        return [answer.value[ident] for ident in ids]

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


@asynccontextmanager
async def open_merge_judge(settings: Settings, graph: Graph) -> AsyncIterator[MergeJudge]:
    """Open the judge that the settings ask for; tokens count against the tenant's day, which the graph keeps.

    Raises `LlmNotConfigured` when consolidation runs by rules: they have joined what they are sure of already.
    """
    if settings.llm_provider is LlmProvider.RULES:
        raise LlmNotConfigured(
            "merge proposals need a language model, and llm_provider is rules",
            hint="set llm_provider=openai and openai_base_url; the rules merge by themselves what they are sure of, "
            "and `magma entities merge` merges by hand",
        )
    most = settings.llm_daily_tokens
    judge = MergeJudge(settings, None if most is None else DailyBudget(graph.budgets(), most))
    try:
        yield judge
    finally:
        await judge.close()


def rendered(pairs: Sequence[tuple[Side, Side]], prompt: Prompt) -> str:
    """Write pairs into the prompt's places: a line each, every word of theirs within a JSON string."""
    ids = [f"p{number}" for number in range(1, len(pairs) + 1)]
    lines = "\n".join(f"[{ident}] {_side(one)} {_side(other)}" for ident, (one, other) in zip(ids, pairs, strict=True))
    mark = hashlib.sha256(lines.encode()).hexdigest()[:12]
    user = prompt.user
    for place, value in (("{mark}", mark), ("{ids}", ", ".join(ids)), ("{pairs}", lines)):
        user = user.replace(place, value)  # the pairs last: what names say about places is not read
    return user


def judgements(content: str | None, ids: Sequence[str]) -> Mapping[str, Judgement]:
    """Read an answer about these pairs; raises `BadAnswer` when it is about others, or leaves one out."""
    pairs = parse_as(_Judged, content).pairs
    if pairs.keys() - set(ids):
        raise BadAnswer("it named pairs that were not asked about")
    if missing := set(ids) - pairs.keys():
        raise BadAnswer(f"it left out the pairs {', '.join(sorted(missing))}")
    return pairs


def judged_schema(ids: Sequence[str]) -> dict[str, Any]:
    """Give the JSON Schema of an answer: each pair a required property, so that none is left out or told twice."""
    judgement = {
        "type": "object",
        "properties": {
            "same": {"type": "boolean"},
            "confidence": {"type": "number"},
            "ground": {"type": "string", "enum": [ground.value for ground in Ground]},
        },
        "required": ["same", "confidence", "ground"],
        "additionalProperties": False,
    }
    pairs = {
        "type": "object",
        "properties": {ident: {"$ref": "#/$defs/judgement"} for ident in ids},
        "required": list(ids),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"pairs": pairs},
        "required": ["pairs"],
        "additionalProperties": False,
        "$defs": {"judgement": judgement},
    }


def _side(side: Side) -> str:
    shown = {
        "name": visible(side.name),
        "type": side.type,
        "spellings": [visible(spelling) for spelling in side.spellings[:MAX_SPELLINGS]],
        "events": side.events,
        "texts": [clip_tokens(visible(text[:_MAX_CHARS]), TEXT_TOKENS) for text in side.texts],
    }
    return orjson.dumps(shown).decode()
