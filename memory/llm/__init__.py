"""Structured reading of events: entities and causes, by deterministic rules or by a language model.

Both stand behind `Extractor`; `open_extractor` gives the one that the settings ask for.
"""

from memory.llm.context import Nearness
from memory.llm.extractor import Extractor
from memory.llm.factory import open_extractor
from memory.llm.model import Ask, Findings, FoundCause, FoundEntity, Summary, Window

__all__ = [
    "Ask",
    "Extractor",
    "Findings",
    "FoundCause",
    "FoundEntity",
    "Nearness",
    "Summary",
    "Window",
    "open_extractor",
]
