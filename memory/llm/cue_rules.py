"""Causes that the words show: a claim with its direction (`memory.llm.claims`), resolved to the events it speaks of.

"We rolled back because the tax calculator crashed": the clause behind the cue is looked for among the events before;
what shares enough of its words and names is the cause, the nearest of equals. A clause that fits no event gives no
edge. "That is why ..." draws on the event before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory.events import EventKind, EventNode
from memory.llm import speech
from memory.llm.claims import Claim, claims
from memory.llm.model import FoundCause
from memory.llm.scene import Scene, found
from memory.llm.words import Overlap, absent, names_of, overlap, stems, telling
from memory.names import normal_form

#: Longest text that can be the event of a clause, in characters.
MAX_CAUSE_CHARS = 2_000
#: Least share of a clause's content words that its event must have; less is enough when they share a name too.
LEAST_SHARE = 0.5
LEAST_SHARE_WITH_NAME = 0.34
#: Share from which on a clause tells of an event again, instead of telling something new about it.
RETOLD_SHARE = 0.6
#: How many events back "that is why" may draw on, and a told effect is looked for.
ANTECEDENT_REACH = 4
TOLD_REACH = 8


@dataclass(frozen=True, slots=True)
class _Fit:
    event: EventNode
    found: Overlap
    distance: int

    @property
    def score(self) -> tuple[float, int]:
        """Share of the clause's words, a name counting as much as a third of them; then nearness."""
        return (round(self.found.share + 0.34 * min(2, len(self.found.names)), 3), -self.distance)


def cue_causes(scene: Scene) -> Iterator[FoundCause]:
    """Give the causes that claims of this event and of the events before it show."""
    if scene.event.kind is EventKind.TOOL_CALL or not scene.before:
        return
    for claim in claims(scene.event.text):
        yield from _resolve(claim, scene)
    yield from _foretold(scene)


def _resolve(claim: Claim, scene: Scene) -> Iterator[FoundCause]:
    event = scene.event
    why = f'"{claim.cue.lower()}" {claim.cause or claim.effect}'
    cause = _cause_of(claim, scene)
    if cause is None:
        return
    effect = _effect_of(claim, scene, cause)
    if effect is None:
        yield found(cause, event, claim.rule, claim.confidence, why, claim.kind)
    else:
        yield _told(found(cause, effect, claim.rule, claim.confidence, why, claim.kind), event)


def _cause_of(claim: Claim, scene: Scene) -> EventNode | None:
    event = scene.event
    if claim.cause or len(telling(claim.earlier)) >= 2:
        fit = _best(claim.cause or claim.earlier, event, scene.before)
        return fit.event if fit is not None else None
    return _antecedent(claim, scene)


def _antecedent(claim: Claim, scene: Scene) -> EventNode | None:
    """Give the event that "that" stands for: the nearest that shares words with the rest, else the one before."""
    event = scene.event
    for distance, candidate in enumerate(scene.back(ANTECEDENT_REACH), start=1):
        if candidate.kind is EventKind.TOOL_CALL or speech.asks(candidate.text):
            continue
        common = overlap(claim.effect, names_of(event), candidate)
        strong = common.stems & telling(claim.effect)
        if (common.names and strong) or len(strong) >= (1 if distance == 1 else 2):
            return candidate
    last = scene.before[-1]
    if last.kind is EventKind.TOOL_CALL or speech.asks(last.text):
        return None
    own = speech.voice(last) == speech.voice(event)
    return last if claim.firm or own else None


def _effect_of(claim: Claim, scene: Scene, cause: EventNode) -> EventNode | None:
    """Give the earlier event that the claim tells of as the effect; None when this event itself is the effect."""
    event = scene.event
    if event.kind not in {EventKind.MESSAGE, EventKind.NOTE, EventKind.DECISION, EventKind.OBSERVATION}:
        return None
    after = [each for each in scene.before if each.order > cause.order]
    if not claim.effect:
        asked = after[-1] if after else None
        if asked is None or not speech.asks(asked.text):
            return None
        fit = _best(" ".join(speech.questions_of(asked.text)), event, after[:-1])
        return fit.event if fit is not None else None
    fit = _best(claim.effect, event, after)
    if fit is None or fit.found.share < RETOLD_SHARE or len(fit.found.stems) < 2:
        return None
    return fit.event


def _foretold(scene: Scene) -> Iterator[FoundCause]:
    """ "X, which led to Y" in an event that is X itself → the first event behind it that is Y."""
    event = scene.event
    for distance, teller in enumerate(scene.back(TOLD_REACH), start=1):
        if teller.kind is EventKind.TOOL_CALL:
            continue
        between = scene.before[len(scene.before) - distance + 1 :]
        at = len(scene.before) - distance
        for claim in claims(teller.text):
            if not claim.forward or not claim.cause:
                continue
            fit = _best(claim.effect, teller, [event])
            if fit is None or fit.found.share < LEAST_SHARE or _best(claim.effect, teller, between) is not None:
                continue
            if _best(claim.cause, teller, scene.before[:at]) is None:
                why = f'"{claim.cue.lower()}" {claim.effect}'
                yield found(teller, event, claim.rule, claim.confidence, why, claim.kind)
                return


def _best(clause: str, event: EventNode, before: Sequence[EventNode]) -> _Fit | None:
    """Give the event that fits the clause best, None when none fits well enough."""
    wanted = stems(clause)
    if not wanted or not before:
        return None
    folded = f" {normal_form(clause)} "
    names = {name for name in names_of(event) if f" {name} " in folded}
    denied = absent(clause)
    fits = [
        _Fit(candidate, overlap(clause, names, candidate), distance)
        for distance, candidate in enumerate(reversed(before), start=1)
        if len(candidate.text) <= MAX_CAUSE_CHARS
    ]
    good = [fit for fit in fits if _good(fit.found) and (not denied or fit.found.absent)]
    if good:
        return max(good, key=lambda fit: fit.score)
    return _only_word(wanted, clause, fits, denied)


def _good(found: Overlap) -> bool:
    telling_ones = {stem for stem in found.stems if telling(stem)}
    if found.names:
        others = found.stems - {stem for name in found.names for stem in stems(name)}
        return bool(others) and found.share >= LEAST_SHARE_WITH_NAME
    return len(found.stems) >= 2 and bool(telling_ones) and found.share >= LEAST_SHARE


def _only_word(wanted: frozenset[str], clause: str, fits: Sequence[_Fit], denied: bool) -> _Fit | None:
    """ "Because of the strike": a clause of one or two telling words fits the one event that has such a word."""
    told = telling(clause)
    if denied or not told or len(wanted) > 2:
        return None
    having = [fit for fit in fits if fit.found.stems & told]
    return having[0] if len(having) == 1 else None


def _told(cause: FoundCause, by: EventNode) -> FoundCause:
    return FoundCause(cause.cause, cause.effect, cause.kind, cause.confidence, cause.rationale, cause.rule, by.id)
