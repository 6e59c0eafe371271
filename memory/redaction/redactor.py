"""Takes secrets and personal data out of an event before anything is stored or embedded.

    [card]                       masked
    [card:9f86d081884c7d65]      hashed: HMAC-SHA256 with a key of the tenant's, so equal values stay linkable in it

What comes out depends on the event, the policy and the key alone: every delivery of a record gives the same bytes.
Redacting twice is redacting once.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from memory.errors import Poison
from memory.events import MARK, AgentEvent, validate_event
from memory.redaction.cards import find_cards
from memory.redaction.finding import DataKind, Finding
from memory.redaction.folding import fold
from memory.redaction.mails import find_mails
from memory.redaction.phones import find_phone_value, find_phones, names_a_phone
from memory.redaction.policy import Modes, Policy
from memory.redaction.secrets import find_secrets, names_a_secret
from memory.settings import Settings
from memory.settings_privacy import RedactionMode

_HEX_DIGITS = 16
#: Nothing that has a pattern is shorter.
_SHORTEST = 6
#: Fewer digits, or digits farther apart, are neither a card nor a phone number.
_DIGITS = re.compile(r"(?:\d\D{0,4}){7}")


class SensitiveData(Poison):
    """Raised when an event holds what its tenant's policy refuses; says which kinds and where, never what."""

    code = "sensitive_data"


class Redactor:
    """Redacts events by the policy of the settings. Pure CPU: call it in a thread."""

    def __init__(self, policy: Policy, key: bytes = b"") -> None:
        self._policy = policy
        self._key = key

    @classmethod
    def of(cls, settings: Settings) -> "Redactor | None":
        """Give the redactor of the settings, None when nothing is redacted; raises `BadSetting` as `Policy.of`."""
        policy = Policy.of(settings)
        return None if policy.off else cls(policy, settings.redaction_key.get_secret_value().encode())

    def redact(self, event: AgentEvent) -> AgentEvent:
        """Give the event without what its tenant's policy keeps out: text, speaker, entities and attributes.

        Raises `SensitiveData` where the policy refuses, `OversizeEvent` or `MalformedEvent` when the marks make the
        event larger than its bounds.
        """
        modes = self._policy.modes(event.tenant)
        if not modes:
            return event
        one = _Redaction(modes, self._policy.regions, _tenant_key(self._key, event.tenant))
        changed: dict[str, Any] = {}
        text = one.text(event.text, "text")
        if text != event.text:
            changed["text"] = text
        if event.speaker is not None and (speaker := one.text(event.speaker, "speaker")) != event.speaker:
            changed["speaker"] = speaker
        entities = tuple(one.text(name, "entities") for name in event.entities)
        if entities != event.entities:
            changed["entities"] = tuple(dict.fromkeys(entities))
        if event.attributes and (attributes := one.value(event.attributes)) != event.attributes:
            changed["attributes"] = attributes
        if one.refused:
            where = "; ".join(f"{kind} in {', '.join(fields)}" for kind, fields in sorted(one.refused.items()))
            raise SensitiveData(
                f"the policy refuses {where}", hint="send the event without it, or change the tenant's policy"
            )
        return validate_event({**event.model_dump(), **changed}) if changed else event


class _Redaction:
    """One event being redacted."""

    def __init__(self, modes: Modes, regions: Sequence[str], key: bytes) -> None:
        self._modes = modes
        self._regions = regions
        self._key = key
        #: By kind the fields in which something was refused.
        self.refused: dict[str, dict[str, None]] = {}

    def text(self, text: str, field: str) -> str:
        """Redact a text."""
        if len(text) < _SHORTEST:
            return text
        folded = fold(text)
        found = [Finding(*folded.original(one.start, one.end), one.kind, one.value) for one in self._find(folded.text)]
        return self._without(text, found, field) if found else text

    def value(self, value: Any, name: str = "") -> Any:
        """Redact a JSON value called `name`, with what is inside; its depth is bounded by the event's decoding."""
        match value:
            case dict():
                return self._mapping(value)
            case list() | tuple():
                return [self.value(item, name) for item in value]
            case bool() | None | float():
                return value
            case int():
                written = str(value)
                redacted = self._named(written, name) or self.text(written, "attributes")
                return value if redacted == written else redacted
            case str():
                return self._named(value, name) or self.text(value, "attributes")
        return value

    def _mapping(self, given: Mapping[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, item in given.items():
            name = redacted = self.text(key, "attributes")
            count = 1
            while name in made:  # two names with one mark stay two
                count += 1
                name = f"{redacted} {count}"
            made[name] = self.value(item, key)
        return made

    def _named(self, value: str, name: str) -> str | None:
        """Redact a whole value whose name says what it is."""
        if not name or not value.strip() or is_mark(value):
            return None
        if DataKind.SECRET in self._modes and names_a_secret(name, value):
            return self._without(value, [Finding(0, len(value), DataKind.SECRET, value)], "attributes")
        if DataKind.PHONE in self._modes and names_a_phone(name) and (found := find_phone_value(value, self._regions)):
            return self._without(value, [found], "attributes")
        return None

    def _find(self, text: str) -> Iterable[Finding]:
        modes = self._modes
        if DataKind.SECRET in modes:
            yield from find_secrets(text)
        if DataKind.MAIL in modes and ("@" in text or "%40" in text):
            yield from find_mails(text)
        if not (DataKind.CARD in modes or DataKind.PHONE in modes) or not _many_digits(text):
            return
        if DataKind.CARD in modes:
            yield from find_cards(text)
        if DataKind.PHONE in modes:
            yield from find_phones(text, self._regions)

    def _without(self, text: str, found: Sequence[Finding], field: str) -> str:
        parts: list[str] = []
        at = 0
        for one in _apart(found):
            mode = self._modes[one.kind]
            if mode is RedactionMode.REFUSE:
                self.refused.setdefault(one.kind.value, {})[field] = None
            parts += (text[at : one.start], self._mark(one, mode))
            at = one.end
        return "".join((*parts, text[at:]))

    def _mark(self, one: Finding, mode: RedactionMode) -> str:
        if mode is not RedactionMode.HASH:
            return f"[{one.kind}]"
        seen = f"{one.kind}\0{one.value}".encode(errors="surrogatepass")
        return f"[{one.kind}:{hmac.new(self._key, seen, hashlib.sha256).hexdigest()[:_HEX_DIGITS]}]"


def is_mark(value: str) -> bool:
    """Tell whether a whole value is one of the marks that redaction leaves."""
    return MARK.fullmatch(value) is not None


def _many_digits(text: str) -> bool:
    return _DIGITS.search(text) is not None


def _apart(found: Sequence[Finding]) -> Iterator[Finding]:
    """Join spans that overlap; the one that begins first, or of these the longest, says of what kind it is."""
    current: Finding | None = None
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if current is None or one.start >= current.end:
            if current is not None:
                yield current
            current = one
        elif one.end > current.end:
            current = Finding(current.start, one.end, current.kind, f"{current.value}\0{one.value}")
    if current is not None:
        yield current


@lru_cache(maxsize=1_024)
def _tenant_key(key: bytes, tenant: str) -> bytes:
    return hmac.new(key, tenant.encode(), hashlib.sha256).digest()
