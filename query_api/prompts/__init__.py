"""Prompts in files with versions: what a model is told, as data."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from query_api.cues import AnswerKind

#: What an answer is when the memory does not hold it; exactly this and nothing else.
SENTINEL = "Information not found"
#: The prompt that answers are made with.
ANSWER_PROMPT = "answer-1"
#: The prompt that questions are routed with.
ROUTE_PROMPT = "route-1"


class Prompt(BaseModel):
    """One prompt file. `system` has the places {sentinel} and {instruction}, `user` {context} and {question}."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Annotated[str, Field(min_length=1)]
    system: str
    user: str
    instructions: dict[AnswerKind, str]

    def messages(self, kind: AnswerKind, question: str, context: str) -> tuple[str, str]:
        """Fill in the places; gives (system, user). What is filled in is not looked at for places again."""
        system = self.system.replace("{instruction}", self.instructions[kind]).replace("{sentinel}", SENTINEL)
        head, _, tail = self.user.partition("{context}")
        user = head + context + tail.replace("{question}", question)
        return system.strip(), user.strip()


@cache
def answer_prompt(version: str = ANSWER_PROMPT) -> Prompt:
    """Give the prompt of a version that comes with the package."""
    text = (files(__package__) / f"{version}.toml").read_text("utf-8")
    return Prompt.model_validate(tomllib.loads(text))


class RoutePrompt(BaseModel):
    """The prompt of the routing model. `user` has the place {question}."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Annotated[str, Field(min_length=1)]
    system: str
    user: str


@cache
def route_prompt(version: str = ROUTE_PROMPT) -> RoutePrompt:
    """Give the routing prompt of a version that comes with the package."""
    text = (files(__package__) / f"{version}.toml").read_text("utf-8")
    return RoutePrompt.model_validate(tomllib.loads(text))
