"""What a recogniser finds: a span of a text, of what kind, and in what form it is compared with others."""

from dataclasses import dataclass
from enum import StrEnum


class DataKind(StrEnum):
    """Kinds of data that a policy has a mode for."""

    SECRET = "secret"  # noqa: S105 - the name of a kind
    CARD = "card"
    MAIL = "mail"
    PHONE = "phone"


@dataclass(frozen=True, slots=True)
class Finding:
    """`start`, `end`: half-open. `value`: the same for two spellings of the same thing, as far as that is known."""

    start: int
    end: int
    kind: DataKind
    value: str
