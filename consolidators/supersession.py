"""What new events state, and which older statements that supersedes (magma.md, "Supersession"). Part of `entities`."""

from collections.abc import Container, Mapping

from consolidators.batch import Change
from consolidators.windows import ordered
from memory.events import EventNode
from memory.facts import Fact, Supersession
from memory.graph import GraphWriter
from memory.llm.fact_rules import FoundFact, facts_of
from memory.llm.rules import RULES_VERSION
from memory.relations import EdgeType, Origin, Provenance


async def supersede(
    writer: GraphWriter, tenant: str, events: Mapping[str, EventNode], poisoned: Container[str]
) -> list[Change]:
    """Write what the events state; gives that, and the supersessions added or withdrawn, at the newer event of each."""
    facts = [
        fact_of(found, event)
        for event in ordered(events.values())
        if event.session not in poisoned and not event.derived_from
        for found in facts_of(event)
    ]
    if not facts:
        return []
    superseded = await writer.write_facts(tenant, facts)
    return [*(_stated(fact, events[fact.event]) for fact in facts), *(_change(one, events) for one in superseded)]


def fact_of(found: FoundFact, event: EventNode) -> Fact:
    """Give a rule's finding as it is stored."""
    provenance = Provenance(
        origin=Origin.RULE,
        confidence=found.confidence,
        created_us=event.ingested_us,
        rule=found.rule,
        prompt_version=RULES_VERSION,
        evidence=(event.id,),
    )
    return Fact(event.id, found.subject, found.attribute, found.value, provenance)


def _stated(fact: Fact, event: EventNode) -> Change:
    edge = {
        "type": EdgeType.STATES,
        "source": fact.event,
        "target": fact.slot,
        "value": fact.value,
        "origin": fact.provenance.origin,
        "confidence": fact.provenance.confidence,
        "rule": fact.provenance.rule,
        "prompt_version": fact.provenance.prompt_version,
    }
    return Change(event.session, event.id, edge)


def _change(one: Supersession, events: Mapping[str, EventNode]) -> Change:
    """Tell it at the end that is new; one of a slot's events is in the batch, or nothing would have changed."""
    event = next((events[end] for end in (one.newer, one.older) if end in events), next(iter(events.values())))
    edge = {
        "type": EdgeType.SUPERSEDES,
        "source": one.newer,
        "target": one.older,
        "kind": f"{one.subject}|{one.attribute}",
        "subject": one.subject,
        "attribute": one.attribute,
        "old": one.old,
        "new": one.new,
        "origin": one.provenance.origin,
        "confidence": one.provenance.confidence,
        "rule": one.provenance.rule,
        "withdrawn": one.withdrawn,
    }
    return Change(event.session, event.id, edge)
