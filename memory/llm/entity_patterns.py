"""Names that a model of the language does not know: of telemetry, of orders and tickets, behind a title, in quotes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory.relations import EntityType

SERVICE_ENDS = ("service", "svc", "api", "database", "db", "gateway", "queue", "cluster", "worker", "index", "bot")


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a name of one kind looks like. `near`: the text must hold one of these for it to be worth looking."""

    rule: str
    look: re.Pattern[str]
    entity_type: EntityType
    confidence: float
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """A name that a pattern found at [`start`, `end`) of a text."""

    surface: str
    start: int
    end: int
    pattern: Pattern


_ARTICLES = frozenset(
    ["the", "our", "your", "their", "this", "that", "another", "every", "each", "from", "with", "for"]
)
_CAP = r"[A-Z\u00c0-\u00de\u0391-\u03a9\u0410-\u042f][\w'\u2019-]*[^\W_]"
_NUMBERED = (
    "build|release|revision|ticket|order|case|flight|run|invoice|job|issue|incident|change|batch|pull request|gate|room"
    "|shipment|policy|claim"
)
#: Letters in front of a number that name a protocol, a unit or a currency, not a thing.
_NO_ID = (
    r"(?!(?:HTTP|HTTPS|TLS|SSL|UTF|ISO|USD|EUR|GBP|MB|GB|KB|TB|AM|PM|TOP|MAX|MIN|CPU|RAM|PH|CSV|API|AND|OR|THE|ALL)\b)"
)

_VERB = (
    "is|was|has|had|will|would|can|says|said|told|tells|asked|asks|wants|wanted|thinks|thought|went|goes|came|comes|got"
    "|gets|did|does|made|makes|took|takes|gave|gives|loves|loved|likes|liked|knows|knew|sent|sends|called|calls|wrote"
    "|writes|found|finds|left|leaves|found|bought|buys|joined|joins|started|starts|works|worked|lives|lived|misses"
    "|missed|signed|agreed|agrees|reports|reported|sees|saw|needs|needed|runs|ran|keeps|kept|feels|felt|and [A-Z]"
)
#: The word that opens a sentence and then acts, or is called: what follows shows that it may be somebody.
ACTING = re.compile(
    rf"(?:^|[.!?:;]\s+|\n)(?P<name>[^\W\d_a-z][^\W\d_]{{2,20}})(?:['\u2019]s\b|\s+(?:{_VERB})\b|,\s+(?:can|could|would|will|"
    r"did|do|are|is|have|you|your|please|what|where|when|how|why|which|thanks|thank)\b)"
)
#: What opens a sentence in front of a name and is no part of it.
DOES = re.compile(
    r"(?:Tell|Ask|Use|Using|Call|Text|Ping|Send|Give|Bring|Meet|Visit|Order|Join|Contact|Invite|Remind|Show|Thank|Restart"
    r"|Stop|Start|Open|Close|Deploy|Fetch|Check|Wait|Move|Moved|Met|Saw|Called|Asked|Told|Sent|Opened|Closed|Assigned"
    r"|Passing|[A-Z][a-z]{2,10}ing)"
)
#: Who is called first: "Ngozi: yes", "Stavros, we lost it".
CALLED = re.compile(r"(?:^|[.!?;]\s+|\n|[Hh]i |[Hh]ey |[Hh]ello )(?P<name>[^\W\d_a-z][^\W\d_]{2,20})(?=[,:!]\s)")
#: Words in lower case that may be programs, and how words that are none end.
PLAIN = re.compile(r"(?<![\w./@'\u2019-])[a-z]{4,20}(?:-[a-z0-9]{2,20}){0,4}(?![\w./@'\u2019-])")
INFLECTED = re.compile(r"(?:ed|ing|ly|able|ness|ments?|tions?|ers?|ies|less|ful|ish|ized?|ised?)$")
#: A daemon's name: a consonant and a "d" at its end, which few words have.
DAEMON = re.compile(r"(?<![\w/.-])[a-z][a-z0-9]{1,18}[b-df-hj-np-tv-z]d(?![\w-])")
#: Lower-case words where an agent may be named among agents: they act, or something goes to them.
AMONG_AGENTS = re.compile(
    r"(?:^|[,;:.] )(?P<acts>[a-z]{4,20})(?= [a-z]{2,15}s\b)"
    r"|\b(?:to|from|by|ask|tell|with|via|for) (?P<to>[a-z]{4,20})\b"
)

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "titled",
        re.compile(rf"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Herr|Frau|Aunt|Uncle)\b\.? {_CAP}(?: {_CAP})?"),
        EntityType.PERSON,
        0.85,
    ),
    Pattern("initial-and-name", re.compile(rf"(?<![\w.])[A-Z]\. (?!I\b){_CAP}(?![\w])"), EntityType.PERSON, 0.8),
    Pattern(
        "numbered",
        re.compile(rf"\b(?:{_NUMBERED}) (?:no\.? |number )?#?[0-9]{{2,12}}\b", re.IGNORECASE),
        EntityType.IDENTIFIER,
        0.7,
    ),
    Pattern("code-and-number", re.compile(rf"\b{_NO_ID}[A-Z]{{2,4}} #?[0-9]{{2,5}}\b"), EntityType.IDENTIFIER, 0.65),
    Pattern("number-code", re.compile(r"(?<![\w.-])[0-9]{3,6}-[0-9]{4,12}(?![\w-])"), EntityType.IDENTIFIER, 0.65),
    Pattern(
        "joined-code",
        re.compile(rf"\b{_NO_ID}(?:[A-Z]{{1,4}}[0-9]{{2,7}}|[0-9]{{8,14}})\b(?![-.][0-9])"),
        EntityType.IDENTIFIER,
        0.5,
        doubtful=True,
    ),
    Pattern(
        "address",
        re.compile(r"(?<![\w./@-])[a-z][a-z0-9-]{2,30}\.[a-z]{2,20}(?![\w/]|\.\w)"),
        EntityType.OTHER,
        0.5,
        doubtful=True,
    ),
    Pattern(
        "known-words",
        re.compile(rf"\b(?:[a-z]{{3,20}} )?[a-z]{{3,20}} (?:{'|'.join((*SERVICE_ENDS, 'agent'))})\b", re.IGNORECASE),
        EntityType.SERVICE,
        0.5,
        doubtful=True,
    ),
    Pattern(
        "quoted",
        re.compile(r"""(?<==)["'](?P<name>[^\W\d_][\w .-]{2,40})["']"""),
        EntityType.OTHER,
        0.5,
        doubtful=True,
    ),
)


def patterned(text: str) -> Iterator[Seen]:
    """Give what the patterns find; a two-word phrase of a three-word one is given too, as it may be the name."""
    for pattern in PATTERNS:
        for match in pattern.look.finditer(text):
            name = "name" if "name" in pattern.look.groupindex else 0
            surface = match[name]
            words = surface.split(" ")
            if pattern.rule != "known-words" or words[0].lower() not in _ARTICLES:
                yield Seen(surface, match.start(name), match.end(name), pattern)
            if pattern.rule == "known-words" and len(words) == 3:
                shorter = " ".join(words[1:])
                yield Seen(shorter, match.end(name) - len(shorter), match.end(name), pattern)
