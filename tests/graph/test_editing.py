"""Decisions about names: made, followed by what comes later, undone, kept as history, and made again elsewhere."""

import pytest

from memory.errors import BadSetting, NotFound
from memory.graph import Decision, Graph, NameChange, Why
from memory.relations import Mention, Origin
from memory.settings import Settings
from tests.graph.build import T0, event
from tests.graph.test_names import said, state

pytestmark = pytest.mark.stack

OPERATOR = Why(Origin.OPERATOR, T0, "ann", "one and the same", 1.0)


async def store(graph: Graph, tenant: str) -> None:
    await graph.writer().write_events([event(tenant, name, at=name) for name in range(9)])
    await graph.writer().write_mentions(tenant, MENTIONS)


MENTIONS: tuple[Mention, ...] = (
    said(0, "Ledger", kind="service"),
    said(1, "Bookkeeper", kind="service"),
    said(2, "Bookkeeper", kind="service"),
    said(3, "Melanie", spoken=True),
    said(4, "Mel"),
    said(5, "Tamsin"),
)


def told(changes: list[NameChange]) -> set[tuple[str, str, str, int]]:
    return {(change.form, change.before, change.after, change.moved) for change in changes}


async def test_a_merge_moves_what_is_stored_and_what_comes_and_a_split_undoes_it(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    await store(graph, tenant)
    before = await state(settings, tenant)
    editor, reader = graph.editor(tenant), graph.reader(tenant)
    assert told(await editor.merge("bookkeeper", "The Ledger", OPERATOR)) == {("bookkeeper", "bookkeeper", "ledger", 2)}
    assert {key: one.events for key, one in (await reader.entities(["ledger", "bookkeeper"])).items()} == {"ledger": 3}
    [later] = await graph.writer().write_mentions(tenant, [said(6, "Bookkeeper", kind="service")])
    assert later.key == "ledger"
    assert told(await editor.split("Bookkeeper", OPERATOR)) == {("bookkeeper", "ledger", "bookkeeper", 3)}
    entities, names, edges = await state(settings, tenant)
    assert names == before[1]
    assert [edge for edge in edges if edge[4] != "Bookkeeper"] == [
        edge for edge in before[2] if edge[4] != "Bookkeeper"
    ]
    assert await editor.decisions() == []
    assert {row[0] for row in entities} == {row[0] for row in before[0]}


async def test_what_speaks_moves_with_everything_that_stands_for_it(graph: Graph, tenant: str) -> None:
    await store(graph, tenant)
    changes = await graph.editor(tenant).merge("Mel", "Tamsin", OPERATOR)
    assert told(changes) == {("mel", "melanie", "tamsin", 1), ("melanie", "melanie", "tamsin", 1)}
    reader = graph.reader(tenant)
    assert (await reader.entities(["tamsin"]))["tamsin"].events == 3
    changes = await graph.editor(tenant).split("melanie", OPERATOR)
    assert told(changes) == {("mel", "tamsin", "melanie", 1), ("melanie", "tamsin", "melanie", 1)}


async def test_a_split_keeps_apart_what_the_rules_joined_whatever_comes_later(graph: Graph, tenant: str) -> None:
    await store(graph, tenant)
    assert told(await graph.editor(tenant).split("Mel", OPERATOR)) == {("mel", "melanie", "mel", 1)}
    [later] = await graph.writer().write_mentions(tenant, [said(7, "Mel")])
    assert later.key == "mel"
    assert await graph.editor(tenant).decisions() == [Decision("mel", "mel")]


async def test_what_cannot_be_decided_says_why(graph: Graph, tenant: str) -> None:
    await store(graph, tenant)
    editor = graph.editor(tenant)
    with pytest.raises(NotFound, match="Nobody"):
        await editor.merge("Nobody", "Ledger", OPERATOR)
    with pytest.raises(BadSetting, match="one entity already"):
        await editor.merge("Mel", "Melanie", OPERATOR)
    with pytest.raises(BadSetting, match="for itself"):
        await editor.split("Ledger", OPERATOR)
    await editor.merge("Bookkeeper", "Ledger", OPERATOR)
    with pytest.raises(BadSetting, match="one entity already"):
        await editor.merge("Ledger", "Bookkeeper", OPERATOR)


SURE = Why(Origin.LLM, T0, "test-model", "role", 0.95, "merge-1")


async def test_a_models_proposal_moves_nothing_until_an_operator_accepts_it(graph: Graph, tenant: str) -> None:
    await store(graph, tenant)
    editor = graph.editor(tenant)
    assert [one.proposed for one in await editor.propose("Bookkeeper", "Ledger", SURE)] == [True]
    assert await editor.propose("Ledger", "Bookkeeper", SURE) == []  # a pair is judged once, either way round
    [kept] = await editor.judged()
    assert (kept.form, kept.after, kept.confidence, kept.author) == ("bookkeeper", "ledger", 0.95, "test-model")
    assert (kept.reason, kept.prompt_version, kept.origin) == ("role", "merge-1", Origin.LLM)
    assert "bookkeeper" in await graph.reader(tenant).entities(["bookkeeper"])
    assert told(await editor.accept("Bookkeeper", "Ledger", OPERATOR)) == {("bookkeeper", "bookkeeper", "ledger", 2)}
    assert [(one.rule, one.proposed) for one in await editor.judged()] == [("accepted", False)]
    assert await graph.reader(tenant).entities(["bookkeeper"]) == {}
    with pytest.raises(NotFound):
        await editor.accept("Bookkeeper", "Ledger", OPERATOR)
    await editor.split("Bookkeeper", OPERATOR)
    assert "bookkeeper" in await graph.reader(tenant).entities(["bookkeeper"])


async def test_a_rejected_proposal_is_closed_and_not_made_again(graph: Graph, tenant: str) -> None:
    await store(graph, tenant)
    editor = graph.editor(tenant)
    await editor.propose("Bookkeeper", "Ledger", SURE)
    [closed] = await editor.reject("Bookkeeper", "Ledger", OPERATOR)
    assert (closed.rule, closed.proposed, closed.author) == ("rejected", False, OPERATOR.author)
    assert await editor.propose("Bookkeeper", "Ledger", SURE) == []
    with pytest.raises(NotFound):
        await editor.reject("Bookkeeper", "Ledger", OPERATOR)
    assert {"bookkeeper", "ledger"} <= (await graph.reader(tenant).entities(["bookkeeper", "ledger"])).keys()


async def test_a_model_proposes_nothing_against_an_operator(graph: Graph, tenant: str) -> None:
    await store(graph, tenant)
    editor = graph.editor(tenant)
    await editor.split("Mel", OPERATOR)
    assert await editor.propose("Mel", "Melanie", SURE) == []
    assert await editor.judged() == []


async def test_history_tells_who_when_why_and_how_many_the_newest_first(graph: Graph, tenant: str) -> None:
    await store(graph, tenant)
    editor = graph.editor(tenant)
    await editor.merge("Bookkeeper", "Ledger", OPERATOR)
    await editor.split("Bookkeeper", Why(Origin.OPERATOR, T0 + 1, "bea", "not so", 1.0))
    history = await editor.history("Bookkeeper")
    assert [(one.author, one.at_us - T0, one.reason, one.moved) for one in history] == [
        ("bea", 1, "not so", 2),
        ("ann", 0, "one and the same", 2),
    ]
    assert {one.form for one in await editor.history()} >= {"bookkeeper"}


async def test_decisions_are_made_again_over_a_memory_built_anew(graph: Graph, settings: Settings, tenant: str) -> None:
    await store(graph, tenant)
    await graph.editor(tenant).merge("Bookkeeper", "Ledger", OPERATOR)
    await graph.editor(tenant).split("Mel", OPERATOR)
    kept = await graph.editor(tenant).decisions()
    again = f"{tenant}-again"
    await store(graph, again)
    for decision in kept:
        await graph.editor(again).decide(decision, OPERATOR)
        assert await graph.editor(again).decide(decision, OPERATOR) == []
    assert await state(settings, again) == await state(settings, tenant)
    with pytest.raises(NotFound):
        await graph.editor(again).decide(Decision("unheard of", "ledger"), OPERATOR)
