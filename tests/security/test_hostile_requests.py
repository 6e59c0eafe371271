"""Two tenants, and one of them attacks: whatever it sends, nothing breaks and nothing of the other comes out."""

import contextlib
import errno
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.security.hostile import BODIES, nasty, scalars, tries, values
from tests.security.served import SESSION, Served

pytestmark = [pytest.mark.stack, pytest.mark.timeout(0)]

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QUERY"]
HEADERS = ["X-Magma-Tenant", "Authorization", "Content-Type", "Accept", "Host", "X-Forwarded-For", "Range", "Cookie"]
HEADERS += ["X-HTTP-Method-Override", "Content-Encoding", "If-None-Match", "Traceparent"]
FIELDS = ["question", "session", "agent", "as_of", "budget_tokens", "top_k", "relations", "policy", "fresh", "explain"]

#: Stand for a request line and a header of 40,000 bytes.
LONG_LINE, LONG_HEADER = b"<long line>", b"<long header>"


@pytest.fixture(scope="module")
def client(service: Served) -> Iterator[httpx.Client]:
    with service.client() as opened:
        yield opened


def check(service: Served, response: httpx.Response) -> None:
    """Hold for every answer: no error of ours, a problem that says which, and nothing of the other tenant."""
    assert response.status_code < 500, response.text
    assert service.theirs.secret not in response.text
    assert not [name for name in response.headers if "injected" in name.lower()]
    if response.status_code >= 400 and response.request.method != "HEAD":
        assert response.headers["content-type"] == "application/problem+json"
        problem = response.json()
        assert problem["status"] == response.status_code
        assert not problem["code"].startswith("http_")


def wanted(service: Served, text: str, theirs: int) -> str:
    """Give the text, or an id, a name or a session of the other tenant in its place."""
    there = (*service.theirs.ids, service.theirs.name, SESSION)
    return there[theirs] if theirs < len(there) else text


guess = st.integers(0, 12)


@tries(120)
@given(
    path=st.sampled_from(
        ["/v1/events/{}", "/v1/events/{}/neighbours", "/v1/sessions/{}/timeline", "/v1/{}", "/{}", "/v1/sessions/{}"]
    ),
    text=nasty,
    theirs=guess,
    parameters=st.dictionaries(
        st.one_of(st.sampled_from(["limit", "after", "name"]), nasty), st.one_of(nasty, st.just("5")), max_size=3
    ),
)
def test_no_path_and_no_parameter_breaks_out(
    service: Served, client: httpx.Client, path: str, text: str, theirs: int, parameters: dict[str, str]
) -> None:
    asked = path.format(quote(wanted(service, text, theirs).encode("utf-8", "replace"), safe=""))
    query = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in parameters.items())
    response = client.get(f"{asked}?{query}" if query else asked)
    check(service, response)
    if response.status_code == 200 and "/events/" in path:
        assert response.json()["id"] not in service.theirs.ids


@tries(60)
@given(
    listing=st.sampled_from(["/v1/sessions", "/v1/entities"]),
    after=nasty,
    name=st.one_of(st.none(), nasty),
    theirs=guess,
)
def test_no_listing_gives_what_is_not_ours(
    service: Served, client: httpx.Client, listing: str, after: str, name: str | None, theirs: int
) -> None:
    asked = {"after": wanted(service, after, theirs)}
    if name is not None and listing == "/v1/entities":
        asked["name"] = f"Person {name}"
    check(service, client.get(listing, params=asked))


@tries(60)
@given(
    method=st.sampled_from(["DELETE", "GET", "POST"]),
    path=st.sampled_from(
        ["/v1/events/{}", "/v1/sessions/{}", "/v1/agents/{}", "/v1/tenant", "/v1/tenant/{}", "/v1/receipts/{}"]
    ),
    text=nasty,
    theirs=guess,
    parameters=st.dictionaries(st.sampled_from(["tenant", "scope", "limit"]), nasty, max_size=1),
    claimed=st.one_of(st.none(), nasty, st.just("theirs")),
)
def test_no_order_to_forget_reaches_another_tenant(
    service: Served,
    client: httpx.Client,
    method: str,
    path: str,
    text: str,
    theirs: int,
    parameters: dict[str, str],
    claimed: str | None,
) -> None:
    asked = path.format(quote(wanted(service, text, theirs).encode("utf-8", "replace"), safe=""))
    value = service.theirs.name if claimed == "theirs" else claimed or ""
    sent = value.encode("utf-8", "replace").translate(None, b"\r\n\x00").strip()
    headers = {} if claimed is None else {b"x-magma-tenant": sent}
    before = len(service.orders)
    try:
        response = client.request(method, asked, params=parameters, headers=headers)
    except httpx.LocalProtocolError:  # the client refuses to send it
        return
    check(service, response)
    assert set(service.orders[before:]) <= {service.ours.name}
    assert (len(service.orders) > before) == (response.status_code == 202)
    if sent == service.theirs.name.encode():
        assert response.status_code >= 400


