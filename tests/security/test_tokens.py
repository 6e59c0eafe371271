"""Tokens: every way to make one that should not count, and the issuer's key set in good and bad days."""

import asyncio
import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.warnings import InsecureKeyLengthWarning

from memory.errors import BadSetting
from memory.settings import load_settings
from query_api.auth.caller import CredentialRefused, Scope
from query_api.auth.jwks import KeySet, KeySetUnavailable
from query_api.auth.tokens import Tokens
from query_api.service import make_app
from tests.security.faces import AUDIENCE, ISSUER, THROUGH, Issuer, bearer, elliptic, face, jwt_settings, outcome

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def jwks(issuer: Issuer, tmp_path: Path) -> Path:
    return issuer.publish(tmp_path / "jwks.json")


def unsigned(header: dict[str, Any], claims: dict[str, Any], signature: str = "") -> str:
    def part(value: dict[str, Any]) -> str:
        return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part(header)}.{part(claims)}.{signature}"


def all_right() -> dict[str, Any]:
    ends = int((datetime.now(UTC) + timedelta(minutes=5)).timestamp())
    return {"iss": ISSUER, "aud": AUDIENCE, "exp": ends, "tenant": "acme", "scope": "magma:read"}


async def test_the_tenant_claim_decides_and_the_scope_claim_allows(issuer: Issuer, jwks: Path) -> None:
    async with face(jwt_settings(jwks)) as client:

        async def got(token: str, **headers: str) -> tuple[int, str]:
            return outcome(await client.get("/v1/sessions", headers=bearer(token) | headers))

        assert await got(issuer.token()) == THROUGH
        assert await got(issuer.token(scope=["magma:read", "other:erase"])) == THROUGH
        assert await got(issuer.token(scope="read erase magma:write")) == (403, "scope_missing")
        assert await got(issuer.token(without="scope")) == (403, "scope_missing")
        assert await got(issuer.token(scope=7)) == (403, "scope_missing")
        named = {"X-Magma-Tenant": "other"}
        assert await got(issuer.token(), **named) == (403, "tenant_mismatch")
        assert await got(issuer.token(tenant="other"), **named) == THROUGH


async def test_claims_are_called_what_the_settings_say(issuer: Issuer, jwks: Path) -> None:
    settings = jwt_settings(jwks, jwt_tenant_claim="org", jwt_scope_claim="permissions", jwt_scope_prefix="memory/")
    caller = await Tokens(settings).check(issuer.token(org="acme-2", permissions=["memory/erase"]))
    assert (caller.tenant, caller.scopes) == ("acme-2", {Scope.ERASE})


STRANGER = Issuer()
FORGERIES: dict[str, Callable[[Issuer], str]] = {
    "expired": lambda one: one.token(exp=datetime.now(UTC) - timedelta(minutes=10)),
    "without an end": lambda one: one.token(without="exp"),
    "not yet valid": lambda one: one.token(nbf=datetime.now(UTC) + timedelta(minutes=10)),
    "for another audience": lambda one: one.token(aud="somebody-else"),
    "without an audience": lambda one: one.token(without="aud"),
    "of another issuer": lambda one: one.token(iss="https://issuer.example.evil"),
    "without an issuer": lambda one: one.token(without="iss"),
    "without a tenant": lambda one: one.token(without="tenant"),
    "with a tenant that is none": lambda one: one.token(tenant="acme|other"),
    "with a list of tenants": lambda one: one.token(tenant=["acme"]),
    "with an endless life": lambda one: one.token(exp=float("inf")),
    "signed by another key of the same name": lambda _: STRANGER.token(),
    "naming a key nobody has": lambda one: one.token(headers={"kid": "k9"}),
    "naming a path as its key": lambda one: one.token(headers={"kid": "../../../dev/null"}),
    "bringing its own key": lambda _: STRANGER.token(headers={"jku": "https://evil.example/jwks.json", "kid": "evil"}),
    "without a signature": lambda _: unsigned({"alg": "none", "kid": "k1"}, all_right()),
    "with `none` in capitals": lambda _: unsigned({"alg": "nOnE", "kid": "k1"}, all_right()),
    "with an empty signature": lambda _: unsigned({"alg": "RS256", "kid": "k1"}, all_right()),
    "signed with the public key as a shared secret": lambda one: _confused(one),
    "of an algorithm that is not allowed": lambda one: jwt.encode(
        all_right(), one.private, "RS512", headers={"kid": "k1"}
    ),
    "demanding what nobody understands": lambda one: one.token(headers={"crit": ["exp2"], "exp2": 1}),
    "that is no token": lambda _: "a.b.c",
    "of one part": lambda _: "x" * 50,
    "too long": lambda one: one.token(filler="x" * 9_000),
    "nested deeply": lambda _: (
        unsigned({"alg": "RS256", "kid": "k1"}, {}).split(".")[0]
        + "."
        + urlsafe_b64encode(b"[" * 3_000).decode().rstrip("=")
        + ".eA"
    ),
}


def _confused(issuer: Issuer) -> str:
    """RS256's public key as HS256's secret: what a checker that trusts the header would take."""
    import hashlib
    import hmac

    pem = issuer.private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    head = unsigned({"alg": "HS256", "kid": "k1"}, all_right()).rstrip(".")
    return f"{head}.{urlsafe_b64encode(hmac.digest(pem, head.encode(), hashlib.sha256)).decode().rstrip('=')}"


async def test_no_forged_token_gets_in_and_none_is_repeated(issuer: Issuer, jwks: Path) -> None:
    async with face(jwt_settings(jwks)) as client:
        for what, forge in FORGERIES.items():
            token = forge(issuer)
            response = await client.get("/v1/sessions", headers=bearer(token))
            assert response.status_code == 401, what
            assert outcome(response)[1] in ("credential_invalid", "credential_expired"), what
            assert 'error="invalid_token"' in response.headers["www-authenticate"]
            assert token not in response.text


