"""The offline provider: deterministic rules behind the interface of the models."""

import asyncio
from functools import cached_property

from memory.llm.course_rules import course_causes
from memory.llm.cue_rules import cue_causes
from memory.llm.dialogue_rules import dialogue_causes
from memory.llm.entity_rules import EntityRules
from memory.llm.exchange_rules import exchange_causes
from memory.llm.flow_rules import flow_causes
from memory.llm.model import Ask, Findings, FoundCause, FoundEntity, Window
from memory.llm.past import found_past
from memory.llm.reaction_rules import reaction_causes
from memory.llm.scene import Rule, scenes
from memory.llm.sign_rules import sign_causes
from memory.llm.structure_rules import structural_causes
from memory.llm.turn_rules import turn_causes
from memory.llm.work_rules import work_causes
from memory.relations import Origin

#: Version of the rules, kept with every edge: a new one is a reason to consolidate again.
RULES_VERSION = "rules-3"
#: Most causes that are found at one event.
MAX_EDGES = 5
#: Every rule, the surest first: of two that find one pair, the first gives its reasons.
RULES: tuple[Rule, ...] = (
    structural_causes,
    cue_causes,
    flow_causes,
    work_causes,
    dialogue_causes,
    reaction_causes,
    turn_causes,
    exchange_causes,
    course_causes,
    sign_causes,
)
#: Those that look at the event right before: they look past interjections too.
NEIGHBOUR_RULES: tuple[Rule, ...] = (
    flow_causes,
    dialogue_causes,
    reaction_causes,
    turn_causes,
    exchange_causes,
    sign_causes,
)


class RulesExtractor:
    """Names by patterns and, when installed, spaCy; causes by the structure of telemetry and by cue phrases."""

    origin = Origin.RULE
    model = ""
    prompt_version = RULES_VERSION
    batch_events = 256

    @cached_property
    def _entities(self) -> EntityRules:
        """The finder of names, made when it is first asked for: it may hold a model."""
        return EntityRules()

    async def extract(self, window: Window, asks: frozenset[Ask]) -> Findings:
        """See `Extractor.extract`; raises nothing."""
        entities = await asyncio.to_thread(self._find, window) if Ask.ENTITIES in asks else ()
        causes = await asyncio.to_thread(all_causes, window) if Ask.CAUSES in asks else ()
        return Findings(entities=entities, causes=causes)

    def _find(self, window: Window) -> tuple[FoundEntity, ...]:
        return self._entities.find(window)

    async def close(self) -> None:
        """Nothing is held but memory."""


def all_causes(window: Window) -> tuple[FoundCause, ...]:
    """Give the causes that scenes with a new event in them show: what structure says first, each pair once.

    Of the causes of one effect the surest `MAX_EDGES` are given. What is found at an event is a function of the
    `REACH` events before it (see `memory.llm.scene`).
    """
    causes: dict[tuple[str, str], FoundCause] = {}
    for scene in scenes(window.events, window.new):
        here: dict[tuple[str, str], FoundCause] = {}
        for rule in RULES:
            for cause in rule(scene):
                here.setdefault((cause.cause, cause.effect), cause)
        if not here:
            here = found_past(scene, NEIGHBOUR_RULES)
        kept = sorted(here.values(), key=lambda cause: -cause.confidence)[:MAX_EDGES]
        for cause in kept:
            causes.setdefault((cause.cause, cause.effect), cause)
    return tuple(causes.values())
