"""Causes that the words show: a cue phrase with its direction, resolved to the earlier event that it speaks of.

"We rolled back because the tax calculator crashed": the clause behind the cue is looked for among the events before;
what shares enough of its words and names is the cause, the nearest of equals. A clause that fits no event gives no
edge, and a cue that may be about time ("since") is no cue.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory.events import EventKind, EventNode
from memory.llm.model import FoundCause
from memory.llm.words import Overlap, names_of, overlap, stems
from memory.names import normal_form
from memory.relations import CausalKind

#: How many events back in the session a cause is looked for.
CUE_REACH = 24
#: Longest text that is read for cues, in characters: a page or a report quotes the causes of other things.
MAX_CHARS = 1_000
#: Longest text that can be the event of a clause.
MAX_CAUSE_CHARS = 2_000
#: Least share of a clause's content words that its event must have; less is enough when they share a name too.
LEAST_SHARE = 0.5
LEAST_SHARE_WITH_NAME = 0.34

_STOP = r"[^.;!?\n]"
_CLAUSE = rf"(?P<clause>{_STOP}{{3,160}})"
#: effect CUE cause
_BACKWARD = re.compile(
    r"\b(?P<cue>because(?: of)?|due to|owing to|caused by|triggered by|as a result of|in response to|thanks to"
    r"|stems? from|the (?:root )?cause (?:is|was)|brought (?:on|about) by|on account of)\b[ ,:]*" + _CLAUSE,
    re.IGNORECASE,
)
#: "after X failed, we ..." and "X failed, so we ...": the clause in front is the cause
_AFTER = re.compile(
    r"\b(?P<cue>after|now that|when)\s+(?P<clause>[^.;!?,\n]{3,120}?\b(?:fail(?:ed|s|ure)|crash(?:ed|es)|broke|errored"
    r"|timed out|went down|was (?:refused|rejected|denied|lost|full)|ran out[^.;!?,\n]{0,40}))\b",
    re.IGNORECASE,
)
#: cause CUE effect, the whole event being the effect of one before it
_OPENING = re.compile(
    r"^\W{0,3}(?P<cue>as a result(?! of)|therefore|consequently|hence|that(?:'s|\u2019s| is) why"
    r"|for (?:that|this) reason|because of (?:that|this)"
    r"|so (?:i|we) (?:have |had |am |are |was |were |will |'ll |'ve )?(?:\w+ ){0,2}\w+ed)\b",
    re.IGNORECASE,
)
#: "X led to Y": both may be events of their own
_FORWARD = re.compile(
    rf"(?P<first>{_STOP}{{3,160}}?)\b(?P<cue>led to|leads to|caused|causes|resulted in|results in|triggered"
    rf"|brought down|is why|was why)\b\s*(?!by\b)(?P<second>{_STOP}{{3,160}})",
    re.IGNORECASE,
)
#: A guess or a denial in front of a cue, and a clause about what did not happen: neither shows a cause among events.
_NEGATED = re.compile(
    r"(?:\b(?:not|never|no|unlikely|whether|if|maybe|perhaps|may|might|could|possibly|probably|likely)|n['\u2019]t)"
    r"\s+(?:\w+\s+){0,2}$",
    re.IGNORECASE,
)
_ABSENT = re.compile(r"\b(?:not|no|never|yet|nothing|nobody|without|unable|cannot)\b|n['\u2019]t\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Fit:
    event: EventNode
    found: Overlap
    distance: int

    @property
    def score(self) -> tuple[float, int]:
        """Share of the clause's words, a name counting as much as a third of them; then nearness."""
        return (round(self.found.share + 0.34 * min(2, len(self.found.names)), 3), -self.distance)


def cue_causes(events: Sequence[EventNode]) -> Iterator[FoundCause]:
    """Give the causes that cue phrases show among events that stand in the order of their chain."""
    for place, event in enumerate(events):
        before = events[max(0, place - CUE_REACH) : place]
        if before and event.kind is not EventKind.TOOL_CALL and len(event.text) <= MAX_CHARS:
            yield from _behind(event, before)
            yield from _opening(event, before)
            yield from _both_ends(event, before)


def _behind(event: EventNode, before: Sequence[EventNode]) -> Iterator[FoundCause]:
    for pattern, rule, confidence in ((_BACKWARD, "cue-because", 0.8), (_AFTER, "cue-after-failure", 0.75)):
        for match in pattern.finditer(event.text):
            if _NEGATED.search(event.text[max(0, match.start() - 24) : match.start()]):
                continue
            clause = match["clause"]
            if not event.text[: match.start()].strip():
                clause = clause.partition(",")[0]  # "Because of X, Y": the clause ends where the effect begins
            fit = _best(clause, event, before)
            if fit is not None:
                yield _found(fit, event, confidence, rule, match["cue"], clause)


def _opening(event: EventNode, before: Sequence[EventNode]) -> Iterator[FoundCause]:
    """ "As a result, ...": the cause is the nearest of the last events that speaks of the same."""
    match = _OPENING.search(event.text)
    if match is None:
        return
    rest = event.text[match.end("cue") :]
    for distance, candidate in enumerate(reversed(before[-4:]), start=1):
        found = overlap(rest, names_of(event), candidate)
        if (found.names and found.stems) or len(found.stems) >= 2:
            yield _found(_Fit(candidate, found, distance), event, 0.75, "cue-as-a-result", match["cue"], rest)
            return


def _both_ends(event: EventNode, before: Sequence[EventNode]) -> Iterator[FoundCause]:
    """ "X led to Y": when X and Y are two events before this one, the first caused the second; else X caused this."""
    for match in _FORWARD.finditer(event.text):
        if _NEGATED.search(event.text[max(0, match.start("cue") - 24) : match.start("cue")]):
            continue
        first = _best(match["first"], event, before)
        if first is None:
            continue
        second = _best(match["second"], event, before)
        if second is not None and second.event.order > first.event.order:
            yield _found(first, second.event, 0.75, "cue-led-to", match["cue"], match["first"])


def _best(clause: str, event: EventNode, before: Sequence[EventNode]) -> _Fit | None:
    """Give the event before that fits the clause best, None when none fits well enough."""
    wanted = stems(clause)
    if len(wanted) < 2 or _ABSENT.search(clause):
        return None
    folded = f" {normal_form(clause)} "
    names = {name for name in names_of(event) if f" {name} " in folded}
    fits = [
        _Fit(candidate, overlap(clause, names, candidate), distance)
        for distance, candidate in enumerate(reversed(before), start=1)
        if len(candidate.text) <= MAX_CAUSE_CHARS
    ]
    good = [fit for fit in fits if _good(fit.found)]
    return max(good, key=lambda fit: fit.score) if good else None


def _good(found: Overlap) -> bool:
    if found.names:
        others = found.stems - {stem for name in found.names for stem in stems(name)}
        return bool(others) and found.share >= LEAST_SHARE_WITH_NAME
    return len(found.stems) >= 2 and found.share >= LEAST_SHARE


def _found(fit: _Fit, effect: EventNode, confidence: float, rule: str, cue: str, clause: str) -> FoundCause:
    why = f'"{cue.lower()}" {" ".join(clause.split())}'[:200]
    return FoundCause(fit.event.id, effect.id, CausalKind.LEADS_TO, confidence, why, rule)
