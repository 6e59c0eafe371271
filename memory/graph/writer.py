"""The one way to write to the graph. Every write is one transaction (or a few, beyond 1,000 rows), idempotent, retried.

Raises, from every method: `StoreUnavailable`, `StoreConflict` (both `Retryable`), `StoreRefused`, and `Poison` for
values that the server will never take.
"""

from collections.abc import Collection, Mapping, Sequence

from memory.errors import MalformedEvent
from memory.events import EventNode
from memory.facts import Fact, Supersession
from memory.graph import (
    cause_writes,
    episode_writes,
    event_writes,
    fact_writes,
    link_writes,
    mention_writes,
    name_mends,
    name_writes,
    rule_causes,
    session_order,
)
from memory.graph.batches import chunks
from memory.graph.driver import Bolt, Transaction
from memory.graph.extractions import Extractions
from memory.graph.marks import mark_in
from memory.graph.model import Done, EventsWritten, Mark, NameChange
from memory.graph.rule_causes import RuleChanges, RuleReading
from memory.graph.session_order import SessionLink
from memory.relations import CausalEdge, Episode, Mention, SimilarEdge


class GraphWriter:
    """Writes of all tenants. `done` on a write marks events as finished by a stage in the same transaction."""

    def __init__(self, bolt: Bolt) -> None:
        self._bolt = bolt

    async def write_events(self, nodes: Sequence[EventNode]) -> EventsWritten:
        """Store events, their sessions and their places in the chains (arXiv 2601.03236, Alg. 2).

        The chain of a session is a function of the set of its events, whatever the order, the batches or the number of
        writers. The first write of an id wins. Raises `MalformedEvent` for an event that no server could store.
        """
        try:
            return await event_writes.write_events(self._bolt, nodes)
        except ValueError as error:
            raise MalformedEvent(f"an event cannot be stored: {error}") from error

    async def place_sessions(self, tenant: str, ids: Sequence[str]) -> list[SessionLink]:
        """Put the sessions of stored events into the order of their agents' sessions; gives the links that this made.

        The order is a function of the set of events that were given, whatever the order, the batches or the number of
        writers: by an agent's first event in each session (arXiv 2601.03236, section 3.2: temporal edges).
        """
        return await session_order.place_sessions(self._bolt, tenant, ids)

    async def write_causes(
        self, tenant: str, edges: Sequence[CausalEdge], *, done: Done | None = None
    ) -> list[CausalEdge]:
        """Store the causal edges that pass the rules of `memory.graph.causality`; give those added or taken over."""
        return await cause_writes.write_causes(self._bolt, tenant, edges, done)

    async def write_rule_causes(
        self, tenant: str, readings: Sequence[RuleReading], *, done: Done | None = None
    ) -> RuleChanges:
        """Make the rules' edges that were found at the readings' sites equal to what the readings say.

        What is new passes the rules of `memory.graph.causality`; what the rules do not give any more is withdrawn.
        Where more than 5 effects of one cause are found by rules, those that were found first stay.
        """
        return await rule_causes.write_rule_causes(self._bolt, tenant, readings, done)

    async def write_explicit_causes(
        self,
        tenant: str,
        effects: Sequence[tuple[str, tuple[str, ...]]],
        *,
        done: Done | None = None,
    ) -> list[CausalEdge]:
        """Link stored events to the parents their producers named: (effect id, ids of its causes).

        Pass every event once it is stored, those without parents too: an effect that arrived earlier may be waiting for
        it. A cause that is not stored yet is awaited and linked when it comes; effects that are not stored are skipped.
        Gives the edges that were added.
        """
        return await cause_writes.write_explicit_causes(self._bolt, tenant, effects, done)

    async def write_similar(
        self, tenant: str, edges: Sequence[SimilarEdge], *, done: Done | None = None
    ) -> list[SimilarEdge]:
        """Store semantic edges, one for each unordered pair, from the smaller id to the larger; give those added."""
        return await link_writes.write_similar(self._bolt, tenant, edges, done)

    async def write_mentions(
        self, tenant: str, mentions: Sequence[Mention], *, done: Done | None = None
    ) -> list[Mention]:
        """Store mentions at the entities that their spellings stand for; counts, times, type and name follow.

        `Mention.key` is the spelling's normal form; what is given back, the edges that were added, has the entity's.
        Mentions by events that are not stored are skipped; an entity never stays without an edge. A doubtful mention is
        kept aside until its spelling is known as a name.
        """
        return await mention_writes.write_mentions(self._bolt, tenant, mentions, done)

    async def learn_names(self, tenant: str, mentions: Sequence[Mention]) -> list[NameChange]:
        """Learn what mentions say of their spellings, and move stored mentions of spellings that stand for others now.

        `write_mentions` learns by itself what is missing; whoever wants to know what has moved calls this first. The
        same set of mentions ends in the same entities, whatever the order, the batches or the number of writers.
        """
        return await name_writes.learn_names(self._bolt, tenant, mentions)

    async def relearn_names(self, tenant: str, places: Mapping[str, Collection[str]]) -> list[NameChange]:
        """Learn spellings again from the mentions that are stored, after some of them were removed or misplaced.

        `places`: by spelling, keys of entities that may hold mentions of it beside its own. A spelling that no event
        has any more is forgotten, and what it set apart or joined is decided again.
        """
        return await name_mends.relearn_names(self._bolt, tenant, places)

    async def write_facts(self, tenant: str, facts: Sequence[Fact]) -> list[Supersession]:
        """Store what events state, and SUPERSEDES from newer to older events where a value changes.

        Event time decides which is newer, so a late event may withdraw an edge. Facts of events that are not stored are
        skipped. Gives the supersessions that were added or withdrawn.
        """
        return await fact_writes.write_facts(self._bolt, tenant, facts)

    async def relearn_facts(self, tenant: str, slots: Sequence[str]) -> list[Supersession]:
        """Decide again about slots (`subject|attribute`) after statements of theirs were removed; empty ones go."""
        return await fact_writes.relearn_facts(self._bolt, tenant, slots)

    async def write_episodes(
        self, tenant: str, episodes: Sequence[Episode], *, done: Done | None = None
    ) -> list[Episode]:
        """Store episodes and what is part of them; an event moves to the episode written last. Gives those changed."""
        return await episode_writes.write_episodes(self._bolt, tenant, episodes, done)

    async def mark_consolidated(self, tenant: str, stage: Mark, ids: Sequence[str]) -> None:
        """Mark events as finished by a stage that had nothing to write."""
        for part in chunks(sorted(set(ids))):

            async def work(transaction: Transaction, part: Sequence[str] = part) -> None:
                await mark_in(transaction, tenant, Done(stage, tuple(part)))

            await self._bolt.transact(work, what="mark")

    async def forget_extractions(self, tenant: str, ids: Sequence[str] | None) -> int:
        """Delete what a language model made with one of these events in sight; None: all of the tenant's.

        For erasures: call it after the events themselves are deleted, so that a worker that reads them right now keeps
        nothing either. Walks over the tenant's extractions. Gives how many were deleted.
        """
        return await Extractions(self._bolt, tenant).forget(ids)
