"""What of an event is embedded and what BM25 sees of it; and the same for a question."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain

from memory.dates import DateSpan, Precision
from memory.events import EventNode, from_us
from memory.text.analysis import JOINER, tokens
from memory.text.stopwords import QUESTION_WORDS, STOP_WORDS

#: Bound on analysed text, in UTF-8 bytes: below the 65,535 of a Milvus VARCHAR.
MAX_KEYWORDS_BYTES = 65_000

#: By number and not by locale: the words must be the same on every machine.
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
#: Tokens without meaning that every document begins with. They even out how BM25 favours short texts: the local server
#: has b = 0.75 and no way to set it, where talk wants less. Recall@10 on six conversations .653 -> .667 there, and
#: .670 -> .677 with the k1 and b that a Milvus server is given (`memory.vectors.schema`). No question contains them.
_EVENING = (JOINER,) * 30

_DAY_EXACT = frozenset((Precision.MINUTE, Precision.HOUR, Precision.DAY))
_MONTH_EXACT = frozenset((*_DAY_EXACT, Precision.WEEK, Precision.MONTH))
_QUESTION_STOP_WORDS = STOP_WORDS | QUESTION_WORDS


def document_text(node: EventNode) -> str:
    """Give what is embedded for an event: `[8 May 2023] speaker: text`, the date as its producer's clock showed it."""
    at = from_us(node.occurred_us, node.offset_minutes)
    return f"[{_day(at)}] {node.speaker or node.agent}: {node.text}"


def document_keywords(node: EventNode) -> str:
    """Give what BM25 sees of an event: analysed speaker, text (captions are part of it), its day and the days it names.

    Tokens are separated by single spaces; at most `MAX_KEYWORDS_BYTES`, whole tokens.
    """
    at = from_us(node.occurred_us, node.offset_minutes)
    written = [node.speaker or node.agent, node.text, _day(at), *_named_days(node.dates, node.offset_minutes)]
    return _bounded(chain(_EVENING, (token for part in written for token in tokens(part))))


def question_keywords(question: str) -> str:
    """Give the BM25 terms of a question, analysed as documents are and without the words by which it asks.

    Empty when nothing is left ("What happened?"): then there is nothing to search by keyword.
    """
    return _bounded(dict.fromkeys(tokens(question, stop=_QUESTION_STOP_WORDS, single_characters=False)))


def _day(at: datetime) -> str:
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}"


def _named_days(spans: Iterable[DateSpan], offset_minutes: int) -> Iterator[str]:
    """Write out the days that the text talks about, as far as they are known: "yesterday" is found by its date."""
    for span in spans:
        at = from_us(span.start_us, offset_minutes)
        if span.precision in _DAY_EXACT:
            yield _day(at)
        elif span.precision in _MONTH_EXACT:
            yield f"{_MONTHS[at.month - 1]} {at.year}"
        else:
            yield str(at.year)


def _bounded(found: Iterable[str]) -> str:
    every = list(found)
    whole = " ".join(every)
    if len(whole.encode()) < MAX_KEYWORDS_BYTES:
        return whole
    kept: list[str] = []
    size = 0
    for token in every:
        size += len(token.encode()) + 1
        if size > MAX_KEYWORDS_BYTES:
            break
        kept.append(token)
    return " ".join(kept)
