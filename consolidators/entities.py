"""The entity relation: which names an event mentions and who said it, resolved to one node for each entity."""

from collections.abc import Iterable, Mapping, Sequence

from consolidators.aliases import Aliases
from consolidators.batch import Change, Outcome, Work
from consolidators.people import People
from consolidators.windows import ordered, windows_of
from memory.errors import Poison
from memory.events import EventNode
from memory.graph import Done, Graph, Mark
from memory.llm import Ask, Extractor, FoundEntity
from memory.llm.entity_rules import SURE, entity_type
from memory.llm.model import EntityType
from memory.names import normal_form
from memory.relations import EdgeType, Mention, Origin, Provenance

_SURFACE_CHARS = 256
_PERSONAL = frozenset({EntityType.PERSON, EntityType.AGENT, EntityType.OTHER})
_ASKS = frozenset({Ask.ENTITIES})


class Entities:
    """Writes MENTIONS and SPOKEN_BY; an event that was finished before keeps what was found then."""

    mark = Mark.ENTITIES

    def __init__(self, graph: Graph, extractor: Extractor) -> None:
        self._graph = graph
        self._extractor = extractor
        self._people = People()

    async def consolidate(self, work: Work) -> Outcome:
        """See `Consolidator.consolidate`."""
        reader = self._graph.reader(work.tenant)
        pending = await reader.unfinished(work.ids, (self.mark,))
        events = await reader.events([ident for ident in work.ids if ident in pending])
        people = await self._people.of(reader)
        people.update(key for event in events.values() if (key := normal_form(speaker_of(event))))
        found, poisoned = await self._extract(work, events, people)
        ready = [event for event in ordered(events.values()) if event.session not in poisoned]
        weak = {normal_form(each.surface) for each in found if each.confidence < SURE}
        known = set(await reader.entities(sorted(weak - {""}))) if weak else set()
        mentions = self._mentions(ready, found, people, known)
        people.update(mention.key for mention in mentions if mention.entity_type == EntityType.PERSON)
        done = Done(self.mark, work.without(poisoned).ids)
        added = await self._graph.writer().write_mentions(work.tenant, mentions, done=done)
        return Outcome(tuple(_change(mention, events) for mention in added), poisoned)

    async def _extract(
        self, work: Work, events: Mapping[str, EventNode], people: set[str]
    ) -> tuple[list[FoundEntity], dict[str, Poison]]:
        found: list[FoundEntity] = []
        poisoned: dict[str, Poison] = {}
        for window in windows_of(work.tenant, events.values(), frozenset(people), self._extractor.batch_events):
            if window.session in poisoned:
                continue
            try:
                found.extend((await self._extractor.extract(window, _ASKS)).entities)
            except Poison as error:
                poisoned[window.session] = error
        return found, poisoned

    def _mentions(
        self, events: Sequence[EventNode], found: Iterable[FoundEntity], people: set[str], known: set[str]
    ) -> list[Mention]:
        by_event: dict[str, list[FoundEntity]] = {}
        for each in found:
            by_event.setdefault(each.event, []).append(each)
        sure = {normal_form(each.surface) for all_ in by_event.values() for each in all_ if each.confidence >= SURE}
        sure |= {normal_form(name) for event in events for name in event.entities} | known
        aliases = Aliases(people)
        mentions: list[Mention] = []
        for event in events:
            mentions.extend(self._of_event(event, by_event.get(event.id, ()), aliases, sure))
        return mentions

    def _of_event(
        self, event: EventNode, found: Iterable[FoundEntity], aliases: Aliases, sure: set[str]
    ) -> Iterable[Mention]:
        """Give one mention for each entity: the producer's word first, then what is surest; and the speaker."""
        mentions: dict[str, Mention] = {}
        for name in event.entities:
            key = aliases.resolve(normal_form(name)).key
            if key:
                kind = entity_type(name)
                mentions.setdefault(key, self._mention(event, key, name, kind, Origin.PRODUCER, 1.0, "producer"))
        for each in sorted(found, key=lambda item: (-item.confidence, item.surface)):
            form, kind = normal_form(each.surface), EntityType(each.entity_type)
            if not form or (each.confidence < SURE and form not in sure):
                continue
            confidence, rule = each.confidence, each.rule
            if kind in _PERSONAL:
                resolved = aliases.resolve(form)
                if resolved.key != form:
                    form, rule, kind = resolved.key, resolved.rule, EntityType.PERSON
                    confidence = min(confidence, resolved.confidence)
            mentions.setdefault(
                form, self._mention(event, form, each.surface, kind, self._extractor.origin, confidence, rule)
            )
        yield from mentions.values()
        if key := normal_form(speaker_of(event)):
            kind = EntityType.PERSON if event.speaker and not _is_machine(event.speaker) else EntityType.AGENT
            yield self._mention(event, key, speaker_of(event), kind, Origin.PRODUCER, 1.0, "speaker", spoken=True)

    def _mention(
        self,
        event: EventNode,
        key: str,
        surface: str,
        kind: EntityType,
        origin: Origin,
        confidence: float,
        rule: str,
        *,
        spoken: bool = False,
    ) -> Mention:
        by_model = origin is Origin.LLM
        provenance = Provenance(
            origin=origin,
            confidence=confidence,
            created_us=event.ingested_us,
            rule=rule,
            model=self._extractor.model if by_model else "",
            prompt_version=self._extractor.prompt_version if origin is not Origin.PRODUCER else "",
            evidence=(event.id,),
        )
        return Mention(event.id, key, surface[:_SURFACE_CHARS], kind, provenance, spoken)


def speaker_of(event: EventNode) -> str:
    """Give who said it: the speaker, or the agent when no speaker is named."""
    return event.speaker or event.agent


def _is_machine(name: str) -> bool:
    return normal_form(name).rsplit(" ", 1)[-1] in {"agent", "bot", "assistant", "service", "system"}


def _change(mention: Mention, events: Mapping[str, EventNode]) -> Change:
    edge = {
        "type": EdgeType.SPOKEN_BY if mention.spoken else EdgeType.MENTIONS,
        "source": mention.event,
        "target": mention.key,
        "surface": mention.surface,
        "entity_type": mention.entity_type,
        "origin": mention.provenance.origin,
        "confidence": mention.provenance.confidence,
        "rule": mention.provenance.rule,
    }
    return Change(events[mention.event].session, mention.event, edge)
