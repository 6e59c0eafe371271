"""Word overlap of an answer with the gold one: F1 and BLEU-1, as question answering has them (SQuAD, Papineni 2002)."""

import math
import re
from collections import Counter

_WORD = re.compile(r"\w+", re.UNICODE)
_ARTICLES = frozenset(("a", "an", "the"))


def words(text: str) -> list[str]:
    """Give the words of a text: lower case, no punctuation, no articles."""
    return [word for word in _WORD.findall(text.casefold()) if word not in _ARTICLES]


def f1(answer: str, gold: str) -> float:
    """Give the harmonic mean of precision and recall of words, each counted; two empty texts are equal."""
    mine, wanted = Counter(words(answer)), Counter(words(gold))
    if not mine or not wanted:
        return float(mine == wanted)
    common = (mine & wanted).total()
    return 2 * common / (mine.total() + wanted.total())


def bleu1(answer: str, gold: str) -> float:
    """Give the clipped share of the answer's words that the gold one has, times the penalty for a short answer."""
    mine, wanted = Counter(words(answer)), Counter(words(gold))
    if not mine or not wanted:
        return float(mine == wanted)
    precision = (mine & wanted).total() / mine.total()
    return precision * min(1.0, math.exp(1 - wanted.total() / mine.total()))
