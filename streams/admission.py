"""What intake lets into the memory: not recalled text as news, nobody from quarantine, nothing that is to be redacted.

In this order: what is refused is refused before it is searched, and redaction sees exactly what would be stored.
"""

from dataclasses import dataclass
from typing import Protocol

from memory.errors import Poison
from memory.events import AgentEvent, Trust, validate_event
from memory.records import Record
from memory.settings import Settings
from memory.settings_privacy import RedactionMode, SourceBy
from memory.trust import TrustRules, check_recalled
from streams.identity import header

#: On a producer's record, set by a gateway: whose it is (`trust_source = header`).
SOURCE_HEADER = "magma-source"
#: On a producer's record: its text comes from an answer of the memory.
RECALLED_HEADER = "magma-recalled"
#: On `memory.events`: the trust of the event's source, when it is not `normal`. Intake alone writes it.
TRUST_HEADER = "magma-trust"


class SourceMismatch(Poison):
    """Raised when a payload names another source than its header."""

    code = "source_mismatch"


class _Redacts(Protocol):
    def redact(self, event: AgentEvent) -> AgentEvent: ...


@dataclass(frozen=True, slots=True)
class Admission:
    """The rules of the settings. `redactor`: None when nothing is redacted for anybody."""

    trust: TrustRules
    source_by: SourceBy
    redactor: _Redacts | None

    @classmethod
    def of(cls, settings: Settings) -> "Admission":
        """Read the rules; raises `BadSetting`."""
        redactor: _Redacts | None = None
        if settings.redaction is not RedactionMode.OFF or settings.redaction_file is not None:
            # the numbering plans and patterns cost memory and start-up time: only for who uses them
            from memory.redaction import Redactor

            redactor = Redactor.of(settings)
        return cls(TrustRules.of(settings), settings.trust_source, redactor)

    def admit(self, event: AgentEvent, record: Record) -> tuple[AgentEvent, Trust]:
        """Give the event as it may be stored, and its source's trust.

        Raises `SourceMismatch`, `RecalledText`, `Quarantined`, `SensitiveData`, `OversizeEvent`.
        """
        if self.source_by is SourceBy.HEADER:
            event = _from(event, header(record, SOURCE_HEADER))
        check_recalled(event, marked=header(record, RECALLED_HEADER) not in (None, "", "0", "false"))
        trust = self.trust.admitted(event)
        return (event if self.redactor is None else self.redactor.redact(event)), trust


def trust_headers(trust: Trust) -> tuple[tuple[str, bytes], ...]:
    """Give the headers of `memory.events` that carry the trust."""
    return () if trust is Trust.NORMAL else ((TRUST_HEADER, trust.value.encode()),)


def trust_of(record: Record) -> Trust:
    """Give the trust that intake gave a record of `memory.events`; a word that intake does not write is `untrusted`."""
    given = header(record, TRUST_HEADER)
    if given is None:
        return Trust.NORMAL
    return Trust(given) if given in (Trust.TRUSTED, Trust.UNTRUSTED) else Trust.UNTRUSTED


def _from(event: AgentEvent, source: str | None) -> AgentEvent:
    """Give the event under the source of its header; without the header it has no source that counts."""
    if event.source == source:
        return event
    if event.source is not None:
        raise SourceMismatch("the payload's source is not that of its header magma-source")
    return validate_event({**event.model_dump(), "source": source})
