"""What is known of the spellings of a tenant, as it is stored: rows of `Name` nodes to values and back. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory.events import uid
from memory.identity import Known, Standing
from memory.relations import EntityType, Mention

#: Of types that were said with equal confidence the first of these counts.
_PRECEDENCE = (
    EntityType.PERSON,
    EntityType.AGENT,
    EntityType.SERVICE,
    EntityType.PLACE,
    EntityType.ORGANISATION,
    EntityType.PRODUCT,
    EntityType.HAPPENING,
    EntityType.WORK,
    EntityType.IDENTIFIER,
    EntityType.VERSION,
    EntityType.PATH,
)


@dataclass(frozen=True, slots=True)
class Name:
    """A spelling: what is known of it, how much its type weighs, and the entity `key` that it stands for ("": none)."""

    known: Known
    weight: float = 0.0
    key: str = ""
    rule: str = "exact"
    confidence: float = 1.0

    @property
    def form(self) -> str:
        """The normal form."""
        return self.known.form

    def row(self, tenant: str) -> dict[str, Any]:
        """Give the properties of its node."""
        return {
            "uid": uid(tenant, self.form),
            "name": {
                "tenant": tenant,
                "form": self.form,
                "key": self.key,
                "type": self.known.type,
                "weight": self.weight,
                "standing": int(self.known.standing),
                "pinned": self.known.pinned,
                "rule": self.rule,
                "confidence": self.confidence,
            },
        }


def name_of(row: Sequence[Any]) -> Name:
    """Read a row of `NAMES_READ` or `NAMES_HOLD`."""
    form, key, kind, weight, standing, pinned, rule, confidence = row
    known = Known(form, kind or "", Standing(standing or 0), pinned or "")
    return Name(known, float(weight or 0.0), key or "", rule or "exact", float(confidence or 1.0))


def weight_of(mention: Mention) -> float:
    """Say how much a mention's type counts: its confidence, then a fixed order of types; 0 says nothing."""
    if mention.entity_type in {EntityType.OTHER, ""}:
        return 0.0
    place = _PRECEDENCE.index(EntityType(mention.entity_type))
    return round(mention.provenance.confidence + (len(_PRECEDENCE) - place) / 1_000, 6)


def standing_of(mention: Mention) -> Standing:
    """Say how much a mention shows that its spelling is a name."""
    if mention.spoken:
        return Standing.ANCHORED
    return Standing.DOUBTFUL if mention.doubtful else Standing.SURE


def learned(stored: dict[str, Name], mentions: Iterable[Mention]) -> dict[str, Name]:
    """Give the names that the mentions teach something new, as they are then; their entities are still to be found.

    Everything learned only rises, so the order of mentions does not count.
    """
    now: dict[str, Name] = {}
    for mention in mentions:
        before = now.get(mention.key) or stored.get(mention.key)
        name = before or Name(Known(mention.key, standing=Standing.DOUBTFUL))
        weight, standing = weight_of(mention), max(name.known.standing, standing_of(mention))
        known = replace(name.known, standing=standing)
        if not mention.doubtful and weight > name.weight:
            name, known = replace(name, weight=weight), replace(known, type=mention.entity_type)
        name = replace(name, known=known)
        if name != before:
            now[mention.key] = name
    return {form: name for form, name in now.items() if stored.get(form) != name}
