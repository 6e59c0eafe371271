"""The HTTP face as the tests of this folder need it: credentials of several tenants, an issuer, no stores."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from fastapi import FastAPI

from memory import erasure
from memory.settings import Settings, load_settings
from query_api.auth.caller import Scope
from query_api.auth.keyfile import changing
from query_api.auth.keys import ApiKey, new_key
from query_api.service import make_app

ISSUER, AUDIENCE = "https://issuer.example", "magma"
NOWHERE = {"graph_uri": "bolt://127.0.0.1:9", "milvus_uri": "http://127.0.0.1:9", "graph_timeout_s": 1.0}
#: The problem of a request that got through the gate of a service without stores.
THROUGH = (503, "store_unavailable")


def make_key(
    path: Path, tenant: str, scopes: Sequence[Scope] = (Scope.READ,), *, lasts: timedelta | None = None, **changed: Any
) -> tuple[ApiKey, str]:
    """Put a key into the file; gives it as kept and as sent."""
    kept, sent = new_key(tenant, frozenset(scopes), now=datetime.now(UTC), lasts=lasts)
    kept = kept.model_copy(update=changed)
    with changing(path) as held:
        held[0] = held[0].with_key(kept)
    return kept, sent


def bearer(sent: str) -> dict[str, str]:
    """Give the header that shows a credential."""
    return {"Authorization": f"Bearer {sent}"}


def outcome(response: httpx.Response) -> tuple[int, str]:
    """Give status and problem code; fails for an error that is no problem document."""
    if response.status_code < 400:
        return response.status_code, ""
    assert response.headers["content-type"] == "application/problem+json", response.text
    body = response.json()
    assert body["status"] == response.status_code
    return response.status_code, body["code"]


@dataclass
class Issuer:
    """Somebody who signs tokens."""

    private: Any = field(default_factory=lambda: rsa.generate_private_key(65_537, 2_048))
    kid: str = "k1"
    algorithm: str = "RS256"

    def jwk(self, **changed: Any) -> dict[str, Any]:
        """Give the public key as it is published."""
        kinds = {"RS": jwt.algorithms.RSAAlgorithm, "PS": jwt.algorithms.RSAAlgorithm, "ES": jwt.algorithms.ECAlgorithm}
        shown = json.loads(kinds[self.algorithm[:2]].to_jwk(self.private.public_key()))
        shown.pop("key_ops", None)
        return {**shown, "kid": self.kid, "use": "sig", "alg": self.algorithm, **changed}

    def publish(self, path: Path, *others: dict[str, Any]) -> Path:
        """Write the key set."""
        path.write_text(json.dumps({"keys": [self.jwk(), *others]}))
        return path

    def token(self, *, headers: dict[str, Any] | None = None, without: str = "", **claims: Any) -> str:
        """Sign a token that is all right but for what is given."""
        now = datetime.now(UTC)
        body = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "u1",
            "iat": now,
            "exp": now + timedelta(minutes=5),
            "tenant": "acme",
            "scope": "magma:read",
            **claims,
        }
        body.pop(without, None)
        return jwt.encode(body, self.private, self.algorithm, headers={"kid": self.kid, **(headers or {})})


def elliptic(kid: str = "k1") -> Issuer:
    """Give an issuer with an elliptic key."""
    return Issuer(ec.generate_private_key(ec.SECP256R1()), kid, "ES256")


def jwt_settings(jwks: object, **more: Any) -> Settings:
    """Give settings of a service that takes tokens of the issuer."""
    given = {"jwt_jwks": str(jwks), "jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, **NOWHERE, **more}
    return load_settings(**given)


async def note_order(scope: erasure.Scope) -> erasure.Erasure:
    """Take an order to forget, for nobody to carry out: so the routes that erase are there."""
    return erasure.Erasure.of(scope, 1)


@asynccontextmanager
async def face(
    settings: Settings, *, peer: str = "10.1.2.3", host: str = "magma.example"
) -> AsyncIterator[httpx.AsyncClient]:
    """Run the app and give a client of it, from another machine."""
    app = make_app(settings, order=note_order)
    async with app.router.lifespan_context(app), client_of(app, peer=peer, host=host) as client:
        yield client


def client_of(app: FastAPI, *, peer: str = "10.1.2.3", host: str = "magma.example") -> httpx.AsyncClient:
    """Give a client of an app that runs already."""
    transport = httpx.ASGITransport(app, client=(peer, 4_711))
    return httpx.AsyncClient(transport=transport, base_url=f"https://{host}", timeout=60)
