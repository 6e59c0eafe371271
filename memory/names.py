"""Names in a text, without a model: one normal form for all spellings, and a cheap look for what may be a name.

Provisional names are the fast path's; the `entities` consolidator resolves them. Scripts without capitals give no
proper names here (ids, versions, handles and paths are found in any text).
"""

import re
import unicodedata
from collections.abc import Container
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

#: Most names taken from one text.
MAX_NAMES = 32
#: Longest normal form, in characters: what a key of the graph may hold.
MAX_KEY = 200


class NameKind(StrEnum):
    """What a name looks like."""

    PROPER = "proper"
    SERVICE = "service"
    CODE = "code"
    VERSION = "version"
    IDENTIFIER = "identifier"
    HANDLE = "handle"
    PATH = "path"


@dataclass(frozen=True, slots=True)
class NameSpan:
    """A name as the text spells it (`surface`), its normal form (`key`) and what it looks like.

    `doubtful`: any word may stand there, it is a name when something else shows it.
    """

    surface: str
    key: str
    kind: NameKind
    doubtful: bool = False


#: Short forms that are written as often as the word itself; only beside another word, where they are sure.
_SHORT = {"svc": "service", "srv": "service", "db": "database", "k8s": "kubernetes", "mgr": "manager"}
_COMBINING = re.compile("[\u0300-\u036f]+")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "`": "'", "\u2010": "-", "\u2011": "-"})
_POSSESSIVE = re.compile(r"(?<=\w)'s?(?!\w)")
_WORDS = re.compile(r"[^\W_]+(?:[.&/][^\W_]+)*[+#]*")


@lru_cache(maxsize=65_536)
def normal_form(name: str) -> str:
    """Give the one key of all spellings of a name; "" when nothing is left of it.

    NFKC (width, ligatures), case, accents of Latin, Greek and Cyrillic letters, possessive, article and punctuation do
    not count; digits, version dots, `&`, `/` inside and `+`, `#` at the end of a word do: "Payments-Service's",
    "payments_service" and "PAYMENTS SERVICE" are `payments service`, and so is "payments_svc"; "v2.14" stays
    itself. Idempotent.
    """
    form = name
    for _ in range(4):  # case folding and compatibility forms can undo each other once or twice
        before = form
        form = _form_once(form)
        if form == before:
            break
    return form


_TITLE = re.compile(
    r"^(?:mr|mrs|ms|miss|dr|prof|professor|sir|madam|herr|frau|se\u00f1or|se\u00f1ora|monsieur|madame|aunt|uncle)\.?\s+(?=\S)",
    re.IGNORECASE,
)


_QUANTITY = re.compile(
    r"(?<=\S) [0-9]+(?:[.,][0-9]+)? ?(?:kg|g|mg|l|ml|cl|cm|mm|m|km|gb|mb|tb|px|w|kw|v|inch|pack)$", re.IGNORECASE
)


def name_form(name: str) -> str:
    """Give the normal form of a name in a text, without title in front and quantity behind ("Ms Brandt": `brandt`)."""
    return normal_form(_QUANTITY.sub("", _TITLE.sub("", name.strip())))


def _form_once(name: str) -> str:
    folded = _COMBINING.sub("", unicodedata.normalize("NFKD", name.translate(_APOSTROPHES)).casefold())
    plain = unicodedata.normalize("NFKC", folded).translate(_APOSTROPHES)
    words = _WORDS.findall(_POSSESSIVE.sub("", plain).replace("'", ""))
    while len(words) > 1 and words[0] in {"the", "a", "an"}:
        del words[0]
    if len(words) > 1:
        words = [_SHORT.get(word, word) for word in words]
    return " ".join(words)[:MAX_KEY].rstrip()


