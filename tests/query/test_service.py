"""The query service over the real local stores: questions, answers, browsing, readiness."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator

import httpx
import orjson
import pytest

from memory.settings import LlmProvider, Settings
from query_api.service import make_app
from tests.query.llm_server import FakeModel, chat_server
from tests.query.small_memory import Said, SmallMemory, small_memory

pytestmark = pytest.mark.stack

SAID = [
    Said("a/1", "2023-10-20T10:00:00+02:00", "Caroline", "I went to the support group yesterday.", "talk/1"),
    Said("a/2", "2023-10-20T10:01:00+02:00", "Mel", "How brave of you!", "talk/1"),
    Said("a/3", "2023-10-21T10:01:00+02:00", "Mel", "The violin is tuned.", "talk/2"),
]


@pytest.fixture
async def memory(settings: Settings, tenant: str) -> AsyncIterator[SmallMemory]:
    async with small_memory(settings, tenant) as opened:
        await opened.name(await opened.write(*SAID))
        yield opened


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with chat_server("19 October 2023 ", "<ref:a/1> <ref:b/7>") as fake:
        yield fake


@pytest.fixture
async def client(settings: Settings, memory: SmallMemory, model: FakeModel) -> AsyncIterator[httpx.AsyncClient]:
    configured = settings.model_copy(
        update={"llm_provider": LlmProvider.OPENAI, "openai_base_url": model.base_url, "llm_model": "m"}
    )
    app = make_app(configured)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://127.0.0.1",
            headers={"X-Magma-Tenant": memory.tenant},
            timeout=30,
        ) as opened,
    ):
        yield opened


async def test_it_is_ready_and_answers_a_question_in_the_published_shape(client: httpx.AsyncClient) -> None:
    assert (await client.get("/ready")).json() == {"status": "ready"}
    response = await client.post("/v1/query", json={"question": "When did Caroline go to the support group?"})
    assert response.status_code == 200
    body = response.json()
    assert set(body["intent"]) == {"WHY", "WHEN", "ENTITY", "GENERAL"}
    assert sum(body["intent"].values()) == pytest.approx(1)
    assert set(body["timings_ms"]) == {"route", "embed", "anchors", "traverse", "synthesize"}
    assert {"id", "lists", "rrf"} <= body["anchors"][0].keys()
    first = body["events"][0]
    assert {"id", "ref", "salience", "text", "kind", "speaker", "agent", "session", "occurred_at", "dates", "path"} <= (
        first.keys()
    )
    assert first["ref"] == "a/1"
    assert first["dates"][0]["text"] == "19 October 2023"
    assert body["tokens"] > 0
    hops = [hop for event in body["events"] for hop in event["path"]]
    assert all({"from", "edge", "to", "score", "origin"} <= hop.keys() for hop in hops)


async def test_every_term_of_every_score_is_there_when_asked_for(client: httpx.AsyncClient) -> None:
    body = (await client.post("/v1/query", json={"question": "Who tuned the violin?", "explain": True})).json()
    for event in body["events"]:
        assert event["salience"] == pytest.approx(sum(event["terms"].values()))
        for hop in event["path"]:
            terms = hop["terms"]
            assert hop["score"] == pytest.approx(terms["gamma"] * terms["score_from"] + terms["s"])
    assert body["explanation"]["policy"] == "default"
    assert body["explanation"]["cues"]


async def test_an_answer_carries_its_retrieval_and_its_checked_citations(client: httpx.AsyncClient) -> None:
    body = (await client.post("/v1/answer", json={"question": "When did Caroline go to the support group?"})).json()
    assert body["answer"] == "19 October 2023 <ref:a/1> <ref:b/7>"
    assert body["citations"] == ["a/1"]
    assert "unknown_citation" in body["degraded"]
    assert body["events"][0]["ref"] == "a/1"


async def test_an_answer_is_streamed_when_asked_for(client: httpx.AsyncClient) -> None:
    headers = {"accept": "text/event-stream"}
    question = {"question": "When did Caroline go to the support group?"}
    async with client.stream("POST", "/v1/answer", json=question, headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        text = (await response.aread()).decode()
    events = [part.split("\n", 1) for part in text.strip().split("\n\n")]
    names = [name.removeprefix("event: ") for name, _ in events]
    assert names == ["retrieval", "delta", "delta", "answer"]
    assert orjson.loads(events[-1][1].removeprefix("data: "))["citations"] == ["a/1"]


async def test_a_model_that_fails_in_a_stream_is_a_problem_in_the_stream(
    client: httpx.AsyncClient, model: FakeModel
) -> None:
    model.status = 401
    response = await client.post(
        "/v1/answer", json={"question": "Who tuned the violin?"}, headers={"accept": "text/event-stream"}
    )
    last = response.text.strip().split("\n\n")[-1]
    assert last.startswith("event: problem")
    assert orjson.loads(last.split("data: ")[1])["code"] == "store_refused"


async def test_without_a_model_an_answer_is_a_problem_and_a_query_is_not(settings: Settings, tenant: str) -> None:
    app = make_app(settings)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost", headers={"X-Magma-Tenant": tenant}
        ) as client,
    ):
        refused = await client.post("/v1/answer", json={"question": "why?"})
        assert (refused.status_code, refused.json()["code"]) == (501, "llm_not_configured")
        empty = await client.post("/v1/query", json={"question": "why?"})
        assert (empty.status_code, empty.json()["events"], empty.json()["tokens"]) == (200, [], 0)


async def test_events_and_their_neighbours_can_be_read(client: httpx.AsyncClient, memory: SmallMemory) -> None:
    event = (await client.get(f"/v1/events/{memory.id('a/1')}")).json()
    assert (event["ref"], event["occurred_at"]) == ("a/1", "2023-10-20T10:00:00+02:00")
    around = (await client.get(f"/v1/events/{memory.id('a/2')}/neighbours")).json()
    found = {(one["id"], one["edge"], one["forward"]) for one in around["neighbours"]}
    assert (memory.id("a/1"), "NEXT", False) in found
    assert memory.id("a/3") in {one["id"] for one in around["neighbours"] if one["via"] == "mel"}
    for missing in ("/v1/events/nobody", "/v1/events/nobody/neighbours"):
        response = await client.get(missing)
        assert (response.status_code, response.json()["code"]) == (404, "not_found")


async def test_sessions_and_timelines_are_paged(client: httpx.AsyncClient, memory: SmallMemory) -> None:
    ids = await memory.graph.reader(memory.tenant).event_ids(limit=100)
    await memory.graph.writer().place_sessions(memory.tenant, ids)
    first = (await client.get("/v1/sessions", params={"limit": 1})).json()
    assert [one["session"] for one in first["sessions"]] == ["talk/1"]
    assert first["sessions"][0]["events"] == 2
    second = (await client.get("/v1/sessions", params={"limit": 1, "after": first["next"]})).json()
    assert [one["session"] for one in second["sessions"]] == ["talk/2"]
    assert "talk/2" in first["sessions"][0]["next"].values()
    assert first["sessions"][0]["previous"] == {}
    assert "talk/1" in second["sessions"][0]["previous"].values()
    page = (await client.get("/v1/sessions/talk/1/timeline", params={"limit": 1})).json()
    assert [one["ref"] for one in page["events"]] == ["a/1"]
    rest = (await client.get("/v1/sessions/talk/1/timeline", params={"after": page["next"]})).json()
    assert [one["ref"] for one in rest["events"]] == ["a/2"]
    assert rest["next"] is None
    gone = await client.get("/v1/sessions/nothing/timeline")
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")


async def test_an_entity_is_found_by_any_spelling(client: httpx.AsyncClient) -> None:
    found = (await client.get("/v1/entities", params={"name": "MEL's"})).json()
    assert [one["key"] for one in found["entities"]] == ["mel"]
    assert (await client.get("/v1/entities", params={"name": "nobody"})).json()["entities"] == []
    keys = [one["key"] for one in (await client.get("/v1/entities")).json()["entities"]]
    assert keys == sorted(keys)
    assert {"caroline", "mel"} <= set(keys)


async def test_what_was_measured_is_told_to_prometheus(client: httpx.AsyncClient) -> None:
    await client.post("/v1/query", json={"question": "Who tuned the violin?"})
    text = (await client.get("/metrics")).text
    assert 'magma_query_stage_seconds_count{stage="traverse"} 1.0' in text
    assert "magma_query_context_tokens_count 1.0" in text


def test_it_serves_as_a_process_and_stops_when_told(settings: Settings, memory: SmallMemory) -> None:
    given = {
        name: value.get_secret_value() if hasattr(value, "get_secret_value") else value
        for name, value in settings.model_dump(exclude_none=True).items()
    }
    code = (
        "import sys; from memory.settings import Settings; from query_api.service import serve; "
        "serve(Settings.model_validate_json(sys.argv[1]), port=int(sys.argv[2]))"
    )
    port = _free_port()
    process = subprocess.Popen([sys.executable, "-c", code, orjson.dumps(given, default=str).decode(), str(port)])
    try:
        headers = {"X-Magma-Tenant": memory.tenant}
        url = f"http://127.0.0.1:{port}"
        _wait_until_live(url, process)
        answered = httpx.post(
            f"{url}/v1/query", json={"question": "Who tuned the violin?"}, headers=headers, timeout=30
        )
        assert answered.json()["events"][0]["ref"] == "a/3"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait(5)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_live(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 100
    while time.monotonic() < until:
        assert process.poll() is None, "the service stopped while starting"
        try:
            if httpx.get(f"{url}/ready", timeout=2).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError("the service did not become ready")
