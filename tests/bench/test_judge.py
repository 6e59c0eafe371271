"""The judge, against a server on loopback that speaks the chat completions API."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from bench.datasets import Conversation, Question
from bench.judge import Judge, Marked, answer_and_judge, judge_table, mark, require_model
from bench.run_magma import Memory
from memory.errors import LlmNotConfigured, StoreRefused, StoreUnavailable, UnusableModelOutput
from memory.settings import LlmProvider, Settings, load_settings
from tests.query.small_memory import Said, small_memory

QUESTION = Question("Who bought the boat?", "4", ("D1:3",), answer="a fisherman {answer}")
ADVERSARIAL = Question("Which submarine?", "5", ("D1:1",))


class Model:
    """Says its lines one after the other, the last one for ever."""

    def __init__(self, *lines: str, status: int = 200) -> None:
        self.lines = list(lines)
        self.status = status
        self.asked: list[dict[str, Any]] = []
        self.settings: Settings

    def says(self) -> str:
        return self.lines.pop(0) if len(self.lines) > 1 else self.lines[0]


@contextmanager
def serving(model: Model) -> Iterator[Model]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            model.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            message = {"role": "assistant", "content": model.says() if model.status == 200 else ""}
            answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
            if model.asked[-1].get("stream"):
                piece = answer | {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": message}]}
                self._send("text/event-stream", f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n".encode())
                return
            body = json.dumps(
                answer | {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
            ).encode()
            self._send("application/json", body)

        def _send(self, content_type: str, body: bytes) -> None:
            self.send_response(model.status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    model.settings = load_settings(
        llm_provider=LlmProvider.OPENAI,
        llm_model="judge-model",
        openai_base_url=f"http://127.0.0.1:{server.server_port}/v1",
    )
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


async def test_the_judge_sees_question_reference_and_answer_at_temperature_0() -> None:
    with serving(Model('Sure: {"score": 0.8, "reasoning": "a detail is missing"}')) as model:
        async with Judge.open(model.settings) as judge:
            assert await judge.score(QUESTION.text, QUESTION.answer, "a man {gold}") == 0.8
    [asked] = model.asked
    content = asked["messages"][0]["content"]
    assert (asked["temperature"], asked["model"]) == (0, "judge-model")
    assert (
        "Question: Who bought the boat?\nReference answer: a fisherman {answer}\nCandidate answer: a man {gold}"
        in content
    )


@pytest.mark.parametrize(("said", "anchor"), [(0.75, 0.8), (1, 1.0), (7, 1.0), (-2, 0.0), (0.29, 0.2)])
async def test_a_score_is_brought_to_the_nearest_anchor(said: float, anchor: float) -> None:
    with serving(Model(json.dumps({"score": said}))) as model:
        async with Judge.open(model.settings) as judge:
            assert await judge.score("q", "g", "a") == anchor


async def test_an_unusable_judgement_is_asked_for_once_more_and_then_is_an_error() -> None:
    with serving(Model("no idea", '{"score": 0.4}')) as model:
        async with Judge.open(model.settings) as judge:
            assert await judge.score("q", "g", "a") == 0.4
    with serving(Model('{"verdict": "good"}')) as model:
        async with Judge.open(model.settings) as judge:
            with pytest.raises(UnusableModelOutput, match="two attempts"):
                await judge.score("q", "g", "a")
        assert len(model.asked) == 2


@pytest.mark.parametrize(("status", "error"), [(401, StoreRefused), (503, StoreUnavailable)])
async def test_a_judge_that_refuses_or_is_away_is_never_a_score(status: int, error: type[Exception]) -> None:
    with serving(Model("", status=status)) as model:
        async with Judge.open(model.settings) as judge:
            with pytest.raises(error, match="judge-model"):
                await judge.score("q", "g", "a")


async def test_a_question_without_an_answer_wants_to_hear_so_and_asks_no_model() -> None:
    with serving(Model('{"score": 1}')) as model:
        async with Judge.open(model.settings) as judge:
            assert await mark(judge, ADVERSARIAL, "Information not found") == Marked(ADVERSARIAL, 1, 1, 1)
            assert await mark(judge, ADVERSARIAL, "The Nautilus.") == Marked(ADVERSARIAL, 0, 0, 0)
            marked = await mark(judge, QUESTION, "A fisherman, answer")
    assert (marked.judge, marked.f1) == (1, 1)
    assert len(model.asked) == 1


def test_means_are_over_questions_and_the_answerable_ones_stand_apart() -> None:
    table = judge_table([Marked(QUESTION, 0.8, 0.5, 0.25), Marked(ADVERSARIAL, 0, 0, 0)], "m")
    assert (table.overall.judge, table.overall.n) == (0.4, 2)
    assert table.answerable is not None
    assert (table.answerable.judge, table.answerable.f1, table.answerable.bleu1) == (0.8, 0.5, 0.25)
    assert set(table.by_category) == {"4", "5"}


def test_without_a_model_one_sentence_says_what_to_set() -> None:
    with pytest.raises(LlmNotConfigured, match="MAGMA_OPENAI_BASE_URL"):
        require_model(load_settings())


@pytest.mark.stack
async def test_answers_come_from_the_memory_and_only_the_judge_sees_the_gold(settings: Settings, tenant: str) -> None:
    gold = "a welder from Setubal"
    question = Question("Who bought the boat?", "4", ("b",), answer=gold)
    async with small_memory(settings, tenant) as memory:
        await memory.write(
            Said("a", "2024-03-02T10:00:00+00:00", "Ines", "My sister sold the boat."),
            Said("b", "2024-03-02T10:01:00+00:00", "Tom", "And a fisherman bought the boat?"),
        )
        with serving(Model("A welder <ref:b>", '{"score": 0.6, "reasoning": "the town is missing"}')) as model:
            asking = settings.model_copy(
                update={
                    "llm_provider": LlmProvider.OPENAI,
                    "llm_model": "m",
                    "openai_base_url": model.settings.openai_base_url,
                }
            )
            memories = [Memory(Conversation("talk", (question,)), tenant)]
            table = await answer_and_judge(asking, memory.retriever, memories, 500)
    answering, judging = (asked["messages"] for asked in model.asked)
    assert "a fisherman bought the boat" in str(answering)
    assert gold not in str(answering)
    assert gold in str(judging)
    assert (table.overall.judge, table.overall.n, table.model) == (0.6, 1, "m")
    # one word of one against three; the citation is no word of the answer
    assert table.overall.f1 == 0.5
    assert "<ref:" not in str(judging)
