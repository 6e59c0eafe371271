"""Which kinds of data are left, masked, hashed or refused, for each tenant: the settings and their TOML file.

phone_regions = ["US", "DE"]     # plans for numbers without a country code; [] for none
[default]                        # instead of the setting `redaction`
secret = "mask"
mail = "off"
[tenants.acme]                   # what differs from the default; `acme = "refuse"` under [tenants] for all kinds
mail = "hash"
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import phonenumbers
from pydantic import BaseModel, ConfigDict, Field, field_validator

from memory.errors import BadSetting
from memory.events import Name
from memory.redaction.finding import DataKind
from memory.rules_file import read_rules
from memory.settings import Settings
from memory.settings_privacy import RedactionMode

#: Shortest key of hashes, in bytes.
MIN_KEY_BYTES = 16
Modes = Mapping[DataKind, RedactionMode]


class RulesFile(BaseModel):
    """The TOML file of `redaction_file`."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    phone_regions: tuple[str, ...] = ("US",)
    default: RedactionMode | dict[DataKind, RedactionMode] = Field(default_factory=dict)
    tenants: dict[Name, RedactionMode | dict[DataKind, RedactionMode]] = Field(default_factory=dict)

    @field_validator("phone_regions")
    @classmethod
    def _known(cls, regions: tuple[str, ...]) -> tuple[str, ...]:
        unknown = sorted(set(regions) - set(phonenumbers.SUPPORTED_REGIONS))
        if unknown:
            raise ValueError(f"no numbering plan for {', '.join(unknown)}: use codes like US or DE")
        return regions


@dataclass(frozen=True, slots=True)
class Policy:
    """`default` and `tenants`: modes by kind, those that are `off` left out. `regions`: for phone numbers."""

    default: Modes = field(default_factory=dict)
    tenants: Mapping[str, Modes] = field(default_factory=dict)
    regions: tuple[str, ...] = ("US",)

    @classmethod
    def of(cls, settings: Settings) -> "Policy":
        """Read the policy of the settings; raises `BadSetting` for a file that is none, or `hash` without a key."""
        rules = RulesFile() if settings.redaction_file is None else read_rules(settings.redaction_file, RulesFile)
        everything = dict.fromkeys(DataKind, settings.redaction)
        default = _over(everything, rules.default)
        tenants = {tenant: _used(_over(default, given)) for tenant, given in rules.tenants.items()}
        policy = cls(_used(default), tenants, rules.phone_regions)
        if any(RedactionMode.HASH in modes.values() for modes in (policy.default, *tenants.values())):
            _check_key(settings.redaction_key.get_secret_value())
        return policy

    @property
    def off(self) -> bool:
        """Whether nothing is redacted for anybody."""
        return not self.default and not any(self.tenants.values())

    def modes(self, tenant: str) -> Modes:
        """Give the modes of a tenant's kinds; a kind that is left alone is not in them."""
        return self.tenants.get(tenant, self.default)


def _check_key(key: str) -> None:
    if len(key.encode()) < MIN_KEY_BYTES:
        said = f"is shorter than {MIN_KEY_BYTES} bytes: hashes could be undone by trying" if key else "is not set"
        raise BadSetting(
            f"a redaction rule says hash, and the key {said}", hint="set redaction_key or redaction_key_file"
        )


def _over(below: Modes, given: RedactionMode | Mapping[DataKind, RedactionMode]) -> Modes:
    return dict.fromkeys(DataKind, given) if isinstance(given, RedactionMode) else {**below, **given}


def _used(modes: Modes) -> Modes:
    return {kind: mode for kind, mode in modes.items() if mode is not RedactionMode.OFF}
