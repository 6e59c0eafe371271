"""The entity relation: which names an event mentions and who said it, resolved to one node for each entity."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from consolidators.batch import Change, Outcome, Work
from consolidators.supersession import supersede
from consolidators.windows import ordered, windows_of
from memory.errors import Poison
from memory.events import EventNode
from memory.graph import Done, Graph, Mark, NameChange
from memory.llm import Ask, Extractor, FoundEntity
from memory.llm.entity_rules import entity_type
from memory.names import name_form, normal_form
from memory.relations import EdgeType, EntityType, Mention, Origin, Provenance

_SURFACE_CHARS = 256
#: What `memory.changes` calls a spelling that stands for another entity than before: no edge of the graph.
ALIAS_OF = "ALIAS_OF"
_ASKS = frozenset({Ask.ENTITIES})


class Entities:
    """Writes MENTIONS and SPOKEN_BY; an event that was finished before keeps what was found then.

    What is found in an event depends on the event alone; what its spellings stand for, on the set of all spellings of
    the tenant (`memory.identity`). So events in any order and any batches end in the same entities.
    """

    mark = Mark.ENTITIES

    def __init__(self, graph: Graph, extractor: Extractor) -> None:
        self._graph = graph
        self._extractor = extractor

    async def consolidate(self, work: Work) -> Outcome:
        """See `Consolidator.consolidate`."""
        reader, writer = self._graph.reader(work.tenant), self._graph.writer()
        events = await reader.unmarked(work.ids, self.mark)
        found, poisoned = await self._extract(
            work, {ident: event for ident, event in events.items() if not event.derived_from}
        )
        by_event: dict[str, list[FoundEntity]] = {}
        for each in found:
            by_event.setdefault(each.event, []).append(each)
        mentions = [
            mention
            for event in ordered(events.values())
            if event.session not in poisoned
            for mention in self._of_event(event, by_event.get(event.id, ()))
        ]
        renamed = await writer.learn_names(work.tenant, mentions)
        superseded = await supersede(writer, work.tenant, events, poisoned)
        done = Done(self.mark, work.without(poisoned).ids)
        added = await writer.write_mentions(work.tenant, mentions, done=done)
        changes = [_change(mention, events) for mention in added]
        if renamed:
            changes += [_renamed(change, mentions, events) for change in renamed]
        return Outcome((*changes, *superseded), poisoned)

    async def _extract(
        self, work: Work, events: Mapping[str, EventNode]
    ) -> tuple[list[FoundEntity], dict[str, Poison]]:
        found: list[FoundEntity] = []
        poisoned: dict[str, Poison] = {}
        for window in windows_of(work.tenant, events.values(), frozenset(), self._extractor.batch_events):
            if window.session in poisoned:
                continue
            try:
                found.extend((await self._extractor.extract(window, _ASKS)).entities)
            except Poison as error:
                poisoned[window.session] = error
        return found, poisoned

    def _of_event(self, event: EventNode, found: Iterable[FoundEntity]) -> Iterable[Mention]:
        """Give one mention for each spelling: the producer's word first, then what is surest; and the speaker."""
        mentions: dict[str, Mention] = {}
        for name in event.entities:
            if key := normal_form(name):
                kind = entity_type(name)
                mentions.setdefault(key, self._mention(event, key, name, kind, Origin.PRODUCER, 1.0, "producer"))
        for each in sorted(found, key=lambda item: (item.doubtful, -item.confidence, item.surface)):
            form = name_form(each.surface)
            if form and form not in mentions:
                kind = EntityType(each.entity_type)
                mention = self._mention(
                    event, form, each.surface, kind, self._extractor.origin, each.confidence, each.rule
                )
                mentions[form] = replace(mention, doubtful=each.doubtful)
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


def _renamed(change: NameChange, mentions: Sequence[Mention], events: Mapping[str, EventNode]) -> Change:
    """Tell that a spelling stands for another entity now, at the first new event that names either."""
    spelled = {change.form, change.after}
    event = next((mention.event for mention in mentions if mention.key in spelled), mentions[0].event)
    edge = {
        "type": ALIAS_OF,
        "source": change.form,
        "target": change.after,
        "before": change.before,
        "moved": change.moved,
        "origin": change.origin,
        "confidence": change.confidence,
        "rule": change.rule,
    }
    return Change(events[event].session, event, edge)
