"""The HTTP face without stores: it lives, says what is missing, and tells every error as a problem with a code."""

from collections.abc import AsyncIterator

import httpx
import pytest

from memory.errors import BadSetting, LlmNotConfigured, MalformedEvent, NotFound, RateLimited, StoreUnavailable
from memory.settings import load_settings
from query_api import backends
from query_api.access import check_bind, is_loopback
from query_api.problems import problem_of
from query_api.service import make_app, serve

TENANT = {"X-Magma-Tenant": "acme"}


@pytest.fixture
async def client(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    monkeypatch.setattr(backends, "FIRST_ATTEMPT_S", 0.2)
    app = make_app(load_settings(graph_uri="bolt://127.0.0.1:9", milvus_uri="http://127.0.0.1:9", graph_timeout_s=1))
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield client


def code_of(response: httpx.Response) -> str:
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == response.status_code
    assert body["type"] == f"urn:magma:problem:{body['code']}"
    return str(body["code"])


async def test_it_lives_without_its_stores_and_names_what_is_missing(client: httpx.AsyncClient) -> None:
    assert (await client.get("/live")).status_code == 200
    ready = await client.get("/ready")
    assert ready.status_code == 503
    assert code_of(ready) == "not_ready"
    assert ready.json()["missing"] == ["stores"]


async def test_a_question_meanwhile_is_told_to_come_again(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/query", json={"question": "why?"}, headers=TENANT)
    assert response.status_code == 503
    assert code_of(response) == "store_unavailable"
    assert int(response.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"question": ""},
        {"question": "   "},
        {"question": "x" * 4_001},
        {"question": "why?", "budget_tokens": 1},
        {"question": "why?", "budget_tokens": 10**9},
        {"question": "why?", "top_k": 0},
        {"question": "why?", "top_k": 10_000},
        {"question": "why?", "as_of": "2023-05-08T10:00:00"},
        {"question": "why?", "top_k": True},
        {"question": "why?", "as_of": 1_683_540_000},
        {"question": "why?", "as_of": "1683540000"},
        {"question": "why?", "fresh": "yes"},
        {"question": " " * 4_001 + "why?"},
        {"question": "why?", "relations": ["causal", "causal"]},
        {"question": "why?", "relations": ["magic"]},
        {"question": "why?", "policy": "../secret"},
        {"question": "why?", "tenant": "other"},
        {"question": "a\x00b"},
    ],
)
async def test_an_invalid_question_is_refused_field_by_field(client: httpx.AsyncClient, body: object) -> None:
    response = await client.post("/v1/query", json=body, headers=TENANT)
    assert response.status_code == 422
    assert code_of(response) == "invalid_request"
    assert response.json()["errors"]


async def test_what_was_sent_is_not_repeated(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/query", json={"question": "why?", "policy": "hunter2"}, headers=TENANT)
    assert "hunter2" not in response.text


async def test_a_body_that_is_not_json_is_refused(client: httpx.AsyncClient) -> None:
    headers = {**TENANT, "content-type": "application/json"}
    assert code_of(await client.post("/v1/query", content=b"{", headers=headers)) == "invalid_request"


async def test_a_body_over_its_bound_is_refused_however_it_is_sent(client: httpx.AsyncClient) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * 1_000

    whole = await client.post("/v1/query", content=b"x" * (load_settings().http_body_max_bytes + 1), headers=TENANT)
    chunked = await client.post("/v1/query", content=endless(), headers=TENANT)
    for response in (whole, chunked):
        assert response.status_code == 413
        assert code_of(response) == "body_too_large"


async def test_a_request_without_a_tenant_or_with_a_bad_one_is_refused(client: httpx.AsyncClient) -> None:
    body = {"question": "why?"}
    assert code_of(await client.post("/v1/query", json=body)) == "tenant_required"
    bad = await client.post("/v1/query", json=body, headers={"X-Magma-Tenant": "a|b"})
    assert code_of(bad) == "tenant_invalid"


async def test_another_host_name_or_another_machine_is_refused(client: httpx.AsyncClient) -> None:
    rebound = await client.get("/v1/sessions", headers={**TENANT, "host": "evil.example"})
    assert rebound.status_code == 403
    assert code_of(rebound) == "loopback_only"
    app = client._transport.app  # type: ignore[attr-defined]
    remote = httpx.ASGITransport(app, client=("10.0.0.7", 5))
    async with httpx.AsyncClient(transport=remote, base_url="http://127.0.0.1") as elsewhere:
        assert code_of(await elsewhere.get("/v1/sessions", headers=TENANT)) == "loopback_only"


async def test_unknown_paths_and_methods_are_problems_too(client: httpx.AsyncClient) -> None:
    assert code_of(await client.get("/nowhere")) == "not_found"
    assert code_of(await client.get("/v1/nowhere", headers=TENANT)) == "not_found"
    wrong = await client.get("/v1/query", headers=TENANT)
    assert (code_of(wrong), wrong.headers["allow"]) == ("method_not_allowed", "POST")


async def test_meters_count_by_route_and_never_by_what_was_asked(client: httpx.AsyncClient) -> None:
    await client.get("/v1/events/secret-id", headers=TENANT)
    text = (await client.get("/metrics")).text
    assert 'magma_http_requests_total{method="GET",route="/v1/events/{event_id}",status="503"} 1.0' in text
    assert "secret-id" not in text


async def test_the_openapi_document_describes_problems(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    answer = document["paths"]["/v1/query"]["post"]["responses"]["default"]
    assert "application/problem+json" in answer["content"]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (NotFound("x"), 404, "not_found"),
        (StoreUnavailable("x"), 503, "store_unavailable"),
        (RateLimited("x"), 503, "rate_limited"),
        (MalformedEvent("x"), 422, "malformed_event"),
        (LlmNotConfigured("x"), 501, "llm_not_configured"),
        (BadSetting("x"), 500, "bad_setting"),
    ],
)
def test_each_kind_of_error_has_its_status_and_code(error: BadSetting, status: int, code: str) -> None:
    found = problem_of(error)
    assert (found.status, found.code) == (status, code)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "magma.example"])
def test_it_refuses_to_serve_beyond_this_machine(host: str) -> None:
    with pytest.raises(BadSetting, match="authentication"):
        serve(load_settings(), host=host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_this_machine_is_this_machine(host: str) -> None:
    assert is_loopback(host)
    check_bind(host)
