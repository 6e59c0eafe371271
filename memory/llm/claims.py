"""Causal claims in a text: which words name the cause, which the effect, and the cue phrase between them.

A claim is a reading of one sentence; which events it speaks of is for `memory.llm.cue_rules` to find. Questions,
guesses, conditions, denials and quoted text make no claim, nor does a word that may only tell the time ("since").
All patterns read one sentence of bounded length and take time linear in it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from memory.relations import CausalKind

#: Longest text that is read for claims, in characters: a page or a report quotes the causes of other things.
MAX_CHARS = 1_500
_MAX_SENTENCES = 24
_MAX_SENTENCE_CHARS = 400
_MAX_CLAUSE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Claim:
    """`cause` and `effect`: the words for each, "" when the sentence leaves it to what stands before.

    `cause` is "" for "that is why ..."; `earlier` then holds the sentence before in the same text, "" at its beginning.
    `effect` is "" for "Because ...", an answer. `firm`: the cue always points back; `forward`: the cause comes first.
    """

    cause: str
    effect: str
    cue: str
    rule: str
    kind: CausalKind
    confidence: float
    earlier: str = ""
    firm: bool = True
    forward: bool = False


_LEADS, _ENABLES, _PREVENTS = CausalKind.LEADS_TO, CausalKind.ENABLES, CausalKind.PREVENTS

_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
_QUOTED = re.compile(r"```.*?(?:```|\Z)|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d|`[^`\n]*`|^[ \t]*>[^\n]*", re.S | re.M)
_CONDITION = re.compile(
    r"\b(?:if|whether|unless|suppose|assuming|imagine|in case|perhaps|maybe|possibly|probably|presumably|apparently"
    r"|might|may(?! \d)|could(?! not|n['\u2019]t)|would(?! not|n['\u2019]t)|should(?! not)|wonder|doubt|suspects?"
    r"|guess|unsure|not sure|unclear|hypothes\w+|theory|hopefully|seems?|let['\u2019]s|rumou?rs?)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"(?:\b(?:not|never|no|hardly|neither|nor)|n['\u2019]t)\s+(?:\w+ly\s+|\w+\s+)?$", re.IGNORECASE)
_DENIED_HERE = re.compile(r"(?:\b(?:not|never|hardly)|n['\u2019]t)\s+(?:at all\s+)?$", re.IGNORECASE)
_PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being|gets?|got)\s+(?:\w+ly\s+)?$", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\W*(?:(?:all )?(?:of )?(?:this|that|it|these|those|them)|which)(?:\s+(?:is|was|has|had|then|also|in turn"
    r"|alone|one|\w+ly))?\W*",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w\w")

#: effect CUE cause
_BACKWARD = re.compile(
    r"\b(?:(?P<leads>because(?: of)?|due to|owing to|(?:caused|triggered|prompted|provoked|set off|knocked out) by"
    r"|as a (?:direct )?(?:result|consequence) of|in (?:response|reaction) to|thanks to|stem(?:s|med|ming)? from"
    r"|result(?:s|ed|ing) from|brought (?:on|about|down) by|on account of|in (?:the )?(?:wake|light) of|blamed on"
    r"|traced (?:back )?to|given that|(?:fixed|resolved|solved|repaired|cured|cleared|mitigated|remedied) by"
    r"|(?:cause|culprit|reason)(?: of [^.,;:]{1,60}| for [^.,;:]{1,60})? (?:is|was|turned out to be)(?: that)?)"
    r"|(?P<enables>(?:enabled|unblocked|unlocked|allowed) by|made possible by|now that)"
    r"|(?P<prevents>(?:blocked|prevented|stopped|halted|held up|stalled|foiled|thwarted) by))\b",
    re.IGNORECASE,
)
#: "after X failed, we ...": the clause is the cause because it tells of a failure, not of a time.
_AFTER = re.compile(
    r"\b(?P<cue>after|when|once|as soon as)\s+(?P<clause>[^.;!?,\n]{3,120}?\b(?:fail(?:ed|s|ure)|crash(?:ed"
    r"|es)?|broke(?: down)?"
    r"|errored|timed out|went down|died|collapsed|(?:was|were|got) (?:refused|rejected|denied|lost|full"
    r"|cancell?ed|closed|reverted)"
    r"|ran out|gave up|overflowed|expired|leaked|stalled))\b",
    re.IGNORECASE,
)
#: cause CUE effect
_FORWARD = re.compile(
    r"(?P<which>\bwhich\s+(?:then |also |in turn |has |had )?)?\b(?:(?P<leads>(?:led|leads|leading) to"
    r"|caus(?:ed|es|ing)(?! by)|result(?:ed|s|ing) in"
    r"|trigger(?:ed|s|ing)(?! by)|(?:brought|knocked|took) (?:down|out)(?! by)|gave rise to|set off(?! by)"
    r"|sparked(?! by)"
    r"|provoked(?! by)|forc(?:ed|es|ing)(?! by)|(?:is|was) (?:the reason )?why|meant that|(?:is|was) (?:the|a"
    r"|our) (?:root )?cause of|made it \w+)"
    r"|(?P<enables>(?:enabled|allowed|allows|unblocked|unlocked)(?! by)|let us|made it possible|paved the way for)"
    r"|(?P<prevents>(?:prevent(?:ed|s|ing)|block(?:ed|s|ing)|thwart(?:ed|s)|foiled)(?! by)"
    r"|(?:kept|keeps|stopped|stops)(?= [^.,;]{2,60} from\b)))\b",
    re.IGNORECASE,
)
#: cause, CUE effect in one sentence
_HENCE = re.compile(
    r"(?:,|;|\s[-\u2013\u2014]|\u2014)\s*(?:and )?(?P<cue>so(?! that| far| much| many| long| on| forth| called)"
    r"|therefore|thus"
    r"|hence|consequently|as a result(?! of)|accordingly|which (?:is|was) why|that(?:'s|\u2019s| is| was) why"
    r"|which (?:meant|means|made|makes|left|leaves|let|lets|broke|breaks|sent|drove|pushed|threw|filled|killed"
    r"|stopped))\b",
    re.IGNORECASE,
)
#: At the beginning of a sentence: the cause is what was said before.
_OPENING = re.compile(
    r"^\W{0,3}(?:and |but )?(?P<cue>as a (?:direct )?(?:result|consequence)(?! of)|therefore|thus|consequently"
    r"|hence|accordingly"
    r"|in (?:response|consequence)(?! to| of)|(?:because of|due to|thanks to|in response to|given"
    r"|after) (?:all )?(?:that|this)(?= *,|$)"
    r"|(?:because of|due to|thanks to|given|with) (?:that|this)\b"
    r"|(?:that|this)(?:'s|\u2019s| is| was) (?:exactly |precisely )?(?:why|the reason)|for (?:that|this) reason"
    r"|(?:this|that|it|which) (?:has |had |then |also |in turn |has also )?(?:led to|caus(?:ed|es)|trigger(?:ed"
    r"|s)|made|makes|broke|forc(?:ed|es)|result(?:ed|s) in"
    r"|meant|means that|block(?:ed|s)|prevent(?:ed|s)|stopped|kept|allow(?:ed|s)|enabled|let us|unblocked"
    r"|brought down|knocked out|took down"
    r"|left|explains|set off|is why|was why))\b",
    re.IGNORECASE,
)
#: "So we ...": weaker than the openings above, as talk begins with it too.
_SO = re.compile(
    r"^\W{0,3}(?:and )?(?P<cue>so),? (?:i|we|they|he|she|(?:the|my|our|his|her) \w+|[A-Z]\w+)"
    r"(?:['\u2019](?:ve|ll|m|re|s|d)| (?:have|had|am|are|was|were|will|must|need to|has"
    r"|did))?(?: \w+){0,2}? (?:\w+ed|\w+ing|went|took|made|put"
    r"|got|gave|sent|ran|left|kept|found|set|cut|bought|began|chose|told|wrote|switched|had|brought|built|sold"
    r"|paid|met)\b",
    re.IGNORECASE,
)
_PREVENTING = re.compile(r"\b(?:block|prevent|stopp|kept)", re.IGNORECASE)
_ENABLING = re.compile(r"\b(?:allow|enabl|unblock|let us)", re.IGNORECASE)


@lru_cache(maxsize=8_192)
def claims(text: str) -> tuple[Claim, ...]:
    """Give the causal claims of a text in its order; none of a text longer than `MAX_CHARS`."""
    if len(text) > MAX_CHARS:
        return ()
    masked = _QUOTED.sub(lambda match: " " * len(match.group()), text)
    made: list[Claim] = []
    earlier = ""
    for start, end in _sentences(masked):
        sentence = _Sentence(text[start:end], masked[start:end], earlier)
        if not sentence.said.rstrip().endswith("?"):
            made.extend(_read(sentence))
        earlier = sentence.text
    return tuple(made)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One sentence: its `text`, the same with quotations blanked (`said`), and the sentence before it."""

    text: str
    said: str
    earlier: str


