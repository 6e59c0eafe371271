"""Sentences that state a value: what they look like, which of their words are the subject, the attribute, the value."""

import re
from dataclasses import dataclass

_NOUN = r"[A-Za-z][\w.&/'\u2019-]*(?: [A-Za-z][\w.&/'\u2019-]*){0,3}"
_PROPER = r"[A-Z][\w&'\u2019-]*(?: [A-Z][\w&'\u2019-]*){0,2}"
_SUBJECT = r"(?:the )?(?P<subject>[A-Za-z][\w.&/-]*(?: [\w.&/-]+){0,3}?)"
_VALUE = r"(?P<value>[^\s,;!?][^,;!?]{0,100}?)"
_END = (
    r"(?=\s*(?:[,;]|\.(?:\s|$)|$"
    r"| (?:on every|on all|from (?:tonight|today|tomorrow|now|next)|(?:this|for the) (?:week|month|time)"
    r"|as of|since|effective|starting|because|until|up from|down from|instead)\b))"
)
_FROM = r"(?: from (?P<old>[^,;!?]{1,60}?))?"
_KEY = r"(?P<subject>[A-Za-z][\w]*(?:[._-][\w]+){1,8})"
_VERSION = r"(?:version )?(?P<value>v?[0-9]+(?:\.[0-9]+){1,3}(?:-[\w.]+)?)"
_CHANGED = (
    "set|changed|switched|raised|lowered|increased|decreased|reduced|moved|bumped|updated|postponed|pushed"
    "|brought forward"
)
_RAISED = "set|changed|switched|raised|lowered|increased|decreased|reduced"
_UPGRADED = "upgraded|updated|downgraded|rolled back|bumped"
_IS = "(?:is |was |has been )?"
#: Attributes that belong to something which the sentence may name or leave out.
GENERIC = frozenset(
    [
        "deadline",
        "due date",
        "owner",
        "severity",
        "threshold",
        "limit",
        "target",
        "price",
        "status",
        "budget",
        "priority",
    ]
)
_THE = (
    "deadline|due date|release date|launch date|launch|meeting|stand-?up|owner|on-?call(?: owner| engineer)?|lead"
    "|budget|target|price|threshold|limit|severity|status|address|phone number|venue|location|plan"
)


@dataclass(frozen=True, slots=True)
class FactPattern:
    """`attribute`: what the value is of the subject, when the words do not say. `speaks`: who speaks is the subject."""

    rule: str
    look: re.Pattern[str]
    confidence: float
    attribute: str = ""
    speaks: bool = False


def _pattern(
    rule: str, look: str, confidence: float, attribute: str = "", *, speaks: bool = False, case: bool = False
) -> FactPattern:
    return FactPattern(rule, re.compile(look, 0 if case else re.IGNORECASE), confidence, attribute, speaks)


