"""How much the word of a source counts, and how recalled text is told from news.

    default = "normal"               # of a source that no rule names
    [sources]                        # for every tenant
    "crm" = "trusted"
    [tenants.acme]                   # before the rules above
    "web-scraper" = "quarantined"

A producer cannot raise its own trust: a level is never read from an event, and where the source itself is the
producer's claim (`trust_source = payload`) no rule may say `trusted`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field

from memory.errors import BadSetting, Poison
from memory.events import AgentEvent, Name, Trust
from memory.rules_file import read_rules
from memory.settings import Settings
from memory.settings_privacy import SourceBy


class Quarantined(Poison):
    """Raised for an event of a quarantined source: its dead letter can be redriven once the source is released."""

    code = "quarantined"


class RecalledText(Poison):
    """Raised for an event that repeats what the memory answered and does not say what that was derived from."""

    code = "recalled_text"


class TrustFile(BaseModel):
    """The TOML file of `trust_file`. `Name`s are sources; under `tenants` by tenant."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    default: Trust = Trust.NORMAL
    sources: dict[Name, Trust] = Field(default_factory=dict)
    tenants: dict[Name, dict[Name, Trust]] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrustRules:
    """The rules of the settings; without a file everybody is `normal`."""

    default: Trust = Trust.NORMAL
    sources: Mapping[str, Trust] = field(default_factory=dict)
    tenants: Mapping[str, Mapping[str, Trust]] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings) -> "TrustRules":
        """Read the rules; raises `BadSetting` for a bad file, and for `trusted` by a claim that anybody can make."""
        if settings.trust_file is None:
            return cls()
        rules = read_rules(settings.trust_file, TrustFile)
        levels = {
            rules.default,
            *rules.sources.values(),
            *(one for of in rules.tenants.values() for one in of.values()),
        }
        if settings.trust_source is SourceBy.PAYLOAD and Trust.TRUSTED in levels:
            raise BadSetting(
                f"{settings.trust_file} says trusted, and the source is what a producer claims",
                hint="set trust_source = header and let a gateway set magma-source",
            )
        return cls(rules.default, rules.sources, rules.tenants)

    def of_source(self, tenant: str, source: str | None) -> Trust:
        """Give the level of a source of a tenant."""
        name = source or ""
        own = self.tenants.get(tenant, {}).get(name)
        return own if own is not None else self.sources.get(name, self.default)

    def admitted(self, event: AgentEvent) -> Trust:
        """Give the level of the event's source; raises `Quarantined`."""
        trust = self.of_source(event.tenant, event.source)
        if trust is Trust.QUARANTINED:
            raise Quarantined(
                "the event's source is quarantined", hint="release it in trust_file, then redrive the letter"
            )
        return trust


#: An attribute of this name, not false or null, says that the text comes from an answer of the memory.
RECALLED_ATTRIBUTE = "magma_recalled"
#: The source under which an application sends on what the memory answered.
RECALLED_SOURCE = "magma"
#: A block of a context, as `query_api.blocks` writes it, whatever spaces a client put in.
_BLOCK = re.compile(r"<\s*t\s*:\s*-?\d{4}-\d\d-\d\dT[^<>\n]{4,32}>.{0,70000}?<\s*ref\s*:[^<>\n]{1,300}>", re.DOTALL)


def check_recalled(event: AgentEvent, *, marked: bool = False) -> None:
    """Refuse recalled text that is sent as news; raises `RecalledText`.

    It is recalled when its record is marked, its attribute or source says so, or its text holds a block of a context
    word for word. With `derived_from` it is welcome: it is kept as what it is.
    """
    if event.derived_from:
        return
    if marked or event.attributes.get(RECALLED_ATTRIBUTE) not in (None, False) or event.source == RECALLED_SOURCE:
        raise RecalledText("the event is marked as recalled and names no origin", hint=_WHAT_TO_DO)
    if holds_block(event.text):
        raise RecalledText("the text holds a block of the memory's own context", hint=_WHAT_TO_DO)


_WHAT_TO_DO = "put the ids of the events that the answer shows into derived_from, or leave the quotation out"


def holds_block(text: str) -> bool:
    """Tell whether a text holds a block of a context verbatim."""
    return "<" in text and _BLOCK.search(text) is not None