questions = st.fixed_dictionaries(
    {},
    optional={
        **{field: st.one_of(scalars, values) for field in FIELDS},
        "question": st.one_of(nasty, scalars),
        "session": st.one_of(nasty, scalars),
        "tenant": nasty,
    },
)


@tries(60)
@given(body=questions, theirs=guess, sound=st.booleans())
def test_no_question_breaks_out(
    service: Served, client: httpx.Client, body: dict[str, Any], theirs: int, sound: bool
) -> None:
    if sound:  # valid but for one hostile word each: such a question gets through to the stores
        hostile = str(body.get("question", ""))
        body = {"question": f"What is {hostile} safe?", "session": wanted(service, hostile, theirs) or "x"}
    response = client.post("/v1/query", content=json.dumps(body), headers={"content-type": "application/json"})
    check(service, response)
    if response.status_code == 200:
        assert {event["id"] for event in response.json()["events"]} <= set(service.ours.ids)


@pytest.mark.parametrize("number", range(len(BODIES)))
@pytest.mark.parametrize("path", ["/v1/query", "/v1/answer"])
def test_no_body_breaks_the_service(service: Served, client: httpx.Client, path: str, number: int) -> None:
    response = client.post(path, content=BODIES[number], headers={"content-type": "application/json"})
    if (response.status_code, path) != (501, "/v1/answer"):  # no model is configured
        check(service, response)


@tries(60)
@given(
    method=st.sampled_from(METHODS),
    path=st.sampled_from(["/v1/query", "/v1/sessions", "/live", "/metrics", "/openapi.json", "/v1", "/"]),
    headers=st.lists(
        st.tuples(
            st.sampled_from(HEADERS),
            st.one_of(nasty, st.sampled_from(["application/json", "text/event-stream", "gzip", "127.0.0.1", "theirs"])),
        ),
        max_size=4,
    ),
    body=st.sampled_from([b"", b"{}", b"\x1f\x8b\x08\x00", b"a=b"]),
)
def test_no_method_and_no_header_breaks_out(
    service: Served, client: httpx.Client, method: str, path: str, headers: list[tuple[str, str]], body: bytes
) -> None:
    sent = [
        (name.encode(), (service.theirs.name if value == "theirs" else value).encode("utf-8", "replace"))
        for name, value in headers
    ]
    sent = [(name, value) for name, value in sent if not set(value) & set(b"\r\n\x00")]
    with contextlib.suppress(httpx.LocalProtocolError):  # the client refuses to send it
        response = client.request(method, path, headers=sent, content=body)
        if b"invalid HTTP request" not in response.content.lower():
            check(service, response)


@tries(40)
@given(
    line=st.one_of(
        st.binary(max_size=60),
        nasty.map(lambda text: b"GET /v1/events/" + text.encode("utf-8", "replace") + b" HTTP/1.1"),
        st.just(LONG_LINE),
    ),
    headers=st.lists(
        st.one_of(
            st.binary(max_size=40),
            nasty.map(lambda text: b"X-Magma-Tenant: " + text.encode("utf-8", "replace")),
            st.sampled_from([b"Content-Length: -1", b"Content-Length: 99999999999999", b"Transfer-Encoding: chunked"]),
            st.just(b"Content-Length: 5\r\nContent-Length: 6"),
            # by name: its text would be longer than a report of a failure may be
            st.just(LONG_HEADER),
        ),
        max_size=4,
    ),
)
def test_no_bytes_on_the_wire_break_the_service(service: Served, line: bytes, headers: list[bytes]) -> None:
    long = {LONG_LINE: b"GET /" + b"x" * 40_000 + b" HTTP/1.1", LONG_HEADER: b"X: " + b"y" * 40_000}
    line, headers = long.get(line, line), [long.get(header, header) for header in headers]
    lines = [line, b"Host: 127.0.0.1", b"Authorization: Bearer " + service.ours.key.encode(), *headers]
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as wire:
        answer = b""
        try:
            wire.sendall(b"\r\n".join(lines) + b"\r\n\r\n")
            wire.shutdown(socket.SHUT_WR)
            while part := wire.recv(65_536):
                answer += part
        except OSError as error:
            # it may hang up, before everything is sent or after
            if error.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
                raise
    assert b" 500 " not in answer.partition(b"\r\n")[0]
    assert b"\r\nx-injected" not in answer.lower()
    assert service.theirs.secret.encode() not in answer


def test_after_all_of_this_it_still_serves_both(service: Served) -> None:
    assert service.alive()
    with service.client() as client:
        response = client.get(
            f"/v1/events/{service.theirs.ids[0]}", headers={"Authorization": f"Bearer {service.theirs.key}"}
        )
        assert service.theirs.secret in response.text
