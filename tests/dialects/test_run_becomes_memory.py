"""A run of an agent, exported by OpenTelemetry, is asked why: through real Kafka, graph and vectors."""

import asyncio

import pytest

from cli.worker import factories
from memory.errors import StoreUnavailable
from memory.events import EventKind
from memory.graph import Graph, Mark
from memory.records import Outgoing
from memory.relations import EdgeType
from memory.settings import Settings
from query_api.backends import Backends
from query_api.models import QueryRequest
from streams.admin import ensure_topics
from streams.dlq import letters, redrive
from streams.publisher import Publisher
from streams.runtime import serve_stages
from streams.topics import CONSOLIDATION, Stage, Topic
from tests.dialects.agent_run import ANSWER, refund, small_talk
from tests.streams.helpers import read, until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]
#: Talks beside the run: enough that not everything is found by words.
TALKS = 30
STAGES = [Stage.INTAKE, Stage.INGEST, *CONSOLIDATION]


async def test_an_exported_run_answers_why_with_the_failing_call_of_a_tool_at_the_head_of_the_path(
    settings: Settings, tenant: str
) -> None:
    topic = Topic.AGENT_OTLP.name_in(settings)
    await ensure_topics(settings)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group, Publisher.open(settings) as publisher, Graph.open(settings) as graph:
        await graph.ensure_schema()
        worker = group.create_task(serve_stages(settings, factories(STAGES), stop))
        # the same run in both encodings is one run
        values = [refund(tenant).proto(), b"\xffnot otlp", refund(tenant).json(), small_talk(tenant, TALKS).proto()]
        await publisher.publish(topic, [Outgoing(None, value) for value in values])
        reader = graph.reader(tenant)

        async def consolidated() -> bool:
            assert not worker.done()
            ids = await reader.event_ids(limit=100)
            marks = [Mark(stage.value) for stage in CONSOLIDATION]
            return len(ids) == 6 + TALKS and not await reader.unfinished(ids, marks)

        await until(consolidated, within_s=150)

        async def lettered() -> bool:
            return len(await letters(settings, [Topic.AGENT_OTLP])) == 1

        await until(lettered, within_s=60)
        (letter,) = await letters(settings, [Topic.AGENT_OTLP])
        assert letter.code == "malformed_event"
        assert not await letters(settings, [Topic.AGENT_EVENTS])
        before = len(await read(settings, topic))
        await redrive(settings, [letter])
        assert len(await read(settings, topic)) == before + 1

        async with Backends.open(settings) as backends:

            async def opened() -> bool:
                try:
                    return backends.current() is not None
                except StoreUnavailable:
                    return False

            await until(opened, within_s=60)
            asked = QueryRequest(question="Why was the refund of order 5 not issued?", fresh=True)
            result = await backends.current().retriever.query(tenant, asked)
        stop.set()
    assert worker.result() == 0

    answer = next(event for event in result.events if event.text == ANSWER)
    call = next(event for event in result.events if event.kind is EventKind.TOOL_CALL)
    error = next(event for event in result.events if event.kind is EventKind.ERROR)
    assert answer.id in {anchor.id for anchor in result.anchors}
    assert "failed: CardExpired" in error.text
    # from what was asked about back to its cause: the answer, the error that it followed, the call that failed
    assert [hop.edge for hop in call.path] == [EdgeType.CAUSES, EdgeType.CAUSES]
    assert [hop.to for hop in call.path] == [error.id, call.id]
    assert call.path[0].from_ == answer.id
    assert "failed: CardExpired" in result.context
