"""The semantic stage on the real stores."""

import pytest

from consolidators.batch import Work
from consolidators.semantic import MAX_DEGREE, NEW_DEGREE, Semantic
from memory.graph import Mark
from memory.relations import EdgeType
from tests.consolidators.memory import Memory, edges_of

pytestmark = pytest.mark.stack

_APART = [
    "The bakery around the corner closed last week.",
    "Replica lag of the ledger is back under one second.",
    "Grandma turned ninety and danced with everybody.",
    "Feature flag for the new checkout is on for staff.",
]


async def similar(memory: Memory, ident: str) -> set[str]:
    around = await memory.reader.neighbours([memory.id(ident)], hub_limit=0)
    return {edge.target for edge in around.edges if edge.edge is EdgeType.SIMILAR}


async def test_events_that_say_the_same_are_joined_once_and_others_are_not(memory: Memory) -> None:
    texts = ["The rye bread in the oven smells great.", "The rye bread from the oven tastes great.", *_APART]
    records = await memory.store([memory.event(f"e{n}", text, at=n) for n, text in enumerate(texts)])
    handled = await memory.run("semantic", records)
    joined = [(edge["source"], edge["target"]) for edge in edges_of(handled)]
    assert (min(memory.id("e0"), memory.id("e1")), max(memory.id("e0"), memory.id("e1"))) in joined
    assert len(joined) == len(set(joined))
    assert await similar(memory, "e0") == {memory.id("e1")}
    assert await similar(memory, "e3") == set()


async def test_running_twice_changes_nothing_and_publishes_nothing(memory: Memory) -> None:
    records = await memory.store([memory.event(f"e{n}", "Deploy of the search index is done.") for n in range(4)])
    await memory.run("semantic", records)
    before = await memory.reader.counts()
    again = await memory.run("semantic", [*records, *records])
    assert await memory.reader.counts() == before
    assert again.outgoing == ()


async def test_every_event_is_marked_in_the_same_run_edges_or_not(memory: Memory) -> None:
    records = await memory.store([memory.event(f"e{n}", text) for n, text in enumerate(_APART)])
    ids = [memory.id(f"e{n}") for n in range(len(_APART))]
    assert await memory.reader.unfinished(ids, [Mark.SEMANTIC]) == set(ids)
    await memory.run("semantic", records)
    assert await memory.reader.unfinished(ids, [Mark.SEMANTIC]) == set()


async def test_equal_texts_do_not_make_a_hub(memory: Memory) -> None:
    events = [memory.event(f"e{n}", "The nightly probe is green again.", at=n) for n in range(40)]
    for start in range(0, 40, 10):
        records = await memory.store(events[start : start + 10])
        await memory.run("semantic", records)
    degrees = [len(await similar(memory, f"e{n}")) for n in range(40)]
    assert max(degrees) <= MAX_DEGREE
    counts = await memory.reader.counts()
    assert counts.edges[EdgeType.SIMILAR] <= NEW_DEGREE * 40


async def test_another_tenants_event_is_never_a_neighbour(memory: Memory) -> None:
    text = "Rolling back payments-service to the version of Tuesday."
    other = Memory(memory.settings, f"{memory.tenant}-b", memory.graph, memory.vectors, memory.encoder)
    records = [*await memory.store([memory.event("e0", text)]), *await other.store([other.event("e0", text)])]
    handled = await memory.run("semantic", records)
    assert edges_of(handled) == []


async def test_the_threshold_decides(memory: Memory) -> None:
    records = await memory.store([memory.event(f"e{n}", text, at=n) for n, text in enumerate(_APART)])
    assert len(records) == 1
    stage = Semantic(memory.graph, memory.vectors, theta=-1.0)
    outcome = await stage.consolidate(Work(memory.tenant, {"s1": tuple(memory.id(f"e{n}") for n in range(4))}))
    assert len(outcome.changes) == 6


async def test_the_edges_of_what_is_stored_are_the_same_in_whatever_order_and_batches_it_is_consolidated(
    memory: Memory,
) -> None:
    things = ("ledger", "checkout", "search index", "queue", "replica", "cache")
    texts = [
        f"The {thing} was restarted {n} times because of {other}." for n, thing in enumerate(things) for other in things
    ]
    found: list[set[tuple[str, str]]] = []
    for name, order, size in (("a", 1, len(texts)), ("b", -1, 7)):
        own = Memory(memory.settings, f"{memory.tenant}-{name}", memory.graph, memory.vectors, memory.encoder)
        await own.store([own.event(f"e{n}", text, at=n) for n, text in enumerate(texts)])
        ids = [own.id(f"e{n}") for n in range(len(texts))][::order]
        names = {own.id(f"e{n}"): f"e{n}" for n in range(len(texts))}
        stage = Semantic(memory.graph, memory.vectors, theta=0.3)
        pairs: set[tuple[str, str]] = set()
        for start in range(0, len(ids), size):
            outcome = await stage.consolidate(Work(own.tenant, {"s1": tuple(ids[start : start + size])}))
            ends = [
                (names[str(change.edge["source"])], names[str(change.edge["target"])]) for change in outcome.changes
            ]
            pairs |= {(min(pair), max(pair)) for pair in ends}
        found.append(pairs)
    assert len(found[0]) > len(texts)
    assert found[0] == found[1]
