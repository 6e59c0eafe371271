"""An explanation says of each causal hop where its edge comes from, and the drawn tree shows it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from cli.render import render_answer
from memory.graph import Graph
from memory.graph.rule_causes import RuleReading
from memory.relations import EdgeType, Origin
from memory.settings import Settings
from query_api.models import HopView, QueryResult, ResultEvent
from query_api.reasons import with_reasons
from tests.graph.build import cause, event, event_id

pytestmark = pytest.mark.stack


@pytest.fixture
async def graph(settings: Settings) -> AsyncIterator[Graph]:
    async with Graph.open(settings) as opened:
        await opened.ensure_schema()
        yield opened


def hop(one: str, other: str, *, forward: bool, edge: EdgeType = EdgeType.CAUSES) -> HopView:
    return HopView.model_validate(
        {"from": event_id(one), "to": event_id(other), "edge": edge, "score": 1.0, "origin": None, "forward": forward}
    )


def result(*hops: HopView) -> QueryResult:
    shown = ResultEvent.model_construct(
        id=event_id("b"),
        ref="b",
        text="The relay is down.",
        speaker="",
        agent="ops",
        occurred_at="now",
        dates=[],
        salience=1.0,
        path=list(hops),
    )
    return QueryResult.model_construct(
        intent={"WHY": 1.0}, window=None, degraded=[], tokens=3, context="", anchors=[], events=[shown]
    )


async def test_each_causal_hop_tells_its_origin_confidence_rationale_and_version(graph: Graph, tenant: str) -> None:
    await graph.writer().write_events([event(tenant, "a"), event(tenant, "b", at=1)])
    edge = cause("a", "b", 0.85)
    source = replace(
        edge.provenance,
        origin=Origin.RULE,
        rule="cue-because",
        prompt_version="rules-9",
        rationale='"because" the key',
        evidence=(edge.cause, edge.effect),
    )
    edge = replace(edge, provenance=source)
    reading = RuleReading(frozenset({edge.effect}), (edge.cause, edge.effect), (edge,))
    await graph.writer().write_rule_causes(tenant, [reading])

    told = await with_reasons(
        graph.reader(tenant), result(hop("b", "a", forward=False), hop("a", "b", forward=True, edge=EdgeType.NEXT))
    )

    back, along = told.events[0].path
    assert along.cause is None
    assert back.cause is not None
    assert (back.cause.rule, back.cause.prompt_version, back.cause.confidence) == ("cue-because", "rules-9", 0.85)
    assert back.cause.evidence == [edge.cause, edge.effect]
    console = Console(width=300, record=True, file=StringIO())
    console.print(render_answer(told, explain=True))
    assert 'leads_to 0.85 by cue-because rules-9: "because" the key' in console.export_text()


async def test_a_result_without_causal_hops_is_given_back_as_it_is(graph: Graph, tenant: str) -> None:
    plain = result(hop("a", "b", forward=True, edge=EdgeType.SIMILAR))
    assert await with_reasons(graph.reader(tenant), plain) is plain
