"""What is erased is gone from both stores, the log and the dead letters, and does not come back."""

import json
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from memory.erasure import Erasure, Receipt, Scope
from memory.errors import StoreUnavailable
from memory.events import derive_id
from memory.receipts import is_genuine
from memory.records import Outgoing, Record, event_key, session_key
from memory.relations import CausalEdge, CausalKind, Origin, Provenance
from memory.settings import load_settings
from streams.dlq import letters
from streams.erasures import ask
from streams.ingest import open_ingest
from streams.intake import take_in
from streams.replay import replay
from streams.topics import Stage, Topic
from tests.dump import Dump, empty_stores
from tests.erasure.remembered import ACCEPTED_MS, AFTER_US, Memory, a_letter, event

pytestmark = pytest.mark.stack


async def test_a_session_is_forgotten_and_the_others_stay_as_they_were(deep: Memory) -> None:
    memory = deep
    kept = [event(memory.tenant, n, session="kept") for n in range(1, 12)]
    await memory.take(*kept)
    before = memory.dump()
    gone = [
        event(memory.tenant, 100 + n, session="gone", text=f"Zanzibar plan {n} by Quentin Quill") for n in range(23)
    ]
    gone += [
        {**event(memory.tenant, 200, session="gone", text="Quill said: ask Quentin Quill"), "speaker": "Q. Quill"},
        {**event(memory.tenant, 201, session="gone", text="quota of Quill's desk set to 17"), "kind": "state_change"},
    ]
    await memory.take(*gone)
    assert "quill" in memory.everything()
    receipt = await memory.erase(session="gone")
    assert (receipt.events, receipt.vectors, receipt.log_records, receipt.verified) == (25, 25, 25, True)
    assert receipt.entities >= 1
    assert receipt.episodes >= 3
    after = memory.dump()
    left = memory.everything().lower()
    assert "zanzibar" not in left
    assert "quill" not in left
    assert after == before
    assert await memory.sound()
    assert sorted(value is None for value in (await memory.logged()).values()) == [False] * 11 + [True] * 25


async def test_an_event_is_forgotten_and_its_chain_closes(deep: Memory) -> None:
    memory = deep
    await memory.take(*[event(memory.tenant, n) for n in range(1, 15)])
    await memory.take(event(memory.tenant, 20, text="The codeword is Xylophone"))
    await memory.take(*[event(memory.tenant, n) for n in range(21, 25)])
    ident = derive_id(memory.tenant, None, "e20")
    receipt = await memory.erase(event=ident)
    assert (receipt.events, receipt.vectors, receipt.log_records, receipt.verified) == (1, 1, 1, True)
    after = memory.dump()
    assert "Xylophone" not in "".join(after.nodes + after.edges)
    assert len(after.nodes_of("Event")) == len(after.vectors) == 18
    assert len(after.edges_of("NEXT")) == 17
    assert len(after.edges_of("PART_OF")) == 18
    assert await memory.sound()


async def test_an_agent_is_forgotten_in_every_session(memory: Memory) -> None:
    for session in ("s1", "s2", "s3"):
        base = {"s1": 0, "s2": 100, "s3": 200}[session]
        await memory.take(
            *[event(memory.tenant, base + n, session=session, agent="planner") for n in range(1, 6)],
            *[event(memory.tenant, base + 10 + n, session=session, agent="runner") for n in range(1, 6)],
        )
    receipt = await memory.erase(agent="runner")
    assert (receipt.events, receipt.log_records, receipt.verified) == (15, 15, True)
    after = memory.dump()
    assert {node["agent"] for node in after.nodes_of("Event")} == {"planner"}
    assert {tuple(node["agents"]) for node in after.nodes_of("Session")} == {("planner",)}
    assert await memory.sound()


async def test_a_tenant_is_forgotten_whole_and_its_neighbour_is_not(deep: Memory) -> None:
    memory = deep
    other = f"{memory.tenant}-b"  # one name begins with the other
    await memory.take(*[event(other, n) for n in range(1, 8)])
    before = memory.dump(other)
    await memory.take(
        *[event(memory.tenant, n, session=f"s{n % 3}") for n in range(1, 30)],
        {**event(memory.tenant, 50), "caused_by": ["never-came"]},
    )
    receipt = await memory.erase()
    assert (receipt.events, receipt.vectors, receipt.log_records, receipt.verified) == (30, 30, 30, True)
    after = memory.dump()
    assert after == Dump((), (), ())
    assert memory.dump(other) == before
    assert await memory.sound(other)


async def test_erasing_twice_gives_the_same_receipt_and_changes_nothing(memory: Memory) -> None:
    await memory.take(*[event(memory.tenant, n, session=f"s{n % 2}") for n in range(1, 10)])
    first = await memory.erase(session="s1")
    before = memory.dump()
    assert await memory.erase(session="s1") == first
    later = await memory.erase(session="s1", at_us=AFTER_US + 1)
    assert (later.events, later.vectors, later.letters) == (0, 0, 0)
    assert memory.dump() == before


