"""The API keys a running service knows: in memory, looked up by id, renewed when their file changes."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from memory.errors import BadSetting
from query_api.auth.caller import Caller, CredentialRefused
from query_api.auth.keyfile import Stamp, read_keys, stamp_of
from query_api.auth.keys import NOBODY, ApiKey, parse_key

_log = logging.getLogger(__name__)


def utc_now() -> datetime:
    """Give the present time."""
    return datetime.now(UTC)


class KeyRing:
    """Checks API keys. The file is read when the ring is made and after each change, never for a request.

    A file that cannot be used any more leaves the keys as they were, and the log says so at every look: a slip of the
    hand must not lock everybody out. Taking all keys away is a file without keys.
    """

    def __init__(self, path: Path, *, every_s: float, now: Callable[[], datetime] = utc_now) -> None:
        """Read the file; raises `BadSetting`."""
        self._path = path
        self._every_s = every_s
        self._now = now
        self._stamp: Stamp | None = None
        self._keys: dict[str, ApiKey] = {}
        self.reload()

    def check(self, text: str) -> Caller:
        """Give whom a key stands for; raises `CredentialRefused`, alike for an unknown, a wrong and a revoked one."""
        parsed = parse_key(text)
        if parsed is None:
            raise CredentialRefused("credential_invalid", "this is not an API key")
        ident, secret = parsed
        key = self._keys.get(ident, NOBODY)
        if not key.matches(secret) or key is NOBODY or key.revoked_at is not None:
            raise CredentialRefused("credential_invalid", "the API key is not valid")
        if key.expired(self._now()):
            raise CredentialRefused("credential_expired", "the API key has expired")
        return Caller(key.tenant, key.scopes, f"key:{key.id}")

    def reload(self) -> bool:
        """Read the file again if it has changed; says whether it has. Raises `BadSetting`."""
        try:
            stamp = stamp_of(self._path)
        except OSError as error:
            raise BadSetting(
                f"the API keys in {self._path} cannot be read: {error.strerror}",
                hint="`magma keys create` makes the file",
            ) from None
        if stamp == self._stamp:
            return False
        self._keys = {key.id: key for key in read_keys(self._path).keys}
        self._stamp = stamp
        return True

    async def watch(self) -> None:
        """Look at the file again and again, until cancelled."""
        while True:
            await asyncio.sleep(self._every_s)
            try:
                if await asyncio.to_thread(self.reload):
                    _log.info("the API keys were read again: there are %d", len(self._keys))
            except BadSetting as error:
                _log.error("the API keys stay as they were: %s", error)
