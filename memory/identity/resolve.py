"""From a set of spellings to entities: the same set gives the same entities, in whatever order it came together.

A spelling joins a fuller one when, in the first tier of rules that has an answer, everything that it fits is one
entity; when two entities fit, it stands for itself. Who speaks or acts under a name is never merged with another who
does: there the fuller spelling joins the speaker, when it can be nobody else's. So one more spelling may join others,
and may set apart what it makes ambiguous (magma.md, section 2).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from memory.identity.fits import Fit, fit
from memory.identity.index import Spellings
from memory.identity.model import MAY_BE_PERSON, NAMED_BY_LAST_WORD, Known, Resolution

#: Beyond so many steps from a spelling to a fuller one nothing is joined any more.
_MAX_STEPS = 12


class Pool(Mapping[str, Known]):
    """Spellings and what is known of them, found by what fits them."""

    def __init__(self, names: Iterable[Known] = ()) -> None:
        self._names: dict[str, Known] = {}
        self._spellings = Spellings()
        self._bound: dict[str, set[str]] = {}
        for known in names:
            self.add(known)

    def add(self, known: Known) -> None:
        """Add a spelling, or what is known of it now."""
        self._names[known.form] = known
        self._spellings.add(known.form)
        if known.bound:
            self._bound.setdefault(known.bound, set()).add(known.form)

    def fuller(self, form: str) -> list[str]:
        """Give the other forms that this one fits; types do not count here: they may still change."""
        return self._spellings.fuller(form)

    def onward(self, form: str) -> set[str]:
        """Give the forms that what is decided of this one depends on directly: fuller ones, and what it is bound to."""
        found = set(self._spellings.fuller(form))
        bound = self._names[form].bound if form in self._names else ""
        return found | {bound} if bound in self._names else found

    def back(self, form: str) -> set[str]:
        """Give the forms of which something depends directly on this one: shorter ones, and those bound to it."""
        bound = {other for other in self._bound.get(form, ()) if self._names[other].bound == form}
        return {*self._spellings.shorter(form), *bound}

    def touching(self, form: str) -> list[str]:
        """Give the forms that what is decided of this one can depend on, or that can depend on it, sorted."""
        return sorted(self.onward(form) | self.back(form))

    def __getitem__(self, form: str) -> Known:
        return self._names[form]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def resolve(names: Iterable[Known]) -> dict[str, Resolution]:
    """Resolve every spelling among all those that touch it. Pure; depends on the set alone."""
    return _Resolver(Pool(names)).run()


@dataclass
class _Resolver:
    names: Pool
    done: dict[str, Resolution] = field(default_factory=dict)
    adopted: dict[str, Resolution] = field(default_factory=dict)

    def run(self) -> dict[str, Resolution]:
        order = sorted(self.names)
        self._fuller = {form: self._fuller_of(self.names[form]) for form in order}
        for form in order:
            self._up(form, 0)
        self._adopt()
        return {form: self._final(form) for form in order}

    def _fuller_of(self, short: Known) -> list[tuple[Fit, str]]:
        found = [
            (how, full.form)
            for full in (self.names[form] for form in self.names.fuller(short.form))
            if full.sure and (how := fit(short.form, full.form)) is not None and _allowed(how, short, full)
        ]
        tier = min((how.tier for how, _ in found), default=0)
        return [(how, form) for how, form in found if how.tier == tier]

    def _up(self, form: str, steps: int) -> Resolution:
        """Resolve among fuller forms, speakers staying what they are."""
        if form in self.done:
            return self.done[form]
        known = self.names[form]
        alone = Resolution(form if known.sure else "")
        if steps > _MAX_STEPS:
            return alone
        if known.pinned:
            target = self._up(known.bound, steps + 1) if known.bound in self.names else alone
            found = Resolution(target.key or known.bound, "merged", 1.0) if known.bound else alone
        elif known.anchored:
            found = alone
        else:
            found = self._only(self._fuller[form], steps) or alone
        self.done[form] = found
        return found

    def _only(self, fuller: list[tuple[Fit, str]], steps: int) -> Resolution | None:
        keys = {self._up(full, steps + 1).key for _, full in fuller}
        if len(keys) != 1:
            return None
        how = max((how for how, _ in fuller), key=lambda one: (one.confidence, one.rule))
        return Resolution(keys.pop(), how.rule, how.confidence)

    def _adopt(self) -> None:
        """Let a full form join the one speaker who is called by a part of it, when the speaker can be nobody else."""
        ends = {
            form: known
            for form, known in self.names.items()
            if known.sure and not known.anchored and not known.pinned and self.done[form].key == form
        }
        speakers: dict[str, list[tuple[Fit, str]]] = {}
        called: dict[str, set[str]] = {}
        for speaker in (known for known in self.names.values() if known.anchored):
            for form in (other for other in self.names.fuller(speaker.form) if other in ends):
                known = ends[form]
                how = fit(speaker.form, form)
                if how is not None and (how.tier == 0 or how.first) and _allowed(how, speaker, known):
                    speakers.setdefault(form, []).append((how, speaker.form))
                    if how.tier > 0:
                        called.setdefault(speaker.form, set()).add(form)
        for form, found in speakers.items():
            how, speaker_form = min(found, key=lambda each: (each[0].tier, each[1]))
            rivals = {one for other, one in found if other.tier == how.tier}
            if len(rivals) == 1 and (how.tier == 0 or len(called[speaker_form]) == 1):
                self.adopted[form] = Resolution(self.done[speaker_form].key, how.rule, how.confidence)

    def _final(self, form: str) -> Resolution:
        found = self.done[form]
        end = self.adopted.get(found.key)
        if end is None or end.key == found.key:
            return found
        return end if found.key == form else Resolution(end.key, found.rule, min(found.confidence, end.confidence))


def _allowed(how: Fit, short: Known, full: Known) -> bool:
    """Say whether the types let the words' fit stand."""
    if how.tier == 0:
        return True
    if short.type not in MAY_BE_PERSON and (how.person or short.type not in NAMED_BY_LAST_WORD):
        return False
    if not short.sure and how.tier > 2:
        return False  # an opener of a sentence is only taken for a whole name or a nickname
    if full.person:
        return not short.machine
    return short.sure and not short.anchored and not how.person and full.type in NAMED_BY_LAST_WORD