async def test_an_erasure_that_breaks_off_goes_on_where_it_was_and_counts_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.take(*[event(memory.tenant, n) for n in range(1, 23)])
    monkeypatch.setattr("memory.graph.erasing_pages.PAGE", 5)
    honest, pages = memory.eraser._bury, []

    async def broken(tenant: str, doomed: Any) -> None:
        pages.append(doomed)
        if len(pages) == 3:
            raise StoreUnavailable("the broker went away")
        await honest(tenant, doomed)

    monkeypatch.setattr(memory.eraser, "_bury", broken)
    with pytest.raises(StoreUnavailable):
        await memory.erase()
    assert 0 < len(memory.dump().nodes_of("Event")) < 22
    receipt = await memory.erase()
    assert (receipt.events, receipt.vectors, receipt.log_records, receipt.verified) == (22, 22, 22, True)
    assert memory.everything() == ""


async def test_what_was_accepted_before_the_erasure_is_refused_whenever_it_comes(memory: Memory) -> None:
    late = [event(memory.tenant, n) for n in range(1, 5)]
    await memory.erase(session="s1")
    await memory.take(*late)
    assert memory.dump().nodes_of("Event") == []
    assert memory.dump().vectors == ()
    await memory.take(*late, accepted_ms=AFTER_US // 1_000 + 5)  # said again, after it
    assert len(memory.dump().nodes_of("Event")) == len(memory.dump().vectors) == 4


async def test_what_was_written_while_it_was_erased_is_taken_out_again(memory: Memory) -> None:
    """The erasure commits after the fast path looked for erasures and before its events are acknowledged."""
    handler = memory.ingest
    honest, looks = handler._forgetting.refuse, []

    async def blind_once(nodes: Any) -> set[str]:
        looks.append(len(nodes))
        return set() if len(looks) == 1 else await honest(nodes)

    handler._forgetting.refuse = blind_once  # type: ignore[method-assign]
    await memory.erase(session="s1")
    await memory.take(*[event(memory.tenant, n) for n in range(1, 5)])
    assert looks == [4, 4]
    after = memory.dump()
    assert after.nodes_of("Event") == after.nodes_of("Session") == []
    assert after.vectors == ()


async def test_what_was_on_its_way_gets_its_tombstone_too(memory: Memory) -> None:
    await memory.take(event(memory.tenant, 1))
    record = Record("agent.events", 0, 77, ACCEPTED_MS, None, orjson.dumps(event(memory.tenant, 2)))
    await memory.publisher.publish(
        Topic.MEMORY_EVENTS.name_in(memory.settings), take_in([record], memory.settings).outgoing
    )
    receipt = await memory.erase(session="s1")
    assert (receipt.events, receipt.log_records) == (1, 2)
    assert set((await memory.logged()).values()) == {None}


async def test_a_replay_into_empty_stores_does_not_bring_it_back(memory: Memory) -> None:
    await memory.take(*[event(memory.tenant, n, session="kept") for n in range(1, 6)])
    await memory.take(*[event(memory.tenant, 10 + n, session="gone") for n in range(1, 6)])
    order = await ask(memory.settings, Scope(tenant=memory.tenant, session="gone"))
    await memory.eraser.erase(order)
    ids = {node["id"] for node in memory.dump().nodes_of("Event")}
    empty_stores(memory.settings, memory.tenant)
    await replay(memory.settings, open_ingest, tenant=memory.tenant)
    assert {node["id"] for node in memory.dump().nodes_of("Event")} == ids
    assert len(memory.dump().vectors) == 5


async def test_dead_letters_of_it_go_and_the_others_stay(memory: Memory) -> None:
    bad = {**event(memory.tenant, 1), "occurred_at": "yesterday"}
    mine = json.dumps(bad).encode()
    theirs = json.dumps({**bad, "tenant": "somebody-else"}).encode()
    unreadable = b"{not json"
    name = Topic.AGENT_EVENTS.dead_letters_in(memory.settings)
    await memory.publisher.publish_to(
        name, [(0, a_letter(mine, 1)), (0, a_letter(theirs, 2)), (0, a_letter(unreadable, 3))]
    )
    receipt = await memory.erase(at_us=2**61)
    assert (receipt.letters + receipt.letters_left, receipt.letters_unreadable) == (1, 1)
    left = {one.record.value for one in await letters(memory.settings)}
    assert left == {theirs, unreadable}


async def test_a_receipt_can_be_checked_and_not_be_changed(memory: Memory) -> None:
    await memory.take(event(memory.tenant, 1))
    receipt = await memory.erase()
    assert is_genuine(receipt, receipt.key)
    assert not is_genuine(receipt.model_copy(update={"events": 2}), receipt.key)
    assert not is_genuine(receipt.model_copy(update={"signature": "AAAA"}), receipt.key)
    kept = await memory.graph.eraser(memory.tenant).receipt(str(receipt.id))
    assert kept is not None
    assert Receipt.model_validate_json(kept) == receipt
    assert await memory.graph.eraser(memory.tenant).receipt("00000000-0000-0000-0000-000000000000") is None


async def test_an_order_that_cannot_be_read_is_a_dead_letter_and_stops_nothing(memory: Memory) -> None:
    await memory.take(event(memory.tenant, 1))
    good = Erasure.of(Scope(tenant=memory.tenant), AFTER_US)
    records = [
        Record("memory.erasures", 0, 0, ACCEPTED_MS, b"x", b"{}"),
        Record("memory.erasures", 0, 1, ACCEPTED_MS, memory.tenant.encode(), good.encode()),
    ]
    done = await memory.eraser.handle(records)
    assert [one.error.code for one in done.rejected] == ["malformed_erasure"]
    assert memory.dump().nodes_of("Event") == []


def test_a_record_of_the_log_is_placed_by_its_session_and_named_by_its_event() -> None:
    record = Record("agent.events", 0, 5, ACCEPTED_MS, None, orjson.dumps(event("t", 1)))
    (out,) = take_in([record], load_settings()).outgoing
    assert out.key == event_key("t", "s1", derive_id("t", None, "e1"))
    assert out.placed_by == session_key("t", "s1")


def test_the_stage_reads_orders_and_gives_out_what_must_be_consolidated_again() -> None:
    assert (Stage.ERASE.source, Stage.ERASE.output) == (Topic.MEMORY_ERASURES, Topic.MEMORY_INGESTED)


async def test_what_a_tenant_says_after_its_erasure_keeps_its_names_and_nothing_older(deep: Memory) -> None:
    memory = deep
    await memory.take(*[event(memory.tenant, n, text=f"Quentin Quill met Alice in round {n}") for n in range(1, 9)])
    later_ms = AFTER_US // 1_000 + 5
    said = [event(memory.tenant, 100 + n, session="new", text=f"Alice has news {n}") for n in range(3)]
    await memory.take(*said, accepted_ms=later_ms)
    receipt = await memory.erase()
    assert (receipt.events, receipt.vectors, receipt.verified) == (8, 8, True)
    left = memory.everything().lower()
    assert "quill" not in left
    assert "alice" in left
    assert await memory.sound()


async def test_a_cause_of_which_an_erased_event_told_goes_and_the_others_stay(memory: Memory) -> None:
    await memory.take(*[{**event(memory.tenant, n), "parent": None} for n in range(1, 6)])
    one, two, three, four, told_by = (derive_id(memory.tenant, None, f"e{n}") for n in range(1, 6))

    def cause(source: str, target: str, *by: str) -> CausalEdge:
        why = Provenance(Origin.RULE, 0.9, 1, rule="cue", rationale="Xylophone", evidence=(source, target, *by))
        return CausalEdge(source, target, CausalKind.LEADS_TO, why)

    await memory.graph.writer().write_causes(memory.tenant, [cause(one, two, told_by), cause(three, four)])
    receipt = await memory.erase(event=told_by)
    (left,) = map(json.loads, memory.dump().edges_of("CAUSES"))
    assert (left[0], left[2]) == (f"{memory.tenant}|{three}", f"{memory.tenant}|{four}")
    degrees = {node["id"]: node.get("causes_out", 0) for node in memory.dump().nodes_of("Event")}
    assert (degrees[one], degrees[three]) == (0, 1)
    assert receipt.verified
    assert await memory.sound()


async def test_no_quote_is_published_that_an_erasure_could_not_reach(deep: Memory) -> None:
    said = "Rollback of the gateway failed because the Xylophone certificate of Quentin had expired"
    handled = [
        await handler.handle(
            [Record("memory.ingested", 0, 0, ACCEPTED_MS, one.key, one.value) for one in await stored(deep, said)]
        )
        for handler in deep.consolidators
    ]
    edges = [edge for each in handled for one in each.outgoing for edge in orjson.loads(one.value or b"")["edges"]]
    assert {edge["type"] for edge in edges} >= {"MENTIONS", "PART_OF"}
    assert not any({"rationale", "surface", "title", "value", "old", "new", "form"} & edge.keys() for edge in edges)
    assert said not in json.dumps(edges)


async def stored(memory: Memory, said: str) -> Sequence[Outgoing]:
    """Let one event through the fast path alone; gives what consolidation would be told of."""
    record = Record("agent.events", 0, 1, ACCEPTED_MS, None, orjson.dumps(event(memory.tenant, 1, text=said)))
    (out,) = take_in([record], memory.settings).outgoing
    done = await memory.ingest.handle([Record("memory.events", 0, 1, ACCEPTED_MS, out.key, out.value, out.headers)])
    return done.outgoing