def _sentences(masked: str) -> Iterator[tuple[int, int]]:
    start = number = 0
    ends = [(match.start(), match.end()) for match in _BREAK.finditer(masked)]
    for end, behind in [*ends, (len(masked), len(masked))]:
        if _WORD.search(masked, start, end):
            yield start, min(end, start + _MAX_SENTENCE_CHARS)
            number += 1
            if number == _MAX_SENTENCES:
                return
        start = behind


def _read(sentence: _Sentence) -> Iterator[Claim]:
    opening = _OPENING.search(sentence.said)
    if opening is not None:
        if not _CONDITION.search(sentence.said):
            yield _opened(sentence, opening, 0.8, firm=True)
        return
    so = _SO.search(sentence.said)
    if so is not None and not _CONDITION.search(sentence.said):
        rest = sentence.text[so.end("cue") :]
        yield Claim("", _cut(rest), "so", "cue-so", _LEADS, 0.75, sentence.earlier, firm=False)
    yield from _backward(sentence)
    yield from _after(sentence)
    yield from _forward(sentence)
    yield from _hence(sentence)


def _opened(sentence: _Sentence, match: re.Match[str], confidence: float, *, firm: bool) -> Claim:
    cue = match["cue"]
    kind = _PREVENTS if _PREVENTING.search(cue) else _ENABLES if _ENABLING.search(cue) else _LEADS
    rest = _cut(sentence.text[match.end("cue") :])
    return Claim("", rest, cue, "cue-that-is-why", kind, confidence, sentence.earlier, firm=firm)


