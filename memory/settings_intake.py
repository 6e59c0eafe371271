"""Settings of the languages that intake reads beside our own JSON."""

from enum import StrEnum

from pydantic import BaseModel, Field


class OtherSpans(StrEnum):
    """What becomes of spans and log records that no table of conventions knows."""

    DROP = "drop"
    OBSERVE = "observe"


class IntakeSettings(BaseModel):
    """The part of `memory.settings.Settings` that intake's dialects are steered by."""

    otlp_tenant_attribute: str = Field(
        "magma.tenant",
        min_length=1,
        description="resource attribute that names the tenant of OpenTelemetry's spans and log records",
    )
    otlp_other: OtherSpans = Field(
        OtherSpans.DROP,
        description="spans and log records that no table of conventions knows: `drop`, or `observe`, as observations",
    )
