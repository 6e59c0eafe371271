"""API keys: `mgm_<id>_<secret>`. The secret is shown once; kept is a salted SHA-256 of it.

Why no slow hash: those protect what people choose. A secret here is 256 bits from the system's generator, so that there
is nothing to guess whatever one guess costs; a slow hash would only let anybody spend the service's CPU by sending
wrong keys. Checking takes microseconds, so nothing of a key is cached.
"""

import hashlib
import hmac
import re
import secrets
from base64 import b32encode
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from memory.events import Name
from query_api.auth.caller import Scope

PREFIX = "mgm_"
_ID_BYTES = 10
_SALT_BYTES = 16
_SECRET_BYTES = 32
_KEY = re.compile(r"mgm_([a-z2-7]{16})_([A-Za-z0-9_-]{43})")


class ApiKey(BaseModel):
    """A key as it is kept. `salt`, `digest`: hexadecimal. `replaces`: the key that this one was rotated from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, StringConstraints(pattern=r"^[a-z2-7]{16}$")]
    name: Annotated[str, StringConstraints(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    tenant: Name
    scopes: Annotated[frozenset[Scope], Field(min_length=1)]
    salt: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None
    replaces: str | None = None

    def matches(self, secret: str) -> bool:
        """Say whether this is the key's secret, in a time that does not tell how much of it is right."""
        return hmac.compare_digest(self.digest, _digest(self.salt, secret))

    def expired(self, now: datetime) -> bool:
        """Say whether the key's time is over."""
        return self.expires_at is not None and self.expires_at <= now

    def usable(self, now: datetime) -> bool:
        """Say whether the key works."""
        return self.revoked_at is None and not self.expired(now)


#: Stands where there is no key of an id, so that looking for one takes as long as checking one.
NOBODY = ApiKey(
    id="a" * 16,
    tenant="-",
    scopes=frozenset(Scope),
    salt="0" * 32,
    digest="0" * 64,
    created_at=datetime(1970, 1, 1, tzinfo=UTC),
)


def new_key(
    tenant: str,
    scopes: frozenset[Scope],
    *,
    now: datetime,
    lasts: timedelta | None,
    name: str = "",
    replaces: str | None = None,
) -> tuple[ApiKey, str]:
    """Make a key; gives what is kept and what its holder must know, which nobody can give again."""
    ident = b32encode(secrets.token_bytes(_ID_BYTES)).decode().lower()
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    salt = secrets.token_hex(_SALT_BYTES)
    kept = ApiKey(
        id=ident,
        name=name,
        tenant=tenant,
        scopes=scopes,
        salt=salt,
        digest=_digest(salt, secret),
        created_at=now,
        expires_at=None if lasts is None else now + lasts,
        replaces=replaces,
    )
    return kept, f"{PREFIX}{ident}_{secret}"


def parse_key(text: str) -> tuple[str, str] | None:
    """Give id and secret of a key; None for anything else."""
    found = _KEY.fullmatch(text)
    return None if found is None else (found[1], found[2])


def _digest(salt: str, secret: str) -> str:
    return hashlib.sha256(bytes.fromhex(salt) + secret.encode()).hexdigest()
