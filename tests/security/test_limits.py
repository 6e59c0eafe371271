"""Every bound: the setting that moves it, and the code that tells of it. docs/security.md has the same table."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send

from memory.records import Record
from memory.settings import Settings, load_settings
from memory.settings_face import FaceSettings
from query_api.auth.authenticator import Authenticator
from query_api.auth.buckets import MAX_BUCKETS, Buckets
from query_api.auth.gate import Gate
from query_api.problems import Refused
from query_api.service import Service, serve
from streams.intake import take_in
from tests.security.faces import NOWHERE, THROUGH, bearer, client_of, face, make_key, outcome

pytestmark = pytest.mark.usefixtures("quick")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "security.md"
ASK = {"question": "why?"}


@dataclass(frozen=True)
class Case:
    """A bound of the HTTP face: lowered to `most`, the request `over` is refused and `within` is not."""

    setting: str
    most: float
    over: dict[str, Any]
    within: dict[str, Any]
    told: tuple[int, str]
    path: str = "/v1/query"


async def dribble() -> AsyncIterator[bytes]:
    yield b"{"
    await asyncio.sleep(5)
    yield b"}"


CASES = [
    Case("http_body_max_bytes", 40, {"json": {"question": "x" * 40}}, {"json": ASK}, (413, "body_too_large")),
    Case("http_body_timeout_s", 0.3, {"content": dribble}, {"json": ASK}, (408, "body_timeout")),
    Case("question_max_bytes", 10, {"json": {"question": "é" * 6}}, {"json": ASK}, (422, "invalid_request")),
    Case("budget_max_tokens", 60, {"json": ASK | {"budget_tokens": 61}}, {"json": ASK}, (422, "invalid_request")),
    Case("top_k_max", 5, {"json": ASK | {"top_k": 6}}, {"json": ASK | {"top_k": 5}}, (422, "invalid_request")),
    Case(
        "page_max_items",
        5,
        {"params": {"limit": 6}},
        {"params": {"limit": 5}},
        (422, "invalid_request"),
        "/v1/sessions",
    ),
]

#: Bounds that are tested by a test of their own below, and what tells of them.
OTHERS = {
    "http_timeout_s": "timeout",
    "http_running_max": "overloaded",
    "http_headers_max_bytes": "",
    "http_connections_max": "",
    "rate_per_s": "too_many_requests",
    "rate_burst": "too_many_requests",
    "jwt_timeout_s": "key_set_unavailable",
    **dict.fromkeys(
        (
            "event_max_bytes",
            "event_text_max_bytes",
            "event_attributes_max_bytes",
            "event_name_max_chars",
            "event_refs_max",
        ),
        "oversize_event",
    ),
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.setting)
async def test_a_bound_of_a_request_is_where_its_setting_says(case: Case, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    _, sent = make_key(keys, "acme")
    settings = load_settings(**{case.setting: case.most, "api_keys_file": keys, **NOWHERE})
    async with face(settings) as client:

        async def ask(request: dict[str, Any]) -> httpx.Response:
            given = {name: value() if callable(value) else value for name, value in request.items()}
            method = "GET" if case.path == "/v1/sessions" else "POST"
            return await client.request(
                method, case.path, headers=bearer(sent) | {"content-type": "application/json"}, **given
            )

        over = await ask(case.over)
        assert outcome(over) == case.told
        if case.told[1] == "invalid_request":
            assert over.json()["errors"][0]["field"] in (*case.over.get("json", {}), "limit")
        assert outcome(await ask(case.within)) == THROUGH


async def test_each_key_has_a_rate_of_its_own_and_hears_when_to_come_again(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    (_, one), (_, other) = make_key(keys, "acme"), make_key(keys, "acme")
    settings = load_settings(rate_per_s=0.001, rate_burst=3, api_keys_file=keys, **NOWHERE)
    async with face(settings) as client:
        told = [outcome(await client.get("/v1/sessions", headers=bearer(one))) for _ in range(4)]
        assert told == [THROUGH] * 3 + [(429, "too_many_requests")]
        refused = await client.get("/v1/sessions", headers=bearer(one))
        assert int(refused.headers["retry-after"]) > 100
        assert outcome(await client.get("/v1/sessions", headers=bearer(other))) == THROUGH
        assert outcome(await client.get("/v1/sessions", headers=bearer(one + "x"))) == (401, "credential_invalid")


def test_a_bucket_fills_up_again_and_holds_no_more_than_the_burst() -> None:
    now_s = 0.0
    buckets = Buckets(2.0, 4, clock=lambda: now_s)
    assert [buckets.take("a") for _ in range(5)] == [0, 0, 0, 0, 0.5]
    now_s = 0.5
    assert [buckets.take("a"), buckets.take("a")] == [0, 0.5]
    now_s = 1_000.0
    assert [bool(buckets.take("a")) for _ in range(5)] == [False] * 4 + [True]


def test_buckets_do_not_grow_with_the_number_of_callers() -> None:
    buckets = Buckets(1.0, 1)
    for number in range(MAX_BUCKETS + 50):
        buckets.take(str(number))
    assert len(buckets) == MAX_BUCKETS


async def test_an_answer_that_does_not_begin_is_given_up_and_one_that_has_begun_is_not() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/v1/never":
            await asyncio.sleep(60)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(0.4)
        await send({"type": "http.response.body", "body": b"done"})

    settings = load_settings(http_timeout_s=0.2, **NOWHERE)
    gate = Gate(app, settings, Authenticator(settings), Buckets(100, 100))
    async with client_of(gate, peer="127.0.0.1", host="127.0.0.1") as client:  # type: ignore[arg-type]
        acme = {"X-Magma-Tenant": "acme"}
        assert outcome(await client.get("/v1/never", headers=acme)) == (504, "timeout")
        assert (await client.get("/v1/slow", headers=acme)).text == "done"


async def test_an_error_of_the_app_in_time_is_not_taken_for_a_late_answer() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise TimeoutError("of a store")

    settings = load_settings(**NOWHERE)
    gate = Gate(app, settings, Authenticator(settings), Buckets(100, 100))
    scope = {"type": "http", "path": "/v1/x", "headers": [(b"x-magma-tenant", b"a"), (b"host", b"localhost")]}

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(_: Message) -> None:
        return

    with pytest.raises(TimeoutError, match="of a store"):
        await gate(scope, receive, send)


async def test_more_questions_than_may_run_are_told_to_come_again() -> None:
    service = Service(load_settings(http_running_max=1))
    with pytest.raises(Refused) as told:
        async with service.turn():
            pass
    assert told.value.problem.code == "not_ready"
    service.opened = lambda: None  # type: ignore[method-assign,assignment,return-value]
    async with service.turn():
        with pytest.raises(Refused) as told:
            async with service.turn():
                pass
    assert (told.value.problem.status, told.value.problem.code) == (503, "overloaded")


def test_the_server_gets_its_bounds_and_its_certificate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tests.security.authority import Authority

    given: list[uvicorn.Config] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self: given.append(self.config))
    identity = Authority(tmp_path).identity("service")
    make_key(tmp_path / "keys.json", "acme")
    settings = load_settings(
        http_headers_max_bytes=2_048,
        http_connections_max=7,
        api_keys_file=tmp_path / "keys.json",
        serve_tls_cert_file=identity.cert_file,
        serve_tls_key_file=identity.key_file,
    )
    serve(settings, host="0.0.0.0", port=0)
    (config,) = given
    assert (config.limit_concurrency, config.h11_max_incomplete_event_size, config.http) == (7, 2_048, "h11")
    assert (config.ssl_certfile, config.ssl_keyfile) == (identity.cert_file, identity.key_file)
    assert not config.proxy_headers


@pytest.mark.parametrize(
    ("setting", "most", "event"),
    [
        ("event_max_bytes", 256, {"text": "x" * 256}),
        ("event_text_max_bytes", 10, {"text": "é" * 6}),
        ("event_attributes_max_bytes", 20, {"attributes": {"a": "x" * 20}}),
        ("event_name_max_chars", 9, {"agent": "x" * 10}),
        ("event_refs_max", 1, {"entities": ["a", "b"]}),
    ],
)
def test_a_bound_of_an_event_is_where_its_setting_says(setting: str, most: int, event: dict[str, Any]) -> None:
    whole = {"tenant": "acme", "agent": "a", "session": "s", "kind": "note", "text": "x"}
    whole |= {"occurred_at": "2026-05-08T15:56:00Z", **event}
    record = Record("agent.events", 0, 1, 0, None, orjson.dumps(whole))
    assert take_in([record], load_settings()).outgoing
    (rejected,) = take_in([record], load_settings(**{setting: most})).rejected
    assert (rejected.error.code, setting in rejected.error.message) == ("oversize_event", True)


async def strict(client: httpx.AsyncClient, method: str, url: str, **given: Any) -> tuple[int, str]:
    return outcome(
        await client.request(method, url, headers={"X-Magma-Tenant": "a", **given.pop("headers", {})}, **given)
    )


async def test_what_a_route_does_not_know_is_refused_by_name() -> None:
    async with face(load_settings(**NOWHERE), peer="127.0.0.1", host="127.0.0.1") as client:
        assert await strict(client, "GET", "/v1/sessions?limt=5") == (422, "unknown_parameter")
        assert await strict(client, "GET", "/v1/sessions?limit=5&limit=6") == (422, "repeated_parameter")
        assert await strict(client, "GET", "/live?x=1") == (422, "unknown_parameter")
        response = await client.get("/v1/entities?nmae=x", headers={"X-Magma-Tenant": "a"})
        assert "nmae" in response.json()["detail"]
        assert "after, limit, name" in response.json()["detail"]
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/json5", ""):
            typed = {"content-type": kind}
            assert await strict(client, "POST", "/v1/query", content=b"{}", headers=typed) == (
                415,
                "unsupported_media_type",
            )
        packed = {"content-type": "application/json", "content-encoding": "gzip"}
        assert await strict(client, "POST", "/v1/query", content=b"{}", headers=packed) == (
            415,
            "unsupported_media_type",
        )
        deep = b"[" * 10_000
        typed = {"content-type": "application/json; charset=utf-8"}
        assert await strict(client, "POST", "/v1/query", content=deep, headers=typed) == (400, "malformed_body")


def bounded_settings() -> set[str]:
    """Give the settings of the door and of intake that are bounds, by their names."""
    return {name for name in FaceSettings.model_fields if re.search(r"_max|^rate_|timeout", name)} - {
        "jwt_refresh_min_s"
    }


def test_every_bound_has_a_test_and_stands_in_the_page_with_its_code() -> None:
    codes = {case.setting: case.told[1] for case in CASES} | OTHERS
    assert set(codes) == bounded_settings()
    page = PAGE.read_text("utf-8")
    for setting, code in codes.items():
        rows = [line for line in page.splitlines() if line.startswith(f"| `{setting}` |")]
        assert len(rows) == 1, setting
        assert not code or f"`{code}`" in rows[0], rows[0]
        default = Settings.model_fields[setting].default
        assert f"| {default:,} |" in rows[0], rows[0]
