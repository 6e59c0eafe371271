"""Values that events give for an attribute of a subject, and which of them supersedes which (magma.md, "Supersession").

Pure. The statements of one slot (subject, attribute) stand in the order of event time; where the value changes, the
first event of the new value supersedes those that said the old one. Nothing is deleted: the older events stay.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from memory.names import normal_form
from memory.relations import Provenance

#: Events with the old value that one event is linked to: the last ones.
MAX_OLDER = 8


@dataclass(frozen=True, slots=True)
class Fact:
    """An event says that `attribute` of `subject` is `value`. Subject and attribute are normal forms."""

    event: str
    subject: str
    attribute: str
    value: str
    provenance: Provenance

    @property
    def slot(self) -> str:
        """The one name of subject and attribute."""
        return f"{self.subject}|{self.attribute}"

    @property
    def sign(self) -> str:
        """A digest of the value, in which its spelling does not count."""
        return value_sign(self.value)


@dataclass(frozen=True, slots=True)
class Said:
    """One statement of a slot: place in event time, event id and digest of the value."""

    place: str
    event: str
    sign: str


@dataclass(frozen=True, slots=True)
class Supersession:
    """Edge newer → older event. `old`, `new`: the values as they were said; `withdrawn`: a late event came between."""

    newer: str
    older: str
    subject: str
    attribute: str
    old: str
    new: str
    provenance: Provenance
    withdrawn: bool = False


def value_sign(value: str) -> str:
    """Give a short digest of a value's normal form (of the value itself when nothing is left of it)."""
    form = normal_form(value) or value.strip()
    return hashlib.blake2b(form.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def superseding(said: Iterable[Said]) -> set[tuple[str, str]]:
    """Give the pairs (newer, older) of a slot's statements; depends on the set alone."""
    ordered = sorted(set(said), key=lambda one: (one.place, one.event))
    runs: list[Sequence[Said]] = [list(run) for _, run in groupby(ordered, key=lambda one: one.sign)]
    return {(new[0].event, one.event) for old, new in pairwise(runs) for one in old[-MAX_OLDER:]}
