"""What ranking needs of a question: its terms, the words they stand for, and what kind of question it is."""

import re
from dataclasses import dataclass, field

from memory.text import question_keywords
from query_api.ranking.documents import surface_words

_WOULD = frozenset({"would", "might", "likely"})
_HOW_MANY = re.compile(r"\bhow (?:many|often)\b")
_HOW_LONG = re.compile(r"\bhow long\b")
#: Not a plural: "class".
_DOUBLE_S = "ss"
_SHORTEST_PLURAL = 4


@dataclass(frozen=True, slots=True)
class Question:
    """`surface`: for each analysed term, in order, the word as it was written; `words`: all words; `flags`: by name."""

    surface: dict[str, str]
    words: frozenset[str]
    flags: dict[str, float] = field(default_factory=dict)

    @property
    def terms(self) -> list[str]:
        """The analysed terms."""
        return list(self.surface)


#: Names of the flags.
FLAGS = ("q_when", "q_past", "q_would", "q_list", "q_why", "q_many")


def read_question(text: str) -> Question:
    """Read a question."""
    low = text.lower()
    words = surface_words(text)
    surface: dict[str, str] = {}
    meaning = []
    for word in words:
        terms = question_keywords(word).split()
        if terms:
            meaning.append(word)
        for term in terms:
            surface.setdefault(term, word)
    for term in question_keywords(text).split():  # identifiers that are kept whole
        surface.setdefault(term, term)
    plural = any(
        word.endswith("s") and not word.endswith(_DOUBLE_S) and len(word) >= _SHORTEST_PLURAL for word in meaning[:2]
    )
    known = frozenset(words)
    flags = {
        "q_when": float(low.startswith("when") or _HOW_LONG.search(low) is not None),
        "q_past": float("did" in known),
        "q_would": float(bool(_WOULD & known)),
        "q_list": float(plural),
        "q_why": float(low.startswith("why")),
        "q_many": float(_HOW_MANY.search(low) is not None),
    }
    return Question(surface, known, flags)