async def test_clocks_may_differ_by_the_leeway_and_no_more(issuer: Issuer, jwks: Path) -> None:
    tokens = Tokens(jwt_settings(jwks, jwt_leeway_s=60))
    now = datetime.now(UTC)
    assert (await tokens.check(issuer.token(exp=now - timedelta(seconds=20)))).tenant == "acme"
    assert (await tokens.check(issuer.token(nbf=now + timedelta(seconds=20)))).tenant == "acme"
    with pytest.raises(CredentialRefused):
        await tokens.check(issuer.token(exp=now - timedelta(seconds=90)))


async def test_a_key_binds_its_algorithm_and_a_weak_or_shared_one_is_none(tmp_path: Path) -> None:
    curve, weak = elliptic("e"), Issuer(rsa.generate_private_key(65_537, 1_024), "w")
    shared = {"kty": "oct", "kid": "s", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I", "alg": "HS256"}
    jwks = curve.publish(tmp_path / "jwks.json", weak.jwk(), shared, {"kty": "new"}, weak.jwk(kid=7))
    tokens = Tokens(jwt_settings(jwks))
    assert (await tokens.check(curve.token())).tenant == "acme"
    with pytest.warns(InsecureKeyLengthWarning):
        signed_weakly = weak.token()
    for refused in (signed_weakly, jwt.encode(all_right(), "secret-secret-secret-secret-secr", "HS256", {"kid": "s"})):
        with pytest.raises(CredentialRefused):
            await tokens.check(refused)
    only_rsa = Tokens(jwt_settings(jwks, jwt_algorithms="RS256"))
    with pytest.raises(CredentialRefused):
        await only_rsa.check(curve.token())


Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def published(answer: Answer) -> AsyncIterator[str]:
    """Serve a key set on loopback; gives its address."""
    app = web.Application()
    app.router.add_get("/jwks.json", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        yield f"http://127.0.0.1:{port}/jwks.json"
    finally:
        await runner.cleanup()


async def test_a_new_key_of_the_issuer_is_fetched_once_however_many_tokens_name_unknown_ones(issuer: Issuer) -> None:
    asked = 0
    known = [issuer.jwk()]

    async def answer(_: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        return web.json_response({"keys": known})

    async with published(answer) as url:
        now_s = 1_000.0
        settings = jwt_settings(url, jwt_refresh_min_s=10, jwt_refresh_s=300)
        tokens = Tokens(settings, KeySet(settings, clock=lambda: now_s))
        await asyncio.gather(*(tokens.check(issuer.token()) for _ in range(20)))
        assert asked == 1
        for number in range(20):
            with pytest.raises(CredentialRefused):
                await tokens.check(issuer.token(headers={"kid": f"unknown-{number}"}))
        assert asked == 1
        other = elliptic("k2")
        known.append(other.jwk())
        now_s += 11
        await asyncio.gather(*(tokens.check(other.token()) for _ in range(20)))
        assert asked == 2
        known.remove(issuer.jwk())
        now_s += 301
        with pytest.raises(CredentialRefused):
            await tokens.check(issuer.token())
        assert asked == 3


async def test_an_issuer_that_is_away_is_a_pause_and_its_known_keys_go_on(
    issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    status, done = 500, asyncio.Event()

    async def answer(_: web.Request) -> web.StreamResponse:
        if status == 302:
            raise web.HTTPFound("http://127.0.0.1:9/elsewhere")
        if status == 0:
            await done.wait()
        return web.Response(status=status, text=json.dumps({"keys": [issuer.jwk()]}))

    async with published(answer) as url:
        now_s = 1_000.0
        settings = jwt_settings(url, jwt_timeout_s=3, jwt_refresh_min_s=1)
        tokens = Tokens(settings, KeySet(settings, clock=lambda: now_s))
        for bad in (500, 302, 0):
            status = bad
            now_s += 2
            with pytest.raises(KeySetUnavailable):
                await tokens.check(issuer.token())
        done.set()
        status = 200
        now_s += 2
        assert (await tokens.check(issuer.token())).tenant == "acme"
        status = 500
        now_s += 1_000
        assert (await tokens.check(issuer.token())).tenant == "acme"
    assert "cannot be read" in caplog.text


async def test_a_service_whose_issuer_is_away_tells_its_callers_to_come_again(issuer: Issuer) -> None:
    async with face(jwt_settings("http://127.0.0.1:9/jwks.json")) as client:
        response = await client.get("/v1/sessions", headers=bearer(issuer.token()))
        assert outcome(response) == (503, "key_set_unavailable")
        assert int(response.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"keys": []}', '{"keys": [{"kty": "oct", "kid": "s", "k": "eA"}]}']
)
def test_a_key_set_without_a_usable_key_stops_the_start(tmp_path: Path, content: str) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(content)
    with pytest.raises(BadSetting):
        make_app(jwt_settings(file))


def test_a_key_set_must_come_with_issuer_and_audience_and_not_in_the_clear() -> None:
    with pytest.raises(BadSetting, match="jwt_issuer and jwt_audience"):
        load_settings(jwt_jwks="https://issuer.example/jwks.json", jwt_issuer=ISSUER)
    with pytest.raises(BadSetting, match="http://"):
        jwt_settings("http://issuer.example/jwks.json")
    with pytest.raises(BadSetting, match="jwt_algorithms"):
        jwt_settings("https://issuer.example/jwks.json", jwt_algorithms="HS256")
