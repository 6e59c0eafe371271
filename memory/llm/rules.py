"""The offline provider: deterministic rules behind the interface of the models."""

import asyncio

from memory.llm.cue_rules import cue_causes
from memory.llm.entity_rules import EntityRules
from memory.llm.model import Ask, Findings, FoundCause, Window
from memory.llm.structure_rules import structural_causes
from memory.relations import Origin

#: Version of the rules, kept with every edge: a new one is a reason to consolidate again.
RULES_VERSION = "rules-1"


class RulesExtractor:
    """Names by patterns and, when installed, spaCy; causes by the structure of telemetry and by cue phrases."""

    origin = Origin.RULE
    model = ""
    prompt_version = RULES_VERSION
    batch_events = 256

    def __init__(self) -> None:
        self._entities = EntityRules()

    async def extract(self, window: Window, asks: frozenset[Ask]) -> Findings:
        """See `Extractor.extract`; raises nothing."""
        entities = await asyncio.to_thread(self._entities.find, window) if Ask.ENTITIES in asks else ()
        causes = await asyncio.to_thread(all_causes, window) if Ask.CAUSES in asks else ()
        return Findings(entities=entities, causes=causes)

    async def close(self) -> None:
        """Nothing is held but memory."""


def all_causes(window: Window) -> tuple[FoundCause, ...]:
    """Give the causes that touch a new event: what structure says first, then what the words say; each pair once."""
    found: dict[tuple[str, str], FoundCause] = {}
    for cause in (*structural_causes(window.events), *cue_causes(window.events)):
        pair = (cause.cause, cause.effect)
        if window.new.isdisjoint(pair) or pair in found or pair[::-1] in found:
            continue
        found[pair] = cause
    return tuple(found.values())
