"""What an utterance does: who speaks, whom it addresses, whether it asks, requests, answers or reports a problem.

Every pattern reads a bounded part of a text and takes time linear in it.
"""

import re
from functools import lru_cache

from memory.events import EventKind, EventNode
from memory.llm.words import telling
from memory.names import is_common, normal_form

#: How much of a text is read for acts of speech, in characters: the beginning and the end.
_READ_CHARS = 600

#: Longest question that may be a fragment, in words.
_FRAGMENT_WORDS = 6

_QUESTION_END = re.compile(r"\?[\"'\u201d)\]]*(?=\s|$)")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.S)
_URL = re.compile(r"\bhttps?://\S+")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")
_VERBS = """
    add analyse analyze answer apply approve archive arrange ask assign attach block book bring build buy call
    cancel carry change
    check clean clear click close collect come compare compile compute confirm contact continue convert copy
    count create
    cut deliver delete deploy describe determine disable draft drain dry drop enable escalate estimate examine
    execute explain
    export extend extract fetch file fill find finish fix follow forward gather get give go grab halt hang handle
    help hold identify import
    increase inspect install investigate invite issue keep label launch leave let limit list load locate lock
    look lower
    make mark measure merge move navigate notify open order pack pass patch pause pay pick ping plan please
    plot post prepare
    print process provide publish pull push put query quote raise read rebuild recalculate recheck recompute
    reboot redeploy reduce
    refund register release reload remember remind remove rename repair replace reply report request rerun
    reschedule reserve
    reset resize resolve restack restart restore resume retry return reverse revert review rewrite ring roll
    rollback rotate run save
    scale scan schedule scroll search secure select send serve set share ship show shut sign skip sort split
    stand start
    stay step stop submit summarise summarize swap switch take talk tell test throttle trace track transfer
    translate try
    turn undo unlock unblock update upgrade upload use validate verify visit wait wake warn watch wipe write
"""
_IMPERATIVE = re.compile(
    r"\W{0,3}(?:(?:@?[\w.-]{1,40}(?: [A-Z][\w.-]{0,40})?[,:] )|(?:and |then |also |so |rather |better |ok(?:ay)?,? "
    r"|yes,? "
    r"|no,? |now |first,? ))?"
    rf"(?:please,? |just |kindly |do not |don['\u2019]t )?(?:{'|'.join(_VERBS.split())})\b"
    r"(?!['\u2019]|\s*(?:is|was|are|were|has|had)\b|-)",
    re.IGNORECASE,
)
_ASKING_FOR = re.compile(
    r"\b(?:please|(?:can|could|would|will) (?:you|someone|somebody|anyone|anybody|we"
    r"|\w+ please)\b(?! (?:imagine|believe))|(?:i|we) (?:need|want|must have)\b"
    r"|(?:can|could|may|might) (?:i|we) (?:have|get|see|ask|borrow|use)|can (?:it|this|that|they) (?:go|be|have)"
    r"|some(?:one|body) (?:has|have|needs?|must|should|ought)\b|who (?:can|could|wants? to|volunteers?)\b"
    r"|(?:i|we)(?:['\u2019]d| would) (?:like|love)|would you mind|make sure|be sure to|let me know|remind me"
    r"|help me|you (?:should|must|need to)|next speaker)\b",
    re.IGNORECASE,
)
_PROBLEM = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure|ures)?|errors?|broke|broken|breaks?|crash(?:es|ed)?|lost|losing|missing|burst"
    r"|leak(?:s|ed|ing)?|expired|stuck"
    r"|refus(?:es|ed|al)|reject(?:s|ed)|denied|declined|timed? ?out|timeouts?|(?:is|are|was|were|went|goes|been"
    r"|broke|shut) down|dead|died|(?:is|are|was|were|disk|memory|queue|volume|partition) (?:\w+ )?full"
    r"|slow(?:er|s)?|wrong|(?:too|is|was|are|were) late|delayed|cancelled|canceled|damaged"
    r"|unavailable|unreachable|unable|cannot|can['\u2019]t|won['\u2019]t|could not|couldn['\u2019]t|did(?: not"
    r"|n['\u2019]t)|does(?: not|n['\u2019]t)"
    r"|not (?:work|arrive|start|respond|answer|possible|enough|found)\w*|no longer|out of (?:stock|memory|disk"
    r"|space)|ran out|run out|tripped|flood(?:ed|ing)?"
    r"|torn|snapped|cracked|frost|storm|strike|sick|ill|hurt|injured|twisted|stolen|empty|drained"
    r"|corrupt(?:ed)?|mismatch|differs?|discrepanc\w+|conflict|exceed(?:s|ed)|overheat\w*"
    r"|abort(?:ed|s)?|exception|traceback|degraded|outage|deadlock(?:ed)?|drop(?:s|ped|ping)|backlog|too (?:\w+))\b",
    re.IGNORECASE,
)
_CONSENT = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|oh|hi|hey|right|well|and|thanks|thank you)[,.! ]+)?(?:done|sure|yes|yep|yeah"
    r"|ok(?:ay)?|will do|on it|of course|certainly"
    r"|absolutely|right away|understood|copy(?: that)?|roger|ack(?:nowledged)?|signed|sent|fixed|approved"
    r"|agreed|deal|noted|happy to|i will|i['\u2019]ll"
    r"|i(?:['\u2019]ve| have) \w+|gladly|no problem|consider it done|here (?:is|are|you)|there you go|no\b"
    r"|sorry|afraid|i can(?:not|['\u2019]t)|not (?:now|today|yet|possible)|\w{3,14}ed\b)",
    re.IGNORECASE,
)
_REACTION = re.compile(r"^\W*(?:then\b|but\b|so\b|oh no\b|in that case\b|if so\b|which\b|that\b|then,)", re.IGNORECASE)
_REPLY = re.compile(
    r"^\W*(?:then|but|so|that|oh no|in that case|thanks|thank you|lucky|true|right|exactly|agreed|understood"
    r"|a pity|what a pity|perfect|great|good\b"
    r"|sorry|congratulations|well done|poor \w+|no wonder|no\b|yes\b|not (?:yet|quite|really)|and (?:we|now"
    r"|that|you|i)|me too|same here|glad|of course)\b",
    re.IGNORECASE,
)
_UP = re.compile(r"\b(?:it|that|them|this|those)\b", re.IGNORECASE)
_OFFER = re.compile(
    r"\b(?:i|we)(?:['\u2019](?:ll|ve|m)| can| could| will| am| are|['\u2019]re) |\blet me\b"
    r"|\bwhy don['\u2019]t you\b|\bhow about\b|\byou (?:can|could)\b",
    re.IGNORECASE,
)
_RESPONSE = re.compile(
    r"^\W*(?:oh,? |well,? |ah,? )?(?:thanks|thank you|understood|agreed|exactly|(?:what )?a pity|true"
    r"|lucky (?:you|her|him|them)?|sorry to hear"
    r"|i(?:['\u2019]m| am) (?:so |very )?sorry|sorry\b|oh no|ouch|get well|phew|that (?:will"
    r"|won['\u2019]t) (?:not )?do|no problem|carry on|that was me"
    r"|my (?:fault|mistake)|i (?:left|forgot|overlooked)|i(?:['\u2019]ll| will)\b|then i\b|will do"
    r"|congratulations|congrats|well done|good (?:call|point|catch|idea)|deal\b|no wonder|me too|same here"
    r"|me neither|poor (?:you|thing))\b",
    re.IGNORECASE,
)
_TOO = re.compile(r"^[^.!?\n]{0,60}\b(?:too|either|as well)[.!]")
_FORBIDS = re.compile(r"\b(?:do not|don['\u2019]t|never)\b", re.IGNORECASE)
_TO_ALL = re.compile(r"^[^.!?]{0,40}\b(?:everyone|everybody|all|folks|guys|team)\b", re.IGNORECASE)
_SOLVES = re.compile(r"^\W*(?:(?:found|solved|fixed|cracked) (?:it|the)|got it)\b", re.IGNORECASE)
#: Last words of names that are roles: no part of such a name is called alone.
_ROLES = frozenset({"agent", "bot", "expert", "service", "assistant", "terminal", "worker", "watch", "hub", "desk"})
_VERBAL = frozenset(
    (
        *("is", "are", "was", "were", "am", "do", "does", "did", "have", "has", "had", "can", "could", "will", "would"),
        *("what's", "who's", "where's", "when's", "how's", "there's", "it's", "that's"),
        *("should", "may", "might", "shall", "isn't", "aren't", "wasn't", "didn't", "doesn't"),
    )
)
_SETTLES = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|right|and)[,. ]+)?(?:done|fixed|sent|signed|approved|merged|\w{4,12}ed)\b", re.IGNORECASE
)
_ROLE = re.compile(
    r"\b(?:humans?|colleagues?|persons?|people|team|someone|somebody|anyone|specialists?|supervisors?|managers?"
    r"|on-?call"
    r"|(?:night|day|next|late|early) (?:shift|roster|watch|crew)|operators?|desk|staff|support|expert|lead"
    r"|engineers?)\b",
    re.IGNORECASE,
)
_VOCATIVE = re.compile(
    r"\W{0,2}([A-Z][\w.-]{1,40}), (?!(?:maybe|perhaps|probably|then|too|thanks|or|and|but|not|of course|\w+ing"
    r"|\w+ed)\b)"
)
#: What stands before a comma as a name in a call does, and is none.
_EXCLAIM_WORDS = """
    agreed impressive interesting noted odd strange typical understood weird
    again ah aha alas anyway awesome bah brilliant bravo clever cool damn decent excellent exactly fine finally
    good gosh great haha hello hey hi honestly hurray indeed later lovely luckily meanwhile nice no now oh okay
    ouch perfect phew please really right sadly seriously so sorry sure super sweet terrific thanks then today
    tomorrow tonight too true ugh unfortunately well whoa wonderful wow yeah yes yesterday yikes yuck
"""
_EXCLAIMS = frozenset(_EXCLAIM_WORDS.split())
_PASSED = re.compile(r" (?:passing|handing|transferring|moving|escalating|forwarding|for|about|of) (?:over )?\w+(?= )")


