"""Settings of the query service's door: who may ask, and how much; and the bounds of events at intake.

Every bound has a problem code or a dead letter's code; `docs/security.md` lists them all.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, field_validator, model_validator
from pydantic_settings import NoDecode

from memory.events import MAX_ATTRIBUTES_BYTES, MAX_EVENT_BYTES, MAX_REFS, MAX_TEXT_BYTES


class JwtAlgorithm(StrEnum):
    """Signatures a token may have: all with a key pair, so that who can check a token cannot make one."""

    RS256 = "RS256"
    RS384 = "RS384"
    RS512 = "RS512"
    PS256 = "PS256"
    PS384 = "PS384"
    PS512 = "PS512"
    ES256 = "ES256"
    ES384 = "ES384"
    ES512 = "ES512"
    EDDSA = "EdDSA"


class FaceSettings(BaseModel):
    """The part of `memory.settings.Settings` that the query service's door and intake are steered by."""

    serve_tls_cert_file: Path | None = Field(None, description="certificate (PEM) of the query service; HTTPS with it")
    serve_tls_key_file: Path | None = Field(None, description="its private key (PEM)")

    api_keys_file: Path | None = Field(
        None, description="hashes of the API keys, kept by `magma keys`; set: requests need a credential"
    )
    api_keys_reload_s: Annotated[float, Field(gt=0, le=3_600)] = Field(
        2.0, description="how often that file is looked at; a revoked key works no longer than this"
    )
    jwt_jwks: str = Field(
        "", description="key set of the tokens' issuer, a path or an https:// URL; set: requests need a credential"
    )
    jwt_issuer: str = Field("", description="the `iss` a token must have")
    jwt_audience: str = Field("", description="the `aud` a token must have")
    jwt_algorithms: Annotated[tuple[JwtAlgorithm, ...], NoDecode] = Field(
        (JwtAlgorithm.RS256, JwtAlgorithm.ES256),
        min_length=1,
        description="signatures a token may have, comma-separated",
    )
    jwt_tenant_claim: str = Field("tenant", min_length=1, description="claim that names the token's tenant")
    jwt_scope_claim: str = Field(
        "scope", min_length=1, description="claim that names its scopes: words in a string, or a list"
    )
    jwt_scope_prefix: str = Field("magma:", description="what stands before read, write and erase in that claim")
    jwt_leeway_s: Annotated[int, Field(ge=0, le=300)] = Field(30, description="clocks may differ by so much")
    jwt_refresh_s: Annotated[float, Field(gt=0, le=86_400)] = Field(
        300.0, description="age at which the key set is read again"
    )
    jwt_refresh_min_s: Annotated[float, Field(ge=0, le=3_600)] = Field(
        10.0, description="pause between two readings of the key set, however many unknown keys tokens name"
    )
    jwt_timeout_s: Annotated[float, Field(gt=0, le=60)] = Field(5.0, description="bound on reading the key set")

    rate_per_s: Annotated[float, Field(gt=0, le=100_000)] = Field(50.0, description="requests a second for each key")
    rate_burst: Annotated[int, Field(ge=1, le=1_000_000)] = Field(100, description="requests at once for each key")
    http_body_max_bytes: Annotated[int, Field(ge=1, le=16_777_216)] = Field(65_536, description="longest request body")
    http_body_timeout_s: Annotated[float, Field(gt=0, le=600)] = Field(
        10.0, description="a request's body must have arrived within this"
    )
    http_headers_max_bytes: Annotated[int, Field(ge=1_024, le=1_048_576)] = Field(
        16_384, description="longest request line and headers together"
    )
    http_timeout_s: Annotated[float, Field(gt=0, le=3_600)] = Field(
        120.0, description="an answer must have begun within this"
    )
    http_running_max: Annotated[int, Field(ge=1, le=10_000)] = Field(64, description="questions answered at once")
    http_connections_max: Annotated[int, Field(ge=1, le=100_000)] = Field(1_000, description="connections at once")
    question_max_bytes: Annotated[int, Field(ge=1, le=16_000)] = Field(16_000, description="longest question, UTF-8")
    budget_max_tokens: Annotated[int, Field(ge=50, le=100_000)] = Field(100_000, description="largest context budget")
    top_k_max: Annotated[int, Field(ge=1, le=200)] = Field(200, description="most events of one answer")
    page_max_items: Annotated[int, Field(ge=1, le=500)] = Field(500, description="most items of one page")

    intake_tenant: str = Field(
        "payload",
        pattern=r"^(payload|header|topic:[A-Za-z0-9._-]*\{tenant\}[A-Za-z0-9._-]*)$",
        description="what says whose a record is: `payload`, `header` (`magma-tenant`), or `topic:` and a topic's name "
        "with `{tenant}` in it; a payload that says otherwise is a dead letter",
    )
    event_max_bytes: Annotated[int, Field(ge=256, le=MAX_EVENT_BYTES)] = Field(
        MAX_EVENT_BYTES, description="largest event, serialised"
    )
    event_text_max_bytes: Annotated[int, Field(ge=1, le=MAX_TEXT_BYTES)] = Field(
        MAX_TEXT_BYTES, description="longest text of an event, UTF-8"
    )
    event_attributes_max_bytes: Annotated[int, Field(ge=2, le=MAX_ATTRIBUTES_BYTES)] = Field(
        MAX_ATTRIBUTES_BYTES, description="largest attributes of an event, serialised"
    )
    event_name_max_chars: Annotated[int, Field(ge=1, le=256)] = Field(
        256, description="longest tenant, agent, session, source, speaker or id of an event"
    )
    event_refs_max: Annotated[int, Field(ge=0, le=MAX_REFS)] = Field(
        MAX_REFS, description="most entries of an event's caused_by, entities or derived_from"
    )

    @property
    def authenticated(self) -> bool:
        """Whether requests need a credential: an API key, a token, or either."""
        return self.api_keys_file is not None or bool(self.jwt_jwks)

    @field_validator("jwt_algorithms", mode="before")
    @classmethod
    def _split(cls, given: Any) -> Any:
        return [word.strip() for word in given.split(",")] if isinstance(given, str) else given

    @field_validator("jwt_jwks")
    @classmethod
    def _safe_address(cls, address: str) -> str:
        """Refuse a key set that anybody on the way could replace."""
        parts = urlsplit(address)
        if "@" in parts.netloc:
            raise ValueError("an address must not contain credentials")
        if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ValueError("a key set over http:// can be replaced on its way: use https:// or a file")
        return address

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.jwt_jwks and not (self.jwt_issuer and self.jwt_audience):
            raise ValueError("jwt_jwks needs jwt_issuer and jwt_audience: a token of somebody else must not count")
        if (self.serve_tls_cert_file is None) != (self.serve_tls_key_file is None):
            raise ValueError("serve_tls_cert_file and serve_tls_key_file belong together")
        return self
