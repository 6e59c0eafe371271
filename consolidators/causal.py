"""The causal relation: what producers say first, then rules or a model, through one gate of acceptance.

Late events undo what rules inferred from a neighbourhood that was not whole: such edges are withdrawn and published so.
The gate (confidence, no cycle, no effect before its cause, at most 5 in and 5 out) is `memory.graph.causality`.
"""

from collections.abc import Mapping, Sequence

from consolidators.batch import Change, Outcome, Work
from consolidators.evidence import evidenced, readable, silenced
from consolidators.windows import windows_of
from memory.errors import Poison
from memory.events import EventNode
from memory.graph import Done, Graph, GraphReader, Mark
from memory.graph.rule_causes import RuleReading
from memory.llm import Ask, Extractor, FoundCause
from memory.llm.rules import RulesExtractor
from memory.llm.scene import REACH, scenes
from memory.relations import CausalEdge, EdgeType, Origin, Provenance

_ASKS = frozenset({Ask.CAUSES})


class Causal:
    """Writes CAUSES; an event that was finished before is not asked about again, but still takes new neighbours.

    Rules always run: they cost nothing. What they find is a function of the chain, so events that a late one now stands
    before are read again, and what the rules do not give any more is withdrawn. A model is asked once for an event.
    """

    mark = Mark.CAUSAL

    def __init__(self, graph: Graph, extractor: Extractor) -> None:
        self._graph = graph
        self._rules = extractor if extractor.origin is Origin.RULE else RulesExtractor()
        self._model = None if extractor.origin is Origin.RULE else extractor

    async def consolidate(self, work: Work) -> Outcome:
        """See `Consolidator.consolidate`."""
        reader, writer = self._graph.reader(work.tenant), self._graph.writer()
        events = await reader.unmarked(work.ids, self.mark)
        chains = await _around(reader, list(events))
        nodes = {event.id: event for part in chains.values() for event in part} | events
        readings = await self._read_by_rules(work.tenant, readable(events), chains)
        told: list[CausalEdge] = []
        poisoned: dict[str, Poison] = {}
        if self._model is not None:
            news = {ident: event for ident, event in events.items() if not event.derived_from}
            causes, poisoned = await self._ask_model(self._model, work.tenant, news)
            ends = {ident for cause in causes for ident in (cause.cause, cause.effect)}
            nodes |= await reader.events(sorted(ends - nodes.keys()))
            stored = [cause for cause in causes if {cause.cause, cause.effect} <= nodes.keys()]
            told = evidenced((_edge(cause, self._model, nodes) for cause in stored), nodes)
        effects = [(event.id, event.parents) for event in events.values()]
        added = await writer.write_explicit_causes(work.tenant, effects)
        ruled = await writer.write_rule_causes(work.tenant, readings)
        added += ruled.added
        added += await writer.write_causes(work.tenant, told, done=Done(self.mark, work.without(poisoned).ids))
        session_of = {event.id: event.session for event in nodes.values()}
        changes = _changes(added, session_of, events) + _changes(ruled.withdrawn, session_of, events, withdrawn=True)
        return Outcome(changes, poisoned)

    async def _read_by_rules(
        self, tenant: str, events: Mapping[str, EventNode], chains: Mapping[str, Sequence[EventNode]]
    ) -> list[RuleReading]:
        """Read by rules every event in whose scene a new event stands."""
        readings = []
        for window in windows_of(tenant, events.values(), frozenset(), self._rules.batch_events, chains):
            nodes = {event.id: event for event in window.events}
            causes = (await self._rules.extract(window, _ASKS)).causes
            sites = frozenset(scene.event.id for scene in scenes(window.events, window.new))
            edges = tuple(evidenced((_edge(cause, self._rules, nodes) for cause in causes), nodes))
            readings.append(RuleReading(sites, tuple(nodes), edges, min(window.new)))
        return readings

    async def _ask_model(
        self, model: Extractor, tenant: str, events: Mapping[str, EventNode]
    ) -> tuple[list[FoundCause], dict[str, Poison]]:
        """Ask from the last window to the first: the other stage that asks begins at the first, so both work."""
        found: dict[str, list[FoundCause]] = {}
        poisoned: dict[str, Poison] = {}
        for window in reversed(list(windows_of(tenant, events.values(), frozenset(), model.batch_events))):
            if window.session in poisoned:
                continue
            try:
                causes = (await model.extract(window, _ASKS)).causes
                found.setdefault(window.session, []).extend(causes)
            except Poison as error:
                poisoned[window.session] = error
                found.pop(window.session, None)  # never a part of a session's answer
        return [cause for causes in found.values() for cause in causes], poisoned


async def _around(reader: GraphReader, ids: Sequence[str]) -> dict[str, list[EventNode]]:
    """Give for each new event the events around it in its chain that rules read."""
    windows = await reader.window(ids, REACH, REACH)
    wanted = {ident: [*reversed(window.before), *window.after] for ident, window in windows.items()}
    stored = await reader.events(sorted({other for others in wanted.values() for other in others}))
    return {ident: [silenced(stored[other]) for other in others if other in stored] for ident, others in wanted.items()}


def _edge(cause: FoundCause, extractor: Extractor, nodes: Mapping[str, EventNode]) -> CausalEdge:
    evidence = tuple(dict.fromkeys(ident for ident in (cause.cause, cause.effect, cause.told_by) if ident))
    provenance = Provenance(
        origin=extractor.origin,
        confidence=cause.confidence,
        created_us=max(nodes[end].ingested_us for end in evidence),
        rule=cause.rule,
        model=extractor.model,
        prompt_version=extractor.prompt_version,
        rationale=cause.rationale,
        evidence=evidence,
    )
    return CausalEdge(cause.cause, cause.effect, cause.kind, provenance)


def _changes(
    edges: Sequence[CausalEdge],
    session_of: Mapping[str, str],
    new: Mapping[str, EventNode],
    *,
    withdrawn: bool = False,
) -> tuple[Change, ...]:
    """Show each edge at its new end; of one between older events the end that is known here."""
    changes = []
    for edge in edges:
        event = edge.cause if edge.cause in new and edge.effect not in new else edge.effect
        event = event if event in session_of else edge.cause
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
        if withdrawn:
            shown["withdrawn"] = True
        changes.append(Change(session_of[event], event, shown))
    return tuple(changes)