_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0391-\u03a9\u0410-\u042f"
_CAPITALISED = rf"[{_UPPER}](?:[^\W_]|['\u2019](?=[^\W\d_]))*"
_WORD = "[a-z][a-z0-9]{0,40}"
#: What each kind looks like, in the order of trying, and a character without one of which it cannot be there.
_LOOKS: tuple[tuple[str, str], ...] = (
    (
        "/",
        r"(?P<path>https?://[^\s<>\"'()]{3,200}|(?:~|\.{1,2})?(?:/[\w.@+-]{1,80}){2,12}"
        r"|(?:[\w.@+-]{1,80}/){1,12}[\w@+-]{1,80}\.[A-Za-z]\w{0,7})",
    ),
    ("@", r"@(?P<handle>[A-Za-z0-9_][\w-]{1,38})"),
    ("0", r"(?P<id>[A-Z][A-Z0-9]{0,9}(?:-[0-9]{1,10}){1,2}|[A-Z]{2,6}\#[0-9]{1,9})"),
    (
        "0",
        r"(?P<version>v[0-9]{1,4}(?:\.[0-9]{1,5}){0,3}(?:[-+][0-9A-Za-z.]{1,20})?"
        r"|[0-9]{1,4}\.[0-9]{1,5}\.[0-9]{1,5}(?![.0-9])(?:-[0-9A-Za-z.]{1,20})?)",
    ),
    ("-", rf"(?P<service>{_WORD}(?:-[a-z0-9]{{1,40}}){{1,6}})"),
    ("_", r"(?P<snake>[a-z0-9]{1,40}(?:_[a-z0-9]{1,40}){1,8})"),
    (
        "A",
        r"(?P<code>[a-z]{1,40}(?:[A-Z][a-z0-9]{1,40}){1,6}"
        r"|[A-Z][a-z0-9]{1,40}(?:[A-Z][a-z0-9]{0,40}){1,6}(?![ ][A-Z]))",
    ),
    (
        "A",
        rf"(?P<proper>{_CAPITALISED}(?:(?:[ ]|-|[ ](?:of|de|van|von|der|la|del|da)[ ]){_CAPITALISED}){{0,5}})"
        "(?!-[0-9])",
    ),
)
_DIGIT = re.compile(r"[0-9]")
_CAPITAL = re.compile(f"[{_UPPER}]")


@lru_cache(maxsize=64)
def _pattern(signs: str) -> re.Pattern[str] | None:
    """Give the pattern of the kinds that can stand in a text with these signs: the fewer, the faster."""
    looks = "|".join(look for sign, look in _LOOKS if sign in signs)
    return re.compile(rf"(?<![\w@/.-])(?:{looks})(?!\w)") if looks else None


def _signs(text: str) -> str:
    signs = "".join(sign for sign in "/@-_" if sign in text)
    return signs + ("0" if _DIGIT.search(text) else "") + ("A" if _CAPITAL.search(text) else "")


#: A hyphenated lower-case word is a service when one of its parts is one of these, or has a digit.
_SERVICE_WORDS = """
service svc api db database bot worker agent gateway server queue cluster proxy cache prod staging job cron app
web ui client consumer producer store index node pod controller operator scheduler monitor topic broker redis
kafka postgres mysql nginx backend frontend pipeline registry auth billing payments checkout deploy oncall
router stream eu us ap west east central primary replica canary config
"""
_SERVICE_PARTS = frozenset(_SERVICE_WORDS.split())
#: Capitalised words that are no names: openers of sentences in talk, titles, days and months.
_OPENERS = """
i i'm i've i'll i'd ok okay yes no not thanks thank hey hi hello wow oh ah yeah yep nope sure well so but and or
if the a an this that these those it its he she they we you my your his her our their me us him them what when
where why who how which there here then now just also only even still maybe perhaps because since while after
before as at by for from in into of on onto off over to up with without about is are was were be been being am
do does did done have has had can could should would will shall may might must let let's lets don't didn't
doesn't can't won't isn't wasn't it's that's there's what's he's she's they're we're you're who's here's god mr
mrs ms dr sir good great nice cool glad happy sorry please congrats congratulations awesome amazing absolutely
definitely totally really right true exactly agreed monday tuesday wednesday thursday friday saturday sunday
january february march april may june july august september october november december today yesterday tomorrow
tonight last next some any all each every many most more much few one two three four five another other both
either error warning info debug failed success done todo note ps fyi btw lol omg asap am pm utc photo haha bye
aw aww looking see got get go going make take keep love miss hope wish enjoy check try remember guess speaking
being old first second once since though although however anyway plus like unlike than too very null none
mon tue tues wed thu thur thurs fri sat sun knowing realizing becoming whenever woohoo woah whoa ugh hmm
mondays tuesdays wednesdays thursdays fridays saturdays sundays gb mb kb tb cpu ram fatal http https url json api id
"""
_NOT_NAMES = frozenset(_OPENERS.split())
_SENTENCE_END = frozenset(".!?\n:;\u2026\u2022\"'\u201c\u201d([)]*>-\u2013\u2014")


