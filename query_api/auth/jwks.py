"""The public keys of the tokens' issuer (JWKS, RFC 7517): from a file or a URL, kept, renewed within bounds."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

import httpx
import orjson
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from memory.errors import BadSetting, StoreUnavailable
from memory.settings import Settings
from memory.settings_face import JwtAlgorithm

#: Largest key set, in bytes, and most keys of it.
MAX_SET_BYTES = 512 * 1024
MAX_KEYS = 200
#: Kinds of key that come in pairs; a shared secret (`oct`) is never a key here.
_PAIRS = ("RSA", "EC", "OKP")

_log = logging.getLogger(__name__)


class KeySetUnavailable(StoreUnavailable):
    """Raised when a token cannot be checked, for its issuer's keys cannot be had now."""

    code = "key_set_unavailable"


class KeySet:
    """The issuer's keys, by `kid`. One reading at a time, on the loop or in a thread, with a bound on size and time.

    Read again when it is older than `jwt_refresh_s`, or when a token names a key that is not in it; never more often
    than every `jwt_refresh_min_s`. When it cannot be read, the keys there are stay in use and the log says so.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = settings.jwt_jwks
        self._algorithms = frozenset(settings.jwt_algorithms)
        self._timeout_s = settings.jwt_timeout_s
        self._max_age_s = settings.jwt_refresh_s
        self._pause_s = settings.jwt_refresh_min_s
        self._clock = clock
        self._lock = asyncio.Lock()
        self._keys: Mapping[str, PyJWK] = MappingProxyType({})
        self._tried_s: float | None = None
        self._read_s: float | None = None

    async def key(self, kid: str) -> PyJWK | None:
        """Give the key of this id, None when there is none; raises `KeySetUnavailable` before the first reading."""
        found = self._keys.get(kid)
        # who has a key does not wait for another's reading; who has none does
        reading = found is None and self._lock.locked()
        if reading or ((found is None or self._old()) and self._may_try()):
            async with self._lock:
                if self._may_try():
                    await self._renew()
            found = self._keys.get(kid)
        if found is None and self._read_s is None:
            raise KeySetUnavailable("the keys of the tokens' issuer cannot be had now")
        return found

    def _old(self) -> bool:
        return self._read_s is None or self._clock() - self._read_s >= self._max_age_s

    def _may_try(self) -> bool:
        return self._tried_s is None or self._clock() - self._tried_s >= self._pause_s

    async def _renew(self) -> None:
        self._tried_s = self._clock()
        try:
            async with asyncio.timeout(self._timeout_s):
                raw = await (self._fetch() if is_url(self._source) else asyncio.to_thread(_read, Path(self._source)))
            self._keys = MappingProxyType(keys_of(raw, self._algorithms))
            self._read_s = self._clock()
        except (httpx.HTTPError, TimeoutError, OSError, BadSetting) as error:
            _log.error("the key set at %s cannot be read: %s %s", self._source, type(error).__name__, error)

    async def _fetch(self) -> bytes:
        # a client for each reading: one in minutes, and nothing to close with the service
        async with (
            httpx.AsyncClient(timeout=self._timeout_s, follow_redirects=False) as client,
            client.stream("GET", self._source, headers={"accept": "application/json"}) as response,
        ):
            if response.status_code != 200:
                raise BadSetting(f"the answer has status {response.status_code}")
            raw = b""
            async for part in response.aiter_bytes():
                raw += part
                if len(raw) > MAX_SET_BYTES:
                    break
            return raw


def is_url(source: str) -> bool:
    """Say whether the key set is fetched, not read from a file."""
    return urlsplit(source).scheme in ("http", "https")


def keys_of(raw: bytes, algorithms: frozenset[JwtAlgorithm]) -> dict[str, PyJWK]:
    """Give the usable keys of a key set by their ids; raises `BadSetting` when it is none.

    Left out are shared secrets, keys that are not for signatures, keys without an id, and those of other algorithms.
    """
    if len(raw) > MAX_SET_BYTES:
        raise BadSetting(f"the key set is larger than {MAX_SET_BYTES} bytes")
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise BadSetting("the key set is not JSON") from None
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list) or len(listed) > MAX_KEYS:
        raise BadSetting(f"the key set has no list of at most {MAX_KEYS} `keys`")
    found: dict[str, PyJWK] = {}
    for one in listed:
        if not isinstance(one, dict) or one.get("kty") not in _PAIRS or one.get("use", "sig") != "sig":
            continue
        kid = one.get("kid")
        if not isinstance(kid, str):
            continue
        try:
            key = PyJWK(one)
        except PyJWTError:  # a kind of key that the library does not know: somebody else's concern
            continue
        if key.algorithm_name in algorithms:
            found[kid] = key
    return found


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_SET_BYTES + 1)
