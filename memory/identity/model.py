"""What the resolver knows of a spelling, and what it says of it."""

from dataclasses import dataclass
from enum import IntEnum

from memory.relations import EntityType

#: Types of what may be a person's name: nothing says that it is something else.
MAY_BE_PERSON = frozenset({EntityType.PERSON.value, EntityType.AGENT.value, EntityType.OTHER.value, ""})
#: Types of what is also called by its last word alone: "the Ashen Vale", "the Vale".
NAMED_BY_LAST_WORD = frozenset(
    {
        EntityType.OTHER.value,
        EntityType.PLACE.value,
        EntityType.ORGANISATION.value,
        EntityType.WORK.value,
        EntityType.HAPPENING.value,
    }
)
_MACHINE = frozenset({"agent", "bot", "assistant", "service", "system"})


#: What `Known.pinned` says of a spelling that others were bound to: it stands for itself and joins nothing.
HELD = "*"


class Standing(IntEnum):
    """How much a spelling is known to be a name; it only rises."""

    DOUBTFUL = 0  # seen where any word could stand: at the start of a sentence, or in lower case
    SURE = 1  # seen as a name
    ANCHORED = 2  # a producer says that it spoke or acted: who is called so is never taken for another


@dataclass(frozen=True, slots=True)
class Known:
    """A spelling (`form`, a normal form) with all that its mentions say of it.

    `type`: the best of the types that its mentions gave; `pinned`: the form that an operator or a model bound it to,
    itself when an operator keeps it apart, `HELD` when others are bound to it, "" without.
    """

    form: str
    type: str = ""
    standing: Standing = Standing.SURE
    pinned: str = ""

    @property
    def bound(self) -> str:
        """The other form that an operator or a model bound it to, "" without."""
        return "" if self.pinned in {HELD, self.form} else self.pinned

    @property
    def sure(self) -> bool:
        """Whether it is known to be a name."""
        return self.standing >= Standing.SURE

    @property
    def anchored(self) -> bool:
        """Whether a producer speaks or acts under it."""
        return self.standing is Standing.ANCHORED

    @property
    def machine(self) -> bool:
        """Whether it names itself a machine: its parts are no first and last names."""
        return self.form.rpartition(" ")[2] in _MACHINE

    @property
    def person(self) -> bool:
        """Whether it surely is somebody with a first or a last name."""
        return self.sure and self.type == EntityType.PERSON and not self.machine


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a spelling stands for: the `key` of its entity, "" while nothing says that it is a name at all."""

    key: str
    rule: str = "exact"
    confidence: float = 1.0
