"""What ranking knows of an event's words, read once an event and remembered: events never change."""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.embedding.static import WordllamaEncoder
from memory.errors import MissingExtra
from memory.events import EventNode
from memory.text import document_keywords
from memory.text.analysis import JOINER
from memory.text.stopwords import STOP_WORDS
from query_api.ranking.lexicon import Lexicon
from query_api.ranking.signals import signals

#: Events whose words are remembered, and words after which everything is forgotten: a bound on memory, nothing else.
MAX_DOCUMENTS = 20_000
MAX_WORDS = 200_000
#: Longest text whose words are looked at, in characters; the beginning of a longer one.
MAX_CHARS = 4_000

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"'s\b")


@dataclass(frozen=True, slots=True)
class Document:
    """One event's words as numbers of the vocabulary.

    `stems`: analysed tokens as BM25 sees them, repeated as often as they occur; `body`: its distinct words as they are
    written; `signals`: by `Signal`.
    """

    stems: NDArray[np.int64]
    body: NDArray[np.int64]
    signals: tuple[float, ...]


def surface_words(text: str) -> list[str]:
    """Give the words of a text as they are written, in lower case and without possessives."""
    return _WORD.findall(_POSSESSIVE.sub("", text.lower().replace("’", "'")))


class Documents:
    """Reads events; the vocabulary and the word vectors belong to it. Safe for threads.

    What is remembered changes how fast an answer comes and never the answer: whoever uses word numbers must not let
    their order matter.
    """

    def __init__(self, lexicon: Lexicon | None = None, *, most: int = MAX_DOCUMENTS) -> None:
        self.lexicon = lexicon or Lexicon()
        self._most = most
        self._known: OrderedDict[tuple[str, str], Document] = OrderedDict()
        self._numbers: dict[str, int] = {}
        self._lock = threading.RLock()

    @classmethod
    def open(cls) -> "Documents":
        """Open with the static word vectors of the `local` extra, or without any where it is missing."""
        try:
            table = WordllamaEncoder()
            table.load()
        except MissingExtra:
            return cls()
        return cls(Lexicon(table.encode_now, table.dim))

    def __enter__(self) -> "Documents":
        """Hold the vocabulary still: numbers given inside one `with` belong together."""
        self._lock.acquire()
        if len(self._numbers) > MAX_WORDS:
            self._known.clear()
            self._numbers.clear()
            self.lexicon.clear()
        return self

    def __exit__(self, *_: object) -> None:
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        self._lock.release()

    def of(self, nodes: Iterable[EventNode]) -> list[Document]:
        """Give the documents of events, in their order."""
        return [self._of(node) for node in nodes]

    def numbers(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Give the number of each word; the same word has the same number."""
        table = self._numbers
        return np.fromiter((table.setdefault(word, len(table)) for word in words), np.int64, len(words))

    def vectors(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Give the static vectors of words by their numbers, (n, dim)."""
        return self.lexicon.vectors(numbers, self._numbers)

    def forget(self, tenant: str, ids: Iterable[str] | None = None) -> None:
        """Forget events of a tenant that were erased, or the whole tenant."""
        with self._lock:
            gone = [key for key in self._known if key[0] == tenant] if ids is None else [(tenant, id_) for id_ in ids]
            for key in gone:
                self._known.pop(key, None)

    def _of(self, node: EventNode) -> Document:
        key = (node.tenant, node.id)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._read(node)
        self._known.move_to_end(key)
        return known

    def _read(self, node: EventNode) -> Document:
        text = node.text[:MAX_CHARS]
        words = [word for word in surface_words(text) if word not in STOP_WORDS]
        stems = [stem for stem in document_keywords(node).split() if stem != JOINER]
        return Document(
            self.numbers(stems[: MAX_CHARS // 2]), self.numbers(list(dict.fromkeys(words))), signals(text, len(words))
        )
