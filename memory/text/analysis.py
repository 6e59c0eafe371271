"""Text -> the tokens that BM25 sees.

The store knows one analyser that behaves the same everywhere, `standard`: it lower-cases and splits at whatever is not
a letter or digit. So the analysis is done here, for documents and questions alike, and what comes out consists of
letters and digits only: splitting it again changes nothing.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

from memory.text.stopwords import STOP_WORDS

#: Joins the parts of an identifier that is kept whole. A letter by its Unicode class (LATIN LETTER SINOLOGICAL DOT),
#: so that neither the local server (`\w+`) nor a Milvus server, which splits at `_`, takes the identifier apart again.
JOINER = "\ua78f"
#: Longest token, in characters: what is longer is a blob, of which the beginning is enough.
MAX_TOKEN_CHARS = 64

_APOSTROPHES = str.maketrans("’‘ʼ＇`", "'''''")
#: A run of letters and digits with the separators that identifiers, versions, paths and addresses have inside.
_RUN = re.compile(r"[^\W_]+(?:(?:[-_./:\\@#+&']|::|//|://|:\\|__)[^\W_]+)*")
_CONTRACTION = re.compile(r"'(?:s|t|d|m|re|ve|ll)$", re.IGNORECASE)
_PART = re.compile(r"[^\W_]+")
#: Where CamelCase bends: before a capital after a small letter, and before the last capital of a run of them.
_BEND = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[a-z]+")
#: Scripts written without spaces (and Hangul, whose words carry their particles): searched by pairs of characters.
_UNSPACED = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u3040-\u30ff\u31f0-\u31ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7af"  # Hangul
    "]+"
)
_SYMBOL = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff]")
#: Voiced-sound marks of kana: combining, yet they make another letter.
_KANA_MARKS = frozenset("\u3099\u309a")


def tokens(text: str, *, stop: frozenset[str] = STOP_WORDS, single_characters: bool = True) -> Iterator[str]:
    """Give the tokens of a text in its order; letters and digits only, at most `MAX_TOKEN_CHARS` of them.

    Compatibility forms, case and accents are folded; English words are stemmed (Snowball) and those in `stop` dropped;
    an identifier (`payments-service`, `v2.14.1`, `snake_case`, `CamelCase`, a path) gives itself whole and its parts;
    scripts without spaces give pairs of characters, and with `single_characters` each character as well (documents do,
    so that a question of one character finds them); an emoji gives its code point.
    """
    if text.isascii():  # nothing to fold, no symbols, no other scripts
        for run in _RUN.findall(text.replace("`", "'")):
            yield from _analyse(run, stop)
        return
    folded = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    for piece, is_symbol in _pieces(folded):
        if is_symbol:
            yield f"u{ord(piece):x}"
        elif piece.isascii():
            yield from _analyse(piece, stop)
        else:
            yield from _foreign(piece, stop, single_characters)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Split a text into runs and symbols; combining marks are dropped first, or they would split words."""
    if not text.isascii():
        text = _without_marks(text)
        for symbol in _SYMBOL.findall(text):
            yield symbol, True
    for match in _RUN.finditer(text):
        yield match.group(), False


def _without_marks(text: str) -> str:
    kept = "".join(
        char
        for char in unicodedata.normalize("NFD", text)
        if char in _KANA_MARKS or not unicodedata.category(char).startswith("M")
    )
    return unicodedata.normalize("NFC", kept)


def _foreign(run: str, stop: frozenset[str], single_characters: bool) -> Iterator[str]:
    start = 0
    for match in _UNSPACED.finditer(run):
        if match.start() > start:
            yield from _analyse(run[start : match.start()], stop)
        characters = match.group()
        if single_characters or len(characters) == 1:
            yield from characters
        for index in range(len(characters) - 1):
            yield characters[index : index + 2]
        start = match.end()
    if start < len(run):
        yield from _analyse(run[start:], stop)


@lru_cache(maxsize=32_768)
def _analyse(run: str, stop: frozenset[str]) -> tuple[str, ...]:
    """Analyse one run without symbols and unspaced scripts; cached, because a language repeats itself."""
    run = _CONTRACTION.sub("", run)
    parts = [part for piece in _PART.findall(run) for part in _BEND.split(piece)]
    found = [term for part in parts if (folded := part.casefold()) not in stop and (term := _term(folded))]
    if len(parts) > 1:
        found.append(JOINER.join(part.casefold() for part in parts)[:MAX_TOKEN_CHARS])
    return tuple(found)


def _term(folded: str) -> str:
    if _WORD.fullmatch(folded):
        return _stem(folded)[:MAX_TOKEN_CHARS]
    # casefold may have brought back a mark (U+0130); a token is letters and digits, nothing else
    return "".join(char for char in folded if char.isalnum())[:MAX_TOKEN_CHARS]


_local = threading.local()


def _stem(word: str) -> str:
    """Stem with this thread's own stemmer: one instance must not be used by two threads at a time."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    stem: str = stemmer.stemWord(word)
    return stem
