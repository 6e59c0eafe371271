"""Answers judged by a language model (arXiv 2601.03236, appendix C.3): one answer a question, judged once, T = 0.

The gold answer goes to the judge and nowhere else. An adversarial question (LoCoMo's category 5) has none: it is right
to say that it is not there, and no model is needed to see that.
"""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files

import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, ValidationError

from bench.answers import bleu1, f1
from bench.datasets import Question
from bench.run_magma import Memory, request_for
from bench.systems import System
from memory.errors import LlmNotConfigured, StoreRefused, StoreUnavailable, UnusableModelOutput
from memory.settings import LlmProvider, Settings
from query_api.answer import Answerer
from query_api.engine import Retriever
from query_api.prompts import SENTINEL

#: Version of the judge's prompt; a changed rubric is another file.
PROMPT_VERSION = "judge-1"
ANCHORS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MAX_JUDGEMENT_TOKENS = 300

_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_CITATION = re.compile(r"\s*<ref:[^<>]*>")
_SLOT = re.compile(r"\{(question|gold|answer)\}")


class Judgement(BaseModel):
    """What the judge says; `score` is brought to the nearest anchor."""

    score: float
    reasoning: str = ""

    @property
    def anchored(self) -> float:
        """The anchor nearest to the score."""
        return min(ANCHORS, key=lambda anchor: abs(anchor - self.score))


class JudgeRow(BaseModel):
    """Means over `n` questions."""

    judge: float
    f1: float
    bleu1: float
    n: int


class JudgeTable(BaseModel):
    """Scores of Magma's answers; categories 1-4 together (`answerable`) and all."""

    model: str
    prompt_version: str
    overall: JudgeRow
    answerable: JudgeRow | None
    by_category: dict[str, JudgeRow]


@dataclass(frozen=True, slots=True)
class Marked:
    """One answered question."""

    question: Question
    judge: float
    f1: float
    bleu1: float


class Judge:
    """Gives scores; one HTTP client, opened and closed by `open` on the loop that uses it."""

    def __init__(self, client: AsyncOpenAI, model: str) -> None:
        self._client = client
        self.model = model
        self._prompt = (files("bench") / "prompts" / f"{PROMPT_VERSION}.md").read_text("utf-8")

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings) -> AsyncIterator["Judge"]:
        """Open a judge; raises `LlmNotConfigured` when the settings name no model."""
        require_model(settings)
        async with AsyncOpenAI(
            api_key=settings.openai_api_key.get_secret_value() or "none",
            base_url=settings.openai_base_url,
            timeout=settings.llm_timeout_s,
            max_retries=2,
        ) as client:
            yield cls(client, settings.llm_model)

    async def score(self, question: str, gold: str, answer: str) -> float:
        """Judge an answer; an unusable judgement is asked for once more, then raises `UnusableModelOutput`."""
        filled = {"question": question, "gold": gold, "answer": answer}
        # in one pass: what an answer says in braces is not a slot
        content = _SLOT.sub(lambda slot: filled[slot.group(1)], self._prompt)
        for _ in range(2):
            found = _OBJECT.search(await self._ask(content))
            try:
                return Judgement.model_validate_json(found.group() if found else "").anchored
            except ValidationError:
                continue
        raise UnusableModelOutput(f"the model {self.model} gave no judgement in two attempts")

    async def _ask(self, content: str) -> str:
        try:
            completion = await self._client.chat.completions.create(
                model=self.model,
                messages=[{"role": "user", "content": content}],
                temperature=0,
                max_tokens=MAX_JUDGEMENT_TOKENS,
            )
        except openai.APIStatusError as error:
            if error.status_code < 500:
                raise StoreRefused(f"the judge {self.model} refused: HTTP {error.status_code}") from error
            raise StoreUnavailable(f"the judge {self.model} cannot answer now: HTTP {error.status_code}") from error
        except openai.OpenAIError as error:
            raise StoreUnavailable(f"the judge {self.model} does not answer ({type(error).__name__})") from error
        return (completion.choices[0].message.content or "") if completion.choices else ""


def require_model(settings: Settings) -> None:
    """Raise `LlmNotConfigured` when `--judge` has nobody to ask; called before anything else is begun."""
    key = settings.openai_api_key.get_secret_value()
    if settings.llm_provider is not LlmProvider.OPENAI or not (key or settings.openai_base_url):
        raise LlmNotConfigured(
            "--judge needs a language model and none is configured",
            hint="set MAGMA_LLM_PROVIDER=openai, MAGMA_LLM_MODEL, and MAGMA_OPENAI_BASE_URL or MAGMA_OPENAI_API_KEY",
        )


async def answer_and_judge(
    settings: Settings,
    retriever: Retriever,
    memories: Sequence[Memory],
    budget_tokens: int,
    progress: Callable[[int], None] = lambda _: None,
) -> JudgeTable:
    """Let the configured model answer every question from Magma's context, and judge what it says."""
    marked: list[Marked] = []
    async with Answerer.open(settings) as answerer, Judge.open(settings) as judge:
        for memory in memories:
            for question in memory.conversation.questions:
                request = request_for(System.MAGMA, question, budget_tokens)
                result = await answerer.answer(retriever, memory.tenant, request)
                marked.append(await mark(judge, question, result.answer))
                progress(len(marked))
        return judge_table(marked, judge.model)


async def mark(judge: Judge, question: Question, answer: str) -> Marked:
    """Score one answer; a question without a gold answer wants the sentinel."""
    if not question.answer:
        right = float(SENTINEL.casefold() in answer.casefold())
        return Marked(question, right, right, right)
    answer = _CITATION.sub("", answer).strip()  # the reference cites nothing
    score = await judge.score(question.text, question.answer, answer)
    return Marked(question, score, f1(answer, question.answer), bleu1(answer, question.answer))


def judge_table(marked: Sequence[Marked], model: str) -> JudgeTable:
    """Sum up."""
    groups: dict[str, list[Marked]] = {}
    for one in marked:
        groups.setdefault(one.question.category, []).append(one)
    answerable = [one for one in marked if one.question.answer]
    return JudgeTable(
        model=model,
        prompt_version=PROMPT_VERSION,
        overall=_row(marked),
        answerable=_row(answerable) if answerable else None,
        by_category={name: _row(group) for name, group in sorted(groups.items())},
    )


def _row(marked: Sequence[Marked]) -> JudgeRow:
    count = len(marked)
    return JudgeRow(
        judge=round(sum(one.judge for one in marked) / count, 4),
        f1=round(sum(one.f1 for one in marked) / count, 4),
        bleu1=round(sum(one.bleu1 for one in marked) / count, 4),
        n=count,
    )
