"""The causal relation: what producers say first, then rules or a model, through one gate of acceptance.

The gate (confidence, no cycle, no effect before its cause, at most 5 in and 5 out) is `memory.graph.causality`.
"""

from collections.abc import Mapping, Sequence

from consolidators.batch import Change, Outcome, Work
from consolidators.windows import windows_of
from memory.errors import Poison
from memory.events import EventNode
from memory.graph import Done, Graph, GraphReader, Mark
from memory.llm import Ask, Extractor, FoundCause
from memory.relations import CausalEdge, EdgeType, Origin, Provenance

#: Chain neighbours that rules look at on either side: as far as the graph walks in one question.
_RULE_REACH = 16
#: What a model is shown: the last events of the session, and neighbours ranked by the strength of their edge.
_MODEL_HISTORY = 5
_MODEL_NEIGHBOURS = 10
_HUB_LIMIT = 20
_ASKS = frozenset({Ask.CAUSES})


class Causal:
    """Writes CAUSES; an event that was finished before is not asked about again, but still takes new neighbours."""

    mark = Mark.CAUSAL

    def __init__(self, graph: Graph, extractor: Extractor) -> None:
        self._graph = graph
        self._extractor = extractor

    async def consolidate(self, work: Work) -> Outcome:
        """See `Consolidator.consolidate`."""
        reader, writer = self._graph.reader(work.tenant), self._graph.writer()
        pending = await reader.unfinished(work.ids, (self.mark,))
        events = await reader.events([ident for ident in work.ids if ident in pending])
        effects = [(event.id, event.parents) for event in events.values()]
        added = await writer.write_explicit_causes(work.tenant, effects)
        around = await self._around(reader, list(events))
        found, poisoned = await self._extract(work, events, around)
        done = Done(self.mark, work.without(poisoned).ids)
        nodes = {event.id: event for part in around.values() for event in part} | events
        edges = [self._edge(cause, nodes) for cause in found]
        added += await writer.write_causes(work.tenant, edges, done=done)
        session_of = {event.id: event.session for event in nodes.values()}
        return Outcome(_changes(added, session_of, events), poisoned)

    async def _around(self, reader: GraphReader, ids: Sequence[str]) -> dict[str, list[EventNode]]:
        """Give for each new event the events that its causes and effects are looked for among."""
        by_rules = self._extractor.origin is Origin.RULE
        before, after = (_RULE_REACH, _RULE_REACH) if by_rules else (_MODEL_HISTORY, 0)
        windows = await reader.window(ids, before, after)
        wanted = {ident: [*window.before, *window.after] for ident, window in windows.items()}
        if not by_rules:
            hood = await reader.neighbours(ids, hub_limit=_HUB_LIMIT)
            ranked = sorted(hood.edges, key=lambda edge: (-edge.strength, edge.target))
            for ident in ids:
                near = dict.fromkeys(edge.target for edge in ranked if edge.source == ident)
                wanted.setdefault(ident, []).extend(list(near)[:_MODEL_NEIGHBOURS])
        stored = await reader.events(sorted({other for others in wanted.values() for other in others}))
        return {ident: [stored[other] for other in others if other in stored] for ident, others in wanted.items()}

    async def _extract(
        self, work: Work, events: Mapping[str, EventNode], around: Mapping[str, Sequence[EventNode]]
    ) -> tuple[list[FoundCause], dict[str, Poison]]:
        found: dict[str, list[FoundCause]] = {}
        poisoned: dict[str, Poison] = {}
        batch = self._extractor.batch_events
        for window in windows_of(work.tenant, events.values(), frozenset(), batch, around):
            if window.session in poisoned:
                continue
            try:
                causes = (await self._extractor.extract(window, _ASKS)).causes
                found.setdefault(window.session, []).extend(causes)
            except Poison as error:
                poisoned[window.session] = error
                found.pop(window.session, None)  # never a part of a session's answer
        return [cause for causes in found.values() for cause in causes], poisoned

    def _edge(self, cause: FoundCause, nodes: Mapping[str, EventNode]) -> CausalEdge:
        provenance = Provenance(
            origin=self._extractor.origin,
            confidence=cause.confidence,
            created_us=max(nodes[end].ingested_us for end in (cause.cause, cause.effect)),
            rule=cause.rule,
            model=self._extractor.model,
            prompt_version=self._extractor.prompt_version,
            rationale=cause.rationale,
            evidence=(cause.cause, cause.effect),
        )
        return CausalEdge(cause.cause, cause.effect, cause.kind, provenance)


def _changes(
    edges: Sequence[CausalEdge], session_of: Mapping[str, str], new: Mapping[str, EventNode]
) -> tuple[Change, ...]:
    """Show each edge at its new end; an awaited edge may join two events of which only the cause is in this batch."""
    changes = []
    for edge in edges:
        event = edge.effect if edge.effect in new else edge.cause
        source = edge.provenance
        shown = {
            "type": EdgeType.CAUSES,
            "source": edge.cause,
            "target": edge.effect,
            "kind": edge.kind,
            "origin": source.origin,
            "confidence": source.confidence,
            "rule": source.rule,
            "model": source.model,
            "prompt_version": source.prompt_version,
            "rationale": source.rationale,
            "evidence": list(source.evidence),
        }
        changes.append(Change(session_of[event], event, shown))
    return tuple(changes)
