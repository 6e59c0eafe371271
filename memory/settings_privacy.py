"""Settings of what intake keeps out of the memory, and of whose word counts how much."""

from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, Field, SecretStr


class RedactionMode(StrEnum):
    """What becomes of personal data and secrets in an event."""

    OFF = "off"
    MASK = "mask"
    HASH = "hash"
    REFUSE = "refuse"


class SourceBy(StrEnum):
    """What says which source an event is from, when its trust is decided."""

    PAYLOAD = "payload"
    HEADER = "header"


class PrivacySettings(BaseModel):
    """The part of `memory.settings.Settings` that redaction, trust and the loop guard are steered by."""

    redaction: RedactionMode = Field(
        RedactionMode.OFF,
        description="what intake does with keys, cards, mail addresses and phone numbers: `off`, `mask`, `hash` or "
        "`refuse` (docs/privacy.md)",
    )
    redaction_file: Path | None = Field(
        None, description="TOML file with rules by tenant and by kind of data; a worker reads it when it starts"
    )
    redaction_key: SecretStr = Field(SecretStr(""), description="key of the hashes of `hash`, 16 bytes or more")
    redaction_key_file: Path | None = Field(None, description="file with that key")
    trust_file: Path | None = Field(
        None, description="TOML file with the trust of sources, by tenant; a worker reads it when it starts"
    )
    trust_source: SourceBy = Field(
        SourceBy.PAYLOAD,
        description="what says which source an event is from: `payload` (any producer's claim: nobody can be `trusted` "
        "then) or `header` (`magma-source`, set by a gateway)",
    )
