"""The entities stage on the real stores, with the offline rules."""

import asyncio
from dataclasses import replace

import pytest

from consolidators.batch import Outcome, Work
from consolidators.entities import Entities
from memory.errors import StoreUnavailable
from memory.events import EventKind
from memory.graph import Mark
from memory.relations import EdgeType
from tests.consolidators.memory import Memory, edges_of

pytestmark = pytest.mark.stack


async def touched(memory: Memory, ident: str) -> set[str]:
    """Give the keys of the entities that an event has an edge to: with a limit of 0 each of them is a hub."""
    around = await memory.reader.neighbours([memory.id(ident)], hub_limit=0)
    return {hub.key for hub in around.hubs}


async def test_three_spellings_are_one_entity(memory: Memory) -> None:
    texts = {
        "a": "payments-service answers slowly.",
        "b": "We looked at the Payments Service again.",
        "c": "Probe of payments_svc is red.",
        "d": "nobody touched the payments service today.",
    }
    records = await memory.store([memory.event(name, text, at=n) for n, (name, text) in enumerate(texts.items())])
    await memory.run("entities", records)
    entity = (await memory.reader.entities(["payments service"]))["payments service"]
    assert entity.events == 4
    for name in texts:
        assert "payments service" in await touched(memory, name)


async def test_speaking_and_being_mentioned_are_two_relations(memory: Memory) -> None:
    records = await memory.store(
        [
            memory.event("a", "I talked to Melanie about the trip.", speaker="Caroline", agent="Caroline"),
            memory.event("b", "And I liked it.", speaker="Melanie", agent="Melanie", at=1),
        ]
    )
    edges = edges_of(await memory.run("entities", records))
    found = {(edge["type"], edge["source"], edge["target"]) for edge in edges}
    assert (EdgeType.SPOKEN_BY, memory.id("a"), "caroline") in found
    assert (EdgeType.MENTIONS, memory.id("a"), "melanie") in found
    assert (EdgeType.SPOKEN_BY, memory.id("b"), "melanie") in found
    assert not any(kind == EdgeType.MENTIONS and target == "caroline" for kind, _, target in found)
    people = await memory.reader.entities(["caroline", "melanie"])
    assert {entity.type for entity in people.values()} == {"person"}


async def test_a_short_name_joins_the_one_person_that_it_can_mean(memory: Memory) -> None:
    records = await memory.store(
        [
            memory.event("a", "Hello from me.", speaker="Melanie"),
            memory.event("b", "Yesterday Mel and I went swimming.", speaker="Caroline", at=1),
        ]
    )
    edges = edges_of(await memory.run("entities", records))
    mel = next(edge for edge in edges if edge["rule"] == "alias-prefix")
    assert (mel["source"], mel["target"]) == (memory.id("b"), "melanie")
    assert "mel" not in await memory.reader.entities(["mel"])


async def test_the_producers_names_are_certain(memory: Memory) -> None:
    event = memory.event("a", "Restarted it.", entities=["Ledger-Primary", "INC-881"], kind=EventKind.STATE_CHANGE)
    edges = edges_of(await memory.run("entities", await memory.store([event])))
    named = {edge["target"]: (edge["origin"], edge["confidence"]) for edge in edges if edge["type"] == "MENTIONS"}
    assert named == {"ledger primary": ("producer", 1.0), "inc 881": ("producer", 1.0)}


async def test_openers_and_exclamations_of_talk_are_no_entities(memory: Memory) -> None:
    texts = ["Wow! Glad you liked it.", "Congrats! That rocks.", "Thanks, appreciate it.", "Yup, totally. Woohoo!"]
    records = await memory.store([memory.event(f"e{n}", text, speaker="Nora", at=n) for n, text in enumerate(texts)])
    edges = edges_of(await memory.run("entities", records))
    assert {edge["target"] for edge in edges} == {"nora"}


async def test_people_and_places_in_talk_are_found(memory: Memory) -> None:
    text = "Last summer I visited my brother Jonas in Lisbon and we saw the Louvre in Paris."
    edges = edges_of(await memory.run("entities", await memory.store([memory.event("a", text, speaker="Nora")])))
    named = {edge["target"]: edge["entity_type"] for edge in edges if edge["type"] == "MENTIONS"}
    assert {"jonas", "lisbon", "paris"} <= named.keys()
    assert (named["jonas"], named["lisbon"]) == ("person", "place")


async def test_running_twice_and_at_the_same_time_leaves_one_node_a_name(memory: Memory) -> None:
    events = [memory.event(f"e{n}", "Ask Jonas about INC-881 in Lisbon.", speaker="Nora", at=n) for n in range(12)]
    records = await memory.store(events)
    ids = [memory.id(f"e{n}") for n in range(12)]
    await asyncio.gather(*(memory.run("entities", records) for _ in range(3)))
    counts = await memory.reader.counts()
    await memory.run("entities", records)
    assert await memory.reader.counts() == counts
    names = await memory.reader.entity_names(limit=100)
    assert len({entity.key for entity in names}) == len(names) == counts.entities
    assert {entity.key: entity.events for entity in names}["inc 881"] == 12
    assert await memory.reader.unfinished(ids, [Mark.ENTITIES]) == set()


async def test_a_record_that_cannot_be_read_is_rejected_and_the_others_go_on(memory: Memory) -> None:
    good = await memory.store([memory.event("a", "Ask Jonas.", speaker="Nora")])
    bad = replace(good[0], offset=7, value=b"{not json")
    handled = await memory.run("entities", [bad, *good])
    assert [rejected.record for rejected in handled.rejected] == [bad]
    assert await memory.reader.unfinished([memory.id("a")], [Mark.ENTITIES]) == set()


async def test_a_worker_that_dies_within_a_batch_has_marked_all_but_the_last_few_events(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"e{at}" for at in range(80)]
    records = await memory.store([memory.event(ident, f"Ana Ruiz saw {ident}.", at=at) for at, ident in enumerate(ids)])
    whole, goes = Entities.consolidate, []

    async def dying(self: Entities, work: Work) -> Outcome:
        goes.append(len(work.ids))
        if len(goes) == 3:
            raise StoreUnavailable("the graph went away")
        return await whole(self, work)

    monkeypatch.setattr(Entities, "consolidate", dying)
    with pytest.raises(StoreUnavailable):
        await memory.run("entities", records)
    left = await memory.reader.unfinished([memory.id(ident) for ident in ids], (Mark.ENTITIES,))
    assert goes == [32, 32, 16]
    assert left == {memory.id(ident) for ident in ids[64:]}
