"""Tokens (JWT, RFC 7519) of one issuer, checked against its published keys (RFC 8725 says what must be checked)."""

from typing import Any

import jwt
from jwt.exceptions import ExpiredSignatureError, InvalidKeyError, PyJWTError
from pydantic import TypeAdapter, ValidationError

from memory.events import Name
from memory.settings import Settings
from query_api.auth.caller import Caller, CredentialRefused, Scope
from query_api.auth.jwks import KeySet

#: Longest token, in characters: checking one costs by its length.
MAX_TOKEN_CHARS = 8_192

_NAME: TypeAdapter[str] = TypeAdapter(Name)


class Tokens:
    """Checks tokens: signature by a key of the issuer, algorithm pinned, `exp`, `nbf`, `iss`, `aud`, and the tenant."""

    def __init__(self, settings: Settings, keys: KeySet | None = None) -> None:
        self._settings = settings
        self._algorithms = [algorithm.value for algorithm in settings.jwt_algorithms]
        self._keys = keys if keys is not None else KeySet(settings)

    async def check(self, text: str) -> Caller:
        """Give whom a token stands for; raises `CredentialRefused`, `KeySetUnavailable`."""
        if len(text) > MAX_TOKEN_CHARS:
            raise CredentialRefused("credential_invalid", f"the token is longer than {MAX_TOKEN_CHARS} characters")
        kid = self._kid_of(text)
        key = await self._keys.key(kid)
        if key is None:
            raise CredentialRefused("credential_invalid", "the token names a key that its issuer does not have")
        settings = self._settings
        try:
            claims = jwt.decode(
                text,
                key,
                algorithms=self._algorithms,
                audience=settings.jwt_audience,
                issuer=settings.jwt_issuer,
                leeway=settings.jwt_leeway_s,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except ExpiredSignatureError:
            raise CredentialRefused("credential_expired", "the token has expired") from None
        except InvalidKeyError:
            raise CredentialRefused("credential_invalid", "the issuer's key is too short to be trusted") from None
        except (PyJWTError, ValueError, OverflowError, RecursionError):
            # which of the checks failed is nobody's concern who cannot make a token
            raise CredentialRefused("credential_invalid", "the token is not valid here") from None
        return self._caller(claims)

    def _kid_of(self, text: str) -> str:
        try:
            header = jwt.get_unverified_header(text)
        except (PyJWTError, ValueError, RecursionError):
            raise CredentialRefused("credential_invalid", "this is not a token") from None
        kid = header.get("kid")
        if header.get("alg") not in self._algorithms or not isinstance(kid, str):
            raise CredentialRefused("credential_invalid", "the token's algorithm or key is not one of its issuer's")
        return kid

    def _caller(self, claims: dict[str, Any]) -> Caller:
        claim = self._settings.jwt_tenant_claim
        try:
            tenant = _NAME.validate_python(claims.get(claim), strict=True)
        except ValidationError:
            raise CredentialRefused("credential_invalid", f"the token's claim {claim!r} names no tenant") from None
        subject = claims.get("sub")
        return Caller(tenant, self._scopes(claims), f"jwt:{tenant}:{subject if isinstance(subject, str) else ''}")

    def _scopes(self, claims: dict[str, Any]) -> frozenset[Scope]:
        given = claims.get(self._settings.jwt_scope_claim, "")
        words = given.split() if isinstance(given, str) else given if isinstance(given, list) else []
        prefix = self._settings.jwt_scope_prefix
        return frozenset(scope for scope in Scope if f"{prefix}{scope}" in words)