def voice(event: EventNode) -> str:
    """Give the normal form of who says it: the speaker, else the agent."""
    return normal_form(event.speaker or event.agent)


def speaks(event: EventNode) -> bool:
    """Say whether the event is an utterance to others."""
    return event.kind in {EventKind.MESSAGE, EventKind.HANDOFF}


@lru_cache(maxsize=8_192)
def _spoken(text: str) -> str:
    """Give the read part of a text, without code and addresses."""
    plain = _URL.sub(" ", _FENCED.sub(" ", text[:20_000]))
    return plain if len(plain) <= 2 * _READ_CHARS else f"{plain[:_READ_CHARS]}\n{plain[-_READ_CHARS:]}"


@lru_cache(maxsize=8_192)
def sentences_of(text: str) -> tuple[str, ...]:
    """Give the sentences of the read part."""
    return tuple(part.strip() for part in _SENTENCE.split(_spoken(text)) if len(part.strip()) > 1)


def asks(text: str) -> bool:
    """Say whether a text asks something."""
    return _QUESTION_END.search(_spoken(text)) is not None


def only_asks(text: str) -> bool:
    """Say whether a text does nothing but ask."""
    return all(_QUESTION_END.search(part) for part in sentences_of(text))


def only_forbids(text: str) -> bool:
    """Say whether what a text asks for is that something be left undone: "Don't turn it off"."""
    wanted = [part for part in sentences_of(text) if requests(part)]
    return bool(wanted) and all(_FORBIDS.search(part) for part in wanted)