def provisional_names(text: str, known: Container[str] = (), *, doubtful: bool = False) -> list[NameSpan]:
    """Give what may be names, at most `MAX_NAMES`, each key once, in the order of the text.

    A capitalised word that opens a sentence counts only when it is `known` (a set of normal forms) or capitalised
    elsewhere as well; with `doubtful` the others are given too, marked so. Never raises; time is linear in the
    length of the text.
    """
    found: dict[str, NameSpan] = {}
    pattern = _pattern(_signs(text))
    for match in pattern.finditer(text) if pattern else ():
        kind = match.lastgroup or ""
        if kind == "proper":
            _proper(match, text, known, found, doubtful=doubtful)
        elif kind != "service" or _is_service(match.group()):
            surface = match[kind].rstrip(".,") if kind in {"path", "handle"} else match.group()
            _add(found, surface, _KINDS[kind])
        if len(found) >= MAX_NAMES:
            break
    return list(found.values())[:MAX_NAMES]


_KINDS = {
    "path": NameKind.PATH,
    "handle": NameKind.HANDLE,
    "id": NameKind.IDENTIFIER,
    "version": NameKind.VERSION,
    "service": NameKind.SERVICE,
    "snake": NameKind.CODE,
    "code": NameKind.CODE,
}


def _proper(
    match: re.Match[str], text: str, known: Container[str], found: dict[str, NameSpan], *, doubtful: bool
) -> None:
    """Add a run of capitalised words without what surely is no name at its ends."""
    words = match.group().replace("\u2019", "'").split(" ")
    if words[-1] == "New":
        words.pop()  # alone it is a word, in front of another a part of the name
    opens = opens_sentence(text, match.start())
    full = len(words)
    while words and words[0].lower() in _NOT_NAMES:
        del words[0]
    while words and words[-1].lower() in _NOT_NAMES:
        words.pop()
    if not words:
        return
    surface = " ".join(words)
    surface = surface[:-2] if surface.endswith("'s") else surface
    key = normal_form(surface)
    if len(surface) < 2 or not key:
        return
    doubt = opens and len(words) == full == 1 and not (len(surface) > 1 and surface.isupper())
    doubt = doubt and key not in known
    if doubt and not doubtful:
        return  # any word may stand at the start of a sentence
    _add(found, surface, NameKind.PROPER, key, doubt=doubt)


def _add(found: dict[str, NameSpan], surface: str, kind: NameKind, key: str = "", *, doubt: bool = False) -> None:
    key = key or normal_form(surface)
    if key and (key not in found or (found[key].doubtful and not doubt)):
        found[key] = NameSpan(surface[:256], key, kind, doubt)


def _is_service(word: str) -> bool:
    return any(part in _SERVICE_PARTS or part.isdigit() for part in word.split("-")) and not word[0].isdigit()


def is_common(word: str) -> bool:
    """Say whether a capitalised word is known to be no name: an opener of sentences, a title, a day or a month."""
    return word.lower().replace("\u2019", "'") in _NOT_NAMES


def opens_sentence(text: str, at: int) -> bool:
    """Say whether a sentence, a line or a quotation starts at this place: there any word has a capital."""
    before = text[max(0, at - 6) : at].rstrip(" \t")
    return not before or before[-1] in _SENTENCE_END
