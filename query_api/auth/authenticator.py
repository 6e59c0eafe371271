"""From a request's headers to the caller: which credential counts, and what the tenant header may still say."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from pydantic import TypeAdapter, ValidationError

from memory.errors import BadSetting
from memory.events import Name
from memory.settings import Settings
from query_api.access import TENANT_HEADER, is_loopback
from query_api.auth.caller import Caller, CredentialRefused, Scope
from query_api.auth.jwks import is_url, keys_of
from query_api.auth.keyring import KeyRing
from query_api.auth.keys import PREFIX
from query_api.auth.tokens import Tokens
from query_api.problems import Refused

_NAME: TypeAdapter[str] = TypeAdapter(Name)
_CHALLENGE = 'Bearer realm="magma"'

Headers = Sequence[tuple[bytes, bytes]]


class Authenticator:
    """Says who asks. With API keys or a key set configured a credential is needed, and its tenant alone counts.

    Without both the service answers this machine only and takes the tenant from the header `X-Magma-Tenant`.
    """

    def __init__(self, settings: Settings) -> None:
        """Read what is needed; raises `BadSetting`."""
        self.configured = settings.authenticated
        self._keys = (
            KeyRing(settings.api_keys_file, every_s=settings.api_keys_reload_s) if settings.api_keys_file else None
        )
        self._tokens = Tokens(settings) if settings.jwt_jwks else None
        if settings.jwt_jwks and not is_url(settings.jwt_jwks):
            _check_file(settings)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Keep the API keys as their file has them, while the service runs."""
        if self._keys is None:
            yield
            return
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(self._keys.watch())
            try:
                yield
            finally:
                watch.cancel()

    async def caller(self, headers: Headers, *, peer: str, host: str) -> Caller:
        """Give the caller; raises `Refused` (401, 403), `KeySetUnavailable`."""
        if not self.configured:
            return self._local(headers, peer, host)
        try:
            caller = await self._shown(_only(headers, b"authorization"))
        except CredentialRefused as error:
            raise Refused(
                401, error.code, error.detail, headers={"WWW-Authenticate": f'{_CHALLENGE}, error="invalid_token"'}
            ) from None
        named = _only(headers, TENANT_HEADER.lower().encode())
        if named is not None and _tenant_in(named) != caller.tenant:
            raise Refused(403, "tenant_mismatch", f"{TENANT_HEADER} names another tenant than the credential")
        return caller

    async def _shown(self, header: bytes | None) -> Caller:
        scheme, _, text = (header or b"").decode("latin-1").partition(" ")
        if not text:
            raise Refused(
                401,
                "credential_required",
                "send an API key or a token as `Authorization: Bearer …`",
                headers={"WWW-Authenticate": _CHALLENGE},
            )
        if scheme.lower() != "bearer":
            raise CredentialRefused("credential_invalid", "the scheme of Authorization must be Bearer")
        text = text.strip()
        if text.startswith(PREFIX):
            if self._keys is None:
                raise CredentialRefused("credential_invalid", "API keys are not taken here")
            return self._keys.check(text)
        if self._tokens is None:
            raise CredentialRefused("credential_invalid", "this is not an API key")
        return await self._tokens.check(text)

    def _local(self, headers: Headers, peer: str, host: str) -> Caller:
        if not is_loopback(peer) or not is_loopback(host):
            raise Refused(403, "loopback_only", "without authentication configured only this machine may ask")
        named = _only(headers, TENANT_HEADER.lower().encode())
        if named is None:
            raise Refused(
                401,
                "tenant_required",
                f"the request names no tenant in {TENANT_HEADER}",
                headers={"WWW-Authenticate": _CHALLENGE},
            )
        return Caller(_tenant_in(named), frozenset(Scope), "local")


def _only(headers: Headers, name: bytes) -> bytes | None:
    """Give the one header of this name; raises `Refused` for two, which two readers could read differently."""
    found = [value for key, value in headers if key == name]
    if len(found) > 1:
        raise Refused(400, "repeated_header", f"the header {name.decode()} stands twice")
    return found[0] if found else None


def _tenant_in(header: bytes) -> str:
    try:
        return _NAME.validate_python(header.decode())
    except (UnicodeDecodeError, ValidationError):
        raise Refused(400, "tenant_invalid", f"{TENANT_HEADER}: 1 to 256 characters in UTF-8, no `|`") from None


def _check_file(settings: Settings) -> None:
    """Raise `BadSetting` for a key set in a file that is not there or not one: before anything is served."""
    try:
        with open(settings.jwt_jwks, "rb") as file:  # noqa: PTH123  a path as it is in the settings
            raw = file.read()
    except OSError as error:
        raise BadSetting(f"jwt_jwks: {settings.jwt_jwks} cannot be read: {error.strerror}") from None
    if not keys_of(raw, frozenset(settings.jwt_algorithms)):
        raise BadSetting(
            f"jwt_jwks: {settings.jwt_jwks} has no key for {', '.join(settings.jwt_algorithms)}",
            hint="each key needs a `kid`; set jwt_algorithms to what the issuer signs with",
        )