def questions_of(text: str) -> tuple[str, ...]:
    """Give the sentences that ask."""
    return tuple(part for part in sentences_of(text) if _QUESTION_END.search(part))


def is_fragment(question: str) -> bool:
    """Say whether a question is too short to stand alone: "In front of everybody?", "Where to?"."""
    words = question.lower().replace("\u2019", "'").split()
    return len(words) <= _FRAGMENT_WORDS and _VERBAL.isdisjoint(word.strip("?,.!") for word in words[:2])


@lru_cache(maxsize=8_192)
def requests(text: str) -> bool:
    """Say whether a text asks for a deed: an imperative, "please", "could you", "I need"."""
    return any(_ASKING_FOR.search(part) or _IMPERATIVE.match(part) for part in sentences_of(text))


def consents(text: str) -> bool:
    """Say whether a text opens like the answer to a request: done, sure, no, sorry, restacked."""
    return _CONSENT.match(text[:_READ_CHARS]) is not None


def reacts(text: str) -> bool:
    """Say whether a text opens with a word that draws on what was said: then, but, so, that."""
    return _REACTION.match(text[:_READ_CHARS]) is not None


def replies(text: str) -> bool:
    """Say whether a text opens as a reply does: thanks, true, but, a pity."""
    return _REPLY.match(text[:_READ_CHARS]) is not None