PATTERNS: tuple[FactPattern, ...] = (
    _pattern("fact-key-value", rf"(?<![\w.-]){_KEY} ?= ?(?P<value>[^\s,;]{{1,60}})", 0.9, "value"),
    _pattern(
        "fact-key-set", rf"(?<![\w.-]){_KEY} {_IS}(?:now |{_CHANGED}){_FROM} (?:to )?{_VALUE}{_END}", 0.85, "value"
    ),
    _pattern("fact-set-key", rf"\b(?:{_CHANGED}) {_KEY}{_FROM} to {_VALUE}{_END}", 0.85, "value"),
    _pattern(
        "fact-attribute-of",
        rf"\bthe (?P<attribute>{_NOUN}) (?:of|for) {_SUBJECT} (?:is|will be|becomes|has become)(?: now)? "
        rf"{_VALUE}{_END}",
        0.8,
    ),
    _pattern(
        "fact-attribute-runs",
        rf"\bthe (?P<attribute>{_NOUN}) of {_SUBJECT} (?:now )?(?:runs|starts|happens|takes place) "
        rf"(?P<value>(?:on|at|every|daily|nightly|weekly)\b[^,;!?]{{0,60}}?){_END}",
        0.8,
    ),
    _pattern(
        "fact-upgraded",
        rf"\b{_SUBJECT} {_IS}(?:{_UPGRADED}|moved)(?: from v?[\w.-]+)? to {_VERSION}\b",
        0.85,
        "version",
    ),
    _pattern("fact-upgrade", rf"\b(?:{_UPGRADED}) {_SUBJECT}(?: from v?[\w.-]+)? to {_VERSION}\b", 0.85, "version"),
    _pattern(
        "fact-arrow", rf"\b{_SUBJECT} (?:version )?v?[0-9][\w.-]* ?(?:->|\u2192) ?{_VERSION}(?![\w.])", 0.85, "version"
    ),
    _pattern(
        "fact-version", rf"\b{_SUBJECT} (?:is now (?:on|at)|now runs|is running|runs) {_VERSION}\b", 0.8, "version"
    ),
    _pattern("fact-owned-by", rf"\b{_SUBJECT} is now owned by (?P<value>{_NOUN}){_END}", 0.8, "owner"),
    _pattern(
        "fact-owns",
        rf"\b(?P<value>{_NOUN}) (?:now owns|takes over|is now (?:the )?owner of|is the new owner of) {_SUBJECT}{_END}",
        0.75,
        "owner",
    ),
    _pattern(
        "fact-the-is-now",
        rf"(?:^|[.;:] )the (?P<attribute>{_THE})(?: (?:of|for) {_SUBJECT})? "
        rf"(?:is now|(?:has |was |is |has been )?(?:{_CHANGED}){_FROM} to) {_VALUE}{_END}",
        0.8,
    ),
    _pattern(
        "fact-raised",
        rf"(?:^|[.;:,] )(?:feature flag )?{_SUBJECT} (?:was |is |has been |is now )?(?:{_RAISED}){_FROM} to "
        rf"(?P<value>[^,;!?.]{{1,40}}){_END}",
        0.75,
        "value",
    ),
    _pattern(
        "fact-lives",
        r"\bI(?: have|['\u2019]ve)? (?:just |now |finally )?(?:moved to|live in|am living in|relocated to) "
        rf"(?P<value>{_PROPER})",
        0.8,
        "home",
        speaks=True,
        case=True,
    ),
    _pattern(
        "fact-works",
        r"\bI (?:just |now |recently |have )?(?:started (?:working )?at|joined|work at|work for|got (?:a|the) (?:new )?"
        rf"job at) (?P<value>{_PROPER})",
        0.75,
        "employer",
        speaks=True,
        case=True,
    ),
    _pattern(
        "fact-my",
        r"\bmy (?:new )?(?P<attribute>(?:phone |mobile )?number|e-?mail(?: address)?|address|job title|role"
        rf"|favou?rite [a-z]+(?: [a-z]+)?) is(?: now)? {_VALUE}{_END}",
        0.75,
        speaks=True,
    ),
    _pattern(
        "fact-diet",
        r"\bI(?: am|['\u2019]m)(?: now| a)? (?P<value>(?:vegan|vegetarian|pescatarian))\b",
        0.75,
        "diet",
        speaks=True,
    ),
    _pattern(
        "fact-moved",
        rf"\b(?P<subject>(?!I\b)[A-Z][\w'\u2019-]+(?: [A-Z][\w'\u2019-]+)?) (?:has |just |has just )?"
        rf"(?:moved|relocated) to (?P<value>{_PROPER})",
        0.75,
        "home",
        case=True,
    ),
)
#: Words that make a sentence a question, a condition, a denial, a plan or somebody's guess.
UNSURE = re.compile(
    r"\?|\b(?:if|unless|whether|would|could|should|might|may|maybe|perhaps|probably|not|never|no longer|want|wants|wish"
    r"|hope|hopes|plan to|plans to|planning|thinking|considering|propose|proposes|suggest|suggests|let['\u2019]s"
    r"|used to|was going to|(?<!guess )what|which|who|when|imagine|suppose|were to|try|tries|about to)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
#: Words that point at something said elsewhere: no subject, no value.
VERBS = frozenset(["has", "have", "had", "is", "are", "was", "were", "been", "just", "now", "and", "then"])
POINTING = frozenset(
    ["it", "this", "that", "he", "she", "they", "we", "you", "i", "there", "everything", "something", "nothing", "all"]
)