def _backward(sentence: _Sentence) -> Iterator[Claim]:
    for match in _BACKWARD.finditer(sentence.said):
        front = sentence.said[: match.start()]
        if _CONDITION.search(front) or _DENIED_HERE.search(front):
            continue
        kind, cue = _kind(match), match.group()
        effect, cause = sentence.text[: match.start()], sentence.text[match.end() :]
        if not _WORD.search(effect):
            cause, _, effect = cause.partition(",")  # "Because of X, Y": the clause ends where the effect begins
        if _CONDITION.search(cause) or not _WORD.search(cause):
            continue
        named = "" if _PRONOUN.fullmatch(_head(cause)) else _cut(cause)
        yield Claim(named, _cut(effect, last=True), cue, "cue-because", kind, 0.8, sentence.earlier)


def _after(sentence: _Sentence) -> Iterator[Claim]:
    for match in _AFTER.finditer(sentence.said):
        front, clause = sentence.said[: match.start()], sentence.text[match.start("clause") : match.end("clause")]
        rest = sentence.text[match.end() :].lstrip(" ,") if not _WORD.search(front) else front
        if _WORD.search(rest) and not _CONDITION.search(sentence.said) and not _PRONOUN.match(clause + " "):
            yield Claim(_cut(clause), _cut(rest), match["cue"], "cue-after-failure", _LEADS, 0.75)


def _forward(sentence: _Sentence) -> Iterator[Claim]:
    for match in _FORWARD.finditer(sentence.said):
        front = sentence.said[: match.start()]
        if _CONDITION.search(front) or _DENIED.search(front) or _PASSIVE.search(front):
            continue
        cause, effect = sentence.text[: match.start()], sentence.text[match.end() :]
        if not _WORD.search(effect) or not _WORD.search(cause):
            continue
        cue = match.group()
        if _PRONOUN.fullmatch(_head(cause, last=True)):
            cause = ""
        yield Claim(
            _cut(cause, last=True), _cut(effect), cue, "cue-led-to", _kind(match), 0.8, sentence.earlier, forward=True
        )


def _hence(sentence: _Sentence) -> Iterator[Claim]:
    match = _HENCE.search(sentence.said)
    if match is None:
        return
    cause, effect = sentence.text[: match.start()], sentence.text[match.end() :]
    if _WORD.search(cause) and _WORD.search(effect) and not _CONDITION.search(sentence.said):
        yield Claim(_cut(cause, last=True), _cut(effect), match["cue"], "cue-so", _LEADS, 0.75, forward=True)


def _kind(match: re.Match[str]) -> CausalKind:
    return _ENABLES if match["enables"] else _PREVENTS if match["prevents"] else _LEADS


def _head(clause: str, *, last: bool = False) -> str:
    """Give the part of a clause that touches the cue: up to the first comma, or from the last."""
    return clause.rpartition(",")[2] if last else clause.partition(",")[0]


def _cut(clause: str, *, last: bool = False) -> str:
    kept = clause[-_MAX_CLAUSE_CHARS:] if last else clause[:_MAX_CLAUSE_CHARS]
    return " ".join(kept.split()).strip(" ,;:-")
