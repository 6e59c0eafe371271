"""Questions to a small memory on the real local stores: the acceptance cases of the specification, end to end."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from memory.graph.cypher import Cypher
from memory.graph.driver import Bolt
from memory.relations import EdgeType, Relation
from memory.settings import Settings
from memory.text import count_tokens
from memory.vectors.connection import Connection
from query_api.engine import Retriever
from query_api.models import QueryRequest, QueryResult
from query_api.reading import Degraded
from tests.query.small_memory import Said, SmallMemory, small_memory

pytestmark = pytest.mark.stack


@pytest.fixture
async def memory(settings: Settings, tenant: str) -> AsyncIterator[SmallMemory]:
    async with small_memory(settings, tenant) as opened:
        yield opened


def refs(result: QueryResult) -> list[str]:
    return [event.ref for event in result.events]


def talk() -> list[Said]:
    return [
        Said("D1:1", "2023-10-20T10:00:00+02:00", "Mel", "Hi Caroline, how was your week?"),
        Said("D1:2", "2023-10-20T10:01:00+02:00", "Caroline", "I went to the LGBTQ support group yesterday."),
        Said("D1:3", "2023-10-20T10:02:00+02:00", "Mel", "How brave of you!"),
        Said("D2:1", "2023-11-03T09:00:00+01:00", "Mel", "Today I practised the violin for an hour.", "s2"),
        Said("D2:2", "2023-11-03T09:01:00+01:00", "Caroline", "The weather is awful here.", "s2"),
        Said("D3:1", "2023-12-01T09:00:00+01:00", "Mel", "My clarinet needs a new reed.", "s3"),
    ]


async def test_yesterday_is_resolved_in_its_block_and_blocks_stand_in_time_order(memory: SmallMemory) -> None:
    await memory.write(*talk())
    result = await memory.retriever.query(
        memory.tenant, QueryRequest(question="When did Caroline go to the LGBTQ support group?")
    )
    assert refs(result)[0] == "D1:2"
    assert max(result.intent, key=lambda name: result.intent[name]) == "WHEN"
    lines = [line for line in result.context.splitlines() if line.startswith("<t:")]
    assert (
        "<t:2023-10-20T10:01+02:00> Caroline: I went to the LGBTQ support group yesterday. "
        "[event date: 19 October 2023] <ref:D1:2>"
    ) in lines
    shown = [line.split("<ref:")[1].rstrip(">") for line in lines]
    assert shown == sorted(shown)
    assert result.tokens == count_tokens(result.context) <= 3_000


async def test_two_far_apart_mentions_of_one_entity_are_both_returned(memory: SmallMemory) -> None:
    nodes = await memory.write(*talk())
    await memory.name(nodes)
    result = await memory.retriever.query(memory.tenant, QueryRequest(question="What instruments does Mel play?"))
    assert {"D2:1", "D3:1"} <= set(refs(result)[:4])
    assert max(result.intent, key=lambda name: result.intent[name]) == "ENTITY"


#: More look-alikes than a walk can visit beside its anchors.
WAVES = 160


def incident() -> tuple[list[Said], list[tuple[str, str]], list[tuple[str, str]]]:
    """A chain cause → m2 → m1 → outage without shared words, among many events that resemble the question."""
    chain = [
        Said("cause", "2024-03-01T08:00:00+00:00", "dba", "Vacuum of table ledger_7 switched off", "db"),
        Said("m2", "2024-03-02T08:00:00+00:00", "node-exporter", "Disk 91 percent full", "host"),
        Said("m1", "2024-03-03T08:00:00+00:00", "kubelet", "Pod evicted from k8s-14", "cluster"),
        Said("outage", "2024-03-04T08:00:00+00:00", "pager", "Checkout returned errors to customers", "alerts"),
    ]
    noise = [
        Said(
            f"n{n:03}",
            f"2024-02-{1 + n % 28:02}T09:{n % 60:02}:00Z",
            "pager",
            f"Checkout errors, customers, no {n}",
            f"w{n}",
        )
        for n in range(WAVES)
    ]
    pairs = [("cause", "m2"), ("m2", "m1"), ("m1", "outage")]
    alike = [("outage", f"n{n:03}") for n in range(WAVES)] + [(f"n{n:03}", f"n{n + 1:03}") for n in range(WAVES - 1)]
    return [*chain, *noise], pairs, alike


async def test_a_cause_three_hops_away_is_found_by_the_policy_and_missed_without(memory: SmallMemory) -> None:
    events, causes, alike = incident()
    await memory.write(*events)
    await memory.cause(*causes)
    await memory.alike(*alike)
    question = "Why did checkout return errors to customers?"
    found = await memory.retriever.query(memory.tenant, QueryRequest(question=question, explain=True))
    (cause,) = [event for event in found.events if event.ref == "cause"]
    assert [hop.edge for hop in cause.path] == [EdgeType.CAUSES] * 3
    assert [hop.forward for hop in cause.path] == [False] * 3
    assert cause.path[-1].to == cause.id
    assert cause.path[0].terms is not None
    order = [line.split("<ref:")[1].rstrip(">") for line in found.context.splitlines() if "<ref:" in line]
    chain = [ref for ref in order if ref in {"cause", "m2", "m1", "outage"}]
    assert chain == ["cause", "m2", "m1", "outage"]
    uniform = await memory.retriever.query(memory.tenant, QueryRequest(question=question, policy="uniform"))
    assert "cause" not in refs(uniform)


async def test_a_relation_left_out_changes_what_is_visited(memory: SmallMemory) -> None:
    events, causes, alike = incident()
    await memory.write(*events)
    await memory.cause(*causes)
    await memory.alike(*alike)
    question = QueryRequest(question="Why did checkout return errors to customers?")
    without = question.model_copy(update={"relations": frozenset(Relation) - {Relation.CAUSAL}})
    assert "cause" in refs(await memory.retriever.query(memory.tenant, question))
    assert "cause" not in refs(await memory.retriever.query(memory.tenant, without))


async def test_it_answers_before_consolidation_and_links_only_add(memory: SmallMemory) -> None:
    nodes = await memory.write(*talk())
    question = QueryRequest(question="Who plays the violin?")
    before = await memory.retriever.query(memory.tenant, question)
    assert refs(before)[0] == "D2:1"
    await memory.name(nodes)
    after = await memory.retriever.query(memory.tenant, question)
    assert set(refs(before)) <= set(refs(after))


async def test_two_runs_give_the_same_result_byte_for_byte(memory: SmallMemory) -> None:
    events, causes, alike = incident()
    nodes = await memory.write(*events)
    await memory.cause(*causes)
    await memory.alike(*alike)
    await memory.name(nodes)
    request = QueryRequest(question="Why did checkout return errors?", explain=True)
    one, two = [
        (await memory.retriever.query(memory.tenant, request)).model_dump_json(exclude={"timings_ms"}) for _ in range(2)
    ]
    assert one == two


async def test_a_warm_query_asks_the_graph_once_a_depth_and_the_vectors_twice(
    memory: SmallMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, causes, alike = incident()
    nodes = await memory.write(*events)
    await memory.cause(*causes)
    await memory.alike(*alike)
    await memory.name(nodes)
    request = QueryRequest(question="Why did checkout return errors to customers?")
    await memory.retriever.query(memory.tenant, request)
    graph, vectors, transactions = Counter[str](), Counter[str](), 0
    ask, transact, once = Bolt.ask, Bolt.transact, Connection.once

    async def counted_ask(bolt: Bolt, statement: Cypher, **parameters: Any) -> list[list[Any]]:
        graph[statement.name] += 1
        return await ask(bolt, statement, **parameters)

    async def counted_transact(bolt: Bolt, work: Any, *, what: str) -> Any:
        nonlocal transactions
        transactions += 1
        return await transact(bolt, work, what=what)

    async def counted_once(connection: Connection, doing: str, call: Any) -> Any:
        vectors[doing] += 1
        return await once(connection, doing, call)

    monkeypatch.setattr(Bolt, "ask", counted_ask)
    monkeypatch.setattr(Bolt, "transact", counted_transact)
    monkeypatch.setattr(Connection, "once", counted_once)
    found = await memory.retriever.read(memory.tenant, request)
    assert len(found.walk.visits) > len(found.anchors)
    totals = graph.pop("TOTALS", 0)  # remembered for seconds only
    assert totals <= 1
    assert 1 <= graph.pop("NEIGHBOURS") <= found.policy.walk.depth
    # what supersedes an event changes and is never remembered; it is asked for while the events are ranked
    assert graph == {"ENTITIES_BY_UID": 1, "WINDOW_SHORT": 1, "SUPERSEDING": 1}
    assert transactions == 0
    assert vectors == {"search": 2}


async def test_what_is_remembered_changes_no_byte_and_can_be_forgotten(memory: SmallMemory) -> None:
    events, causes, alike = incident()
    nodes = await memory.write(*events)
    await memory.cause(*causes)
    await memory.alike(*alike)
    await memory.name(nodes)
    request = QueryRequest(question="Why did checkout return errors?", explain=True)

    async def asked(retriever: Retriever) -> str:
        return (await retriever.query(memory.tenant, request)).model_dump_json(exclude={"timings_ms"})

    warm = memory.retriever
    for question in ("Which pod was evicted?", "What happened to table ledger_7?"):
        await warm.query(memory.tenant, QueryRequest(question=question))
    cold = await asked(Retriever(memory.graph, memory.vectors, memory.encoder))
    assert await asked(warm) == cold
    warm.forget(memory.tenant, frozenset({nodes[0].id}))
    assert await asked(warm) == cold
    warm.forget(memory.tenant)
    assert await asked(warm) == cold


async def test_an_explained_event_tells_its_features_and_what_each_relation_gives(memory: SmallMemory) -> None:
    await memory.write(*talk())
    request = QueryRequest(question="Who plays the violin?", explain=True)
    result = await memory.retriever.query(memory.tenant, request)
    first = result.events[0]
    assert first.terms is not None
    assert first.salience == pytest.approx(sum(first.terms.values()), abs=1e-5)
    assert first.features is not None
    assert first.features["bm_top"] == 1.0
    assert first.relations is not None
    assert set(first.relations) == set(Relation)
    plain = await memory.retriever.query(memory.tenant, request.model_copy(update={"explain": False}))
    assert plain.events[0].features is None


async def test_a_hub_is_expanded_by_search_and_not_by_listing(memory: SmallMemory) -> None:
    said = [
        Said(
            f"h{n:02}", f"2024-05-{1 + n % 28:02}T10:{n % 60:02}:00+00:00", "Ann", f"Note {n} about errands", f"day{n}"
        )
        for n in range(30)
    ]
    said.append(Said("key", "2024-06-01T10:00:00+00:00", "Ann", "The spare key lies under the flower pot", "last"))
    nodes = await memory.write(*said)
    await memory.name(nodes)
    found = await memory.retriever.read(memory.tenant, QueryRequest(question="Note about errands"))
    via = [visit.arrival.hop.via for visit in found.walk.visits.values() if visit.arrival is not None]
    assert via.count("ann") <= 10
    assert len(found.walk.visits) <= 200


async def test_a_window_binds_and_falls_back_to_a_signal_when_too_little_is_left(memory: SmallMemory) -> None:
    events, _, _ = incident()
    await memory.write(*events)
    bound = await memory.retriever.query(
        memory.tenant,
        QueryRequest(question="What checkout errors were there in February 2024?", as_of="2024-03-05T00:00:00+00:00"),
    )
    assert bound.window is not None
    assert bound.window.text == "February 2024"
    assert bound.degraded == []
    assert all(event.occurred_at.month == 2 for event in bound.events)
    soft = await memory.retriever.query(
        memory.tenant,
        QueryRequest(question="What checkout errors were there on 4 March 2024?", as_of="2024-03-05T00:00:00+00:00"),
    )
    assert Degraded.WINDOW_SOFT in soft.degraded
    assert refs(soft)[0] == "outage"


async def test_session_and_agent_bound_what_is_returned(memory: SmallMemory) -> None:
    await memory.write(*talk())
    question = "What about the violin and the support group?"
    by_session = await memory.retriever.query(memory.tenant, QueryRequest(question=question, session="s2"))
    assert set(refs(by_session)) == {"D2:1", "D2:2"}
    by_agent = await memory.retriever.query(memory.tenant, QueryRequest(question=question, agent="Caroline"))
    assert set(refs(by_agent)) <= {"D1:2", "D2:2"}
    assert by_agent.events


async def test_another_tenant_sees_nothing(memory: SmallMemory) -> None:
    await memory.write(*talk())
    other = await memory.retriever.query(f"{memory.tenant}-other", QueryRequest(question="Who plays the violin?"))
    assert other.events == []
    assert other.context == ""


async def test_the_reference_is_the_last_event_unless_the_question_says_otherwise(memory: SmallMemory) -> None:
    await memory.write(*talk())
    by_memory = await memory.retriever.query(memory.tenant, QueryRequest(question="What happened yesterday?"))
    assert by_memory.window is not None
    assert by_memory.window.start is not None
    assert by_memory.window.start.isoformat() == "2023-11-30T00:00:00+00:00"
    given = QueryRequest(question="What happened yesterday?", as_of="2023-10-21T12:00:00+02:00")
    by_caller = await memory.retriever.query(memory.tenant, given)
    assert by_caller.window is not None
    assert by_caller.window.start is not None
    assert by_caller.window.start.isoformat() == "2023-10-20T00:00:00+02:00"


async def test_what_was_just_written_is_seen_by_a_fresh_question(memory: SmallMemory) -> None:
    await memory.write(*talk())
    await memory.write(Said("new", "2023-12-02T09:00:00+01:00", "Mel", "The oboe is in the attic", "s4"))
    result = await memory.retriever.query(memory.tenant, QueryRequest(question="Where is the oboe?", fresh=True))
    assert refs(result)[0] == "new"