def speaks_to_all(text: str) -> bool:
    """Say whether a text opens by speaking to everybody: "Sorry everyone, ..."."""
    return _TO_ALL.match(text[:_READ_CHARS]) is not None


def takes_up(text: str) -> bool:
    """Say whether a short text orders something about what was just said: "Take it.", "Send them."."""
    words = text.split()
    return len(words) <= _FRAGMENT_WORDS and _UP.search(text) is not None and requests(text)


def offers(text: str) -> bool:
    """Say whether a text offers or promises a deed: I can, I'll, let me, we could."""
    return _OFFER.search(text[:_READ_CHARS]) is not None


def responds(text: str) -> bool:
    """Say whether a text opens with a word that only a response has: thanks, understood, a pity, me too."""
    read = text[:_READ_CHARS]
    return _RESPONSE.match(read) is not None or _TOO.match(read) is not None


def solves(text: str) -> bool:
    """Say whether a text opens with the solution of something: found it."""
    return _SOLVES.match(text[:_READ_CHARS]) is not None


def settles(text: str) -> bool:
    """Say whether a text opens with a thing done: done, fixed, merged."""
    return _SETTLES.match(text[:_READ_CHARS]) is not None


@lru_cache(maxsize=8_192)
def reports_problem(text: str) -> bool:
    """Say whether a text tells of something that went wrong."""
    return _PROBLEM.search(_spoken(text)) is not None


@lru_cache(maxsize=8_192)
def _squashed(text: str) -> str:
    words = re.findall(r"[^\W_]+", _spoken(text).casefold())
    return f" {' '.join(words)} "


@lru_cache(maxsize=4_096)
def _forms(name: str) -> tuple[str, ...]:
    """Give how a name may be called: whole, joined, and a capitalised first or last word of several, as of a person."""
    words = re.findall(r"[^\W_]+", name)
    folded = [word.casefold() for word in words]
    forms = {" ".join(folded), "".join(folded)}
    if len(words) > 1 and folded[-1] not in _ROLES:
        forms |= {word.casefold() for word in (words[0], words[-1]) if len(word) > 2 and word[0].isupper()}
    return tuple(form for form in forms if len(form) > 1)


def names_agent(text: str, event: EventNode) -> bool:
    """Say whether a text names who made the event, hyphens and case aside."""
    said = _squashed(text)
    return any(f" {form} " in said for form in _called(event))


def calls_another(text: str, event: EventNode) -> bool:
    """Say whether a text begins by calling somebody who did not make the event: "Cleo, when ..."."""
    called = _VOCATIVE.match(text)
    if called is None or is_common(called[1]) or called[1].casefold() in _EXCLAIMS or not telling(called[1]):
        return False
    return not names_agent(called[1], event)


def calls(text: str, event: EventNode) -> bool:
    """Say whether a text begins by calling who made the event: "Cleo, when ..."."""
    called = _VOCATIVE.match(text)
    return called is not None and names_agent(called[1], event)


def hands_to(text: str, event: EventNode) -> bool:
    """Say whether a handoff names who made the event as the one who takes over, not as the one passed on."""
    said = _squashed(text)
    return any(f" {form} " in _PASSED.sub(" ", said) for form in _called(event))


def hands_to_anyone(text: str) -> bool:
    """Say whether a handoff names a role instead of an agent: a human, a colleague, the night shift."""
    return _ROLE.search(text[:_READ_CHARS]) is not None


def _called(event: EventNode) -> set[str]:
    return {form for name in {event.agent, event.speaker} - {""} for form in _forms(name)}
