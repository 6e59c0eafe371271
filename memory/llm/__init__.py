"""Structured reading of events: entities and causes, by deterministic rules or by a language model.

Both stand behind `Extractor`; `open_extractor` gives the one that the settings ask for.
"""

from memory.llm.context import Nearness
from memory.llm.extractor import Extractor
from memory.llm.factory import open_extractor
from memory.llm.merging import MergeJudge, open_merge_judge
from memory.llm.model import Ask, Findings, FoundCause, FoundEntity, Summary, Window
from memory.llm.proposals import Proposed, propose_merges

__all__ = [
    "Ask",
    "Extractor",
    "Findings",
    "FoundCause",
    "FoundEntity",
    "MergeJudge",
    "Nearness",
    "Proposed",
    "Summary",
    "Window",
    "open_extractor",
    "open_merge_judge",
    "propose_merges",
]
