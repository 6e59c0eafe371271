"""How a turn stands to what was said before: it points back, judges, lets, proposes, or turns to another matter.

Every pattern reads the first words or a bounded part of a text and takes time linear in it.
"""

import re

from memory.events import EventKind, EventNode
from memory.llm import speech, telemetry
from memory.llm.scene import Scene

_READ_CHARS = 600
#: A first sentence of at most so many words without a verb of its own is a fragment, and a question of at most so many
#: words about "it" or "you" is about what was said.
_ELLIPTIC_WORDS = 3
_ASKED_WORDS = 12

_SHIFT = re.compile(
    r"^\W*(?:by the way|btw|unrelated|on another (?:note|topic)|another (?:thing|topic|matter)|different (?:topic"
    r"|matter)"
    r"|off[- ]topic|apropos|before i forget|side note|also,|oh,? and|anyway|changing (?:the )?subject"
    r"|(?:has|have|does|did|is|are|can) (?:any(?:one|body)|some(?:one|body)))\b|^[^.!?]{0,80}\b(?:by the way|btw)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"^\W*(?:i|we)\b(?:['\u2019]\w+)?", re.IGNORECASE)
_GREETS = re.compile(r"^\W*(?:hi|hello|hey|(?:good )?(?:morning|evening|afternoon)|dear|welcome)\b", re.IGNORECASE)
_PREFACE = r"^\W*(?:(?:oh|ah|well|hm+|ok(?:ay)?|yes|no|and|but|so|right|sure)\b[,.! ]+)*"
_POINTS = re.compile(
    _PREFACE + r"(?:that|those|these|this|it|they|she|he|both|neither|same|either|none of (?:it|them|that)|one of them"
    r"|all of (?:it|them|that)|the (?:same|other|first|second|latter|former))\b(?! (?:day|week|time|is raining|rains))",
    re.IGNORECASE,
)
_ADDS = re.compile(
    r"^\W*(?:and|also|plus),? (?:please|he|she|they|it|i|the|my|\w+ (?:is|are|was|has))\b", re.IGNORECASE
)
_JUDGES = re.compile(
    _PREFACE + r"(?:lovely|great|wonderful|hurra[yh]|hooray|nice|phew|excellent|brilliant|perfect|fantastic|splendid"
    r"|super|cool|awesome|amazing|good|bless you|fair enough|fine|agreed|understood|noted|thanks?|thank you|cheers"
    r"|lucky|steep|ouch|ugh|oops|damn|oh no|oh dear|what a|how (?:nice|awful|annoying|odd|strange|sad)|not good|typical"
    r"|strange|odd|weird|interesting|makes sense|sounds?|looks? (?:good|right|fine|wrong|like)|seems?|correct|exactly"
    r"|indeed|true|impressive|congratulations|never mind|too bad|(?:a )?pity|(?:a )?shame|sorry|same here|me too)\b",
    re.IGNORECASE,
)
_ABOUT_IT = re.compile(r"\b(?:it|that|this|those|these|them|they|he|she|him|her|one|there|you)\b", re.IGNORECASE)
_WANTS_DEED = re.compile(r"\b(?:can|could|would|will) you\b", re.IGNORECASE)
_TO_ANYONE = re.compile(r"\b(?:any(?:one|body)|some(?:one|body)|who(?:se turn)?['\u2019]?s?)\b", re.IGNORECASE)
_LETS = re.compile(
    r"\b(?:go(?: ahead| for it| on)?|ok(?:ay)?|fine(?: by me)?|approved?|granted|allowed|confirmed|agreed|yes|yep|sure"
    r"|please|take it|do it|proceed|you may|good to go|signed(?: off)?|cleared|released)\s*[.!,]",
    re.IGNORECASE,
)
_PROPOSES = re.compile(
    r"\b(?:i['\u2019]d|i would|we (?:should|could|might|ought to|had better)|let['\u2019]s|let us|how about|why not"
    r"|what if we|better to|i suggest|i propose|i recommend|shall (?:i|we)|maybe we|it would be (?:best|better)"
    r"|need(?:s)? (?:to|a|an|more|another)|has to|have to|must)\b",
    re.IGNORECASE,
)
_TROUBLE = re.compile(
    r"\b(?:nan|spik(?:e|es|ed|ing)|surg(?:e|es|ed|ing)|anomal\w+|suspicious|unusual(?:ly)?|unexpected(?:ly)?"
    r"|(?:far |well |way |much )?(?:below|above|over|under|beyond|less than|more than|higher than|lower than)"
    r"(?! (?:the )?(?:table|bridge))|alarm|alert|warning|expected [\d.]+|red|excursion|rising|falling|fell|dips?|dipped"
    r"|drip(?:s|ping)?|stall(?:ed|s)?|stopped|eaten|bitten|smok(?:e|ing)|burning|hang(?:s|ing)?|hung|frozen|glitch\w*"
    r"|wobbl\w+|rattl\w+|squeak\w*|complain\w*|charged (?:for|twice)|twice|nobody|no (?:reply|answer|response|flow"
    r"|signal)"
    r"|won['\u2019]t|hurts?|pain|fever|scared|annoyed|angry|upset|worried|sulking|exhausted|poor|bad|worse|worst"
    r"|blown|jam(?:med)?|blocked|closed|cold again|short(?:age|fall)?|overdue|duplicate[sd]?|null|invalid|noise|smell"
    r"|burnt|grinding|odd|strange|weird|off (?:by|the)|zero|stale|violation|unauthori[sz]ed|hole|damp|rust\w*|bent)\b",
    re.IGNORECASE,
)
_MENDS = re.compile(
    r"\b(?:replac(?:ed|ing)|swapp?(?:ed|ing)|repair(?:ed|ing)|fix(?:ed|ing)|reroute?d|patched|put (?:it |a "
    r"|the )?\w* ?in"
    r"|putting (?:it )?in|chang(?:ed|ing)|install(?:ed|ing)|nailed|sealed|tightened|straightened|clean(?:ed|ing)"
    r"|refill(?:ed|ing)|fill(?:ed|ing)|restarted|running|resumed|rescheduled|restored|reconnected|recalibrated"
    r"|realigned|adjusted|corrected|updated|merged|reverted|rolled back|moved|switched|unblocked|removed|cancel\w*"
    r"|cover(?:ed|ing)|reset|rebooted|redone|repeated|reran|rewritten|cordoned|isolated)\b",
    re.IGNORECASE,
)
_WELL = re.compile(
    r"\b(?:steady|healthy|stable|caught up|back (?:to|in|on|up|at|under|below)|no (?:more |further |new )\w+"
    r"|no (?:errors?|loss|nan|resync|dips?|pressure dip|alarms?|warnings?|failures?|leaks?|drops?|timeouts?)"
    r"|0 (?:errors?|failed|failures?)|any ?more|on the curve|in range|within (?:range|limits?|spec)|green"
    r"|normal(?:ly)?|none (?:lost|failed|missing)|dry|loads again|(?:up|on|there|open) again|again"
    r"|works?|holds?|running|fired up|passed|passes|ok|recovered|gone|dry|quiet|clean)\b",
    re.IGNORECASE,
)


def shifts(text: str) -> bool:
    """Say whether a turn says of itself that it turns to another matter: by the way, unrelated, has anybody ..."""
    return _SHIFT.search(text[:_READ_CHARS]) is not None


def points_back(text: str) -> bool:
    """Say whether a turn opens with a word that stands for something said before: that, it, she, both."""
    return _POINTS.match(text[:_READ_CHARS]) is not None


def judges(text: str) -> bool:
    """Say whether a turn opens with a verdict on what was said: lovely, sounds right, a shame."""
    return _JUDGES.match(text[:_READ_CHARS]) is not None and _GREETS.match(text[:_READ_CHARS]) is None


def is_elliptic(text: str) -> bool:
    """Say whether a turn opens with a fragment that says nothing alone: "Tomorrow, please.", "Again?", "Mine."."""
    first = speech.sentences_of(text)[:1]
    if not first or len(first[0].split()) > _ELLIPTIC_WORDS or _SUBJECT.match(first[0]):
        return False
    return _GREETS.match(text[:_READ_CHARS]) is None


def asks_about_it(text: str) -> bool:
    """Say whether a short question is about what was said: with "it", "that" or "you", and not put to anybody."""
    asked = speech.questions_of(text)[:1]
    if not asked or len(asked[0].split()) > _ASKED_WORDS or _TO_ANYONE.search(asked[0]):
        return False
    return _ABOUT_IT.search(asked[0]) is not None and _WANTS_DEED.search(asked[0]) is None


def lets(text: str) -> bool:
    """Say whether a turn allows something: go ahead, fine by me, approved."""
    return _LETS.search(text[:_READ_CHARS]) is not None


def proposes(text: str) -> bool:
    """Say whether a turn says what had better be done: I'd rerun it, let's, it needs a new board."""
    return _PROPOSES.search(text[:_READ_CHARS]) is not None


def is_trouble(event: EventNode) -> bool:
    """Say whether an event is a sign of trouble: an error, a problem told, a reading that is off."""
    if event.kind is EventKind.ERROR or telemetry.failed(event) or speech.reports_problem(event.text):
        return True
    return event.kind is not EventKind.TOOL_CALL and _TROUBLE.search(event.text[:_READ_CHARS]) is not None


def mends(event: EventNode) -> bool:
    """Say whether an event tells of a deed that mends or changes something."""
    return telemetry.remedies(event) or _MENDS.search(event.text[:_READ_CHARS]) is not None


def is_well(event: EventNode) -> bool:
    """Say whether an event tells that something is well, or well again."""
    return telemetry.recovered(event) or _WELL.search(event.text[:_READ_CHARS]) is not None


def asks_anyone(question: str) -> bool:
    """Say whether a question is put to whoever knows: anybody, who, whose turn."""
    return _TO_ANYONE.search(question) is not None


def adds(text: str) -> bool:
    """Say whether a turn goes on with what its speaker said: and they, and he."""
    return _ADDS.match(text[:_READ_CHARS]) is not None


def called_before(scene: Scene) -> bool:
    """Say whether somebody called this voice by name shortly before, and not right before: it answers that."""
    event = scene.event
    for distance, each in enumerate(scene.back(3), start=1):
        if speech.voice(each) == speech.voice(event):
            return False
        if speech.calls(each.text, event) and speech.speaks(each):
            return distance > 1
    return False
