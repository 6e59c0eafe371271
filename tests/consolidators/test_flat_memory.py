"""What a worker holds must not grow with the sessions, tenants and events that it has seen."""

import functools
import gc
import importlib
import inspect
import pkgutil
import sys

import pytest

import consolidators
import memory as memory_package
import streams
from cli.readers.items import encode_event
from consolidators import open_handler
from consolidators.batch import StageHandler
from memory.events import AgentEvent
from memory.graph import Mark
from memory.records import Ingested, Record
from memory.settings import Settings
from streams.gathering import Gathering, Windows
from streams.ingest import open_ingest
from streams.watermark import Watermark
from tests.consolidators.memory import Memory, agent_event
from tests.held import held

_SESSIONS = 6


def _round(memory: Memory, number: int) -> list[AgentEvent]:
    """Give three events in each of some sessions that no other round has."""
    return [
        memory.event(
            f"r{number}-{session}-{at}",
            f"Replica {number}{session}{at} failed because Ana Ruiz{number} restarted it. Why?",
            session=f"r{number}-{session}",
            speaker=f"Speaker {number}-{session}",
            at=at,
        )
        for session in range(_SESSIONS)
        for at in range(3)
    ]


@pytest.mark.stack
@pytest.mark.parametrize("stage", [mark.value for mark in Mark])
async def test_a_stage_holds_as_much_after_many_sessions_as_after_a_few(memory: Memory, stage: str) -> None:
    """Two rounds for what is made at the first use; after that nothing more is held on to."""
    sizes = []
    async with open_handler(stage, memory.settings) as handler:
        assert isinstance(handler, StageHandler)
        for number in range(5):
            records = await memory.store(_round(memory, number))
            handled = await handler.handle(records)
            if handled.published is not None:
                await handled.published()
            del handled
            sizes.append(held(handler))
    assert sizes[0] > 3
    assert sizes[1:] == [sizes[1]] * 4


@pytest.mark.stack
async def test_the_fast_path_holds_as_much_after_many_sessions_as_after_a_few(settings: Settings, tenant: str) -> None:
    sizes = []
    async with open_ingest(settings) as handler:
        for number in range(4):
            events = [
                agent_event(tenant, f"{number}-{at}", f"Replica {number}{at} failed.", session=f"s{number}-{at % 5}")
                for at in range(20)
            ]
            records = [Record("memory.events", 0, at, 0, None, encode_event(event)) for at, event in enumerate(events)]
            await handler.handle(records)
            sizes.append(held(handler))
    assert sizes[1:] == [sizes[1]] * 3


def test_windows_that_were_taken_and_offsets_that_were_settled_are_forgotten() -> None:
    windows = Windows(Gathering(events=2, quiet_s=0.2, age_s=2.0, batch_events=512), most_records=512)
    watermark = Watermark()
    sizes = []
    for number in range(50):
        records = [
            Record("memory.ingested", at % 4, number * 10 + at // 4, 0, f"t|s{number}-{at}".encode(), value)
            for at in range(20)
            for value in [Ingested(tenant="t", session=f"s{number}-{at}", ids=("a", "b")).encode()]
        ]
        for record in records:
            watermark.read(record)
        windows.add(records, float(number))
        taken = windows.take(float(number))
        assert taken == sorted(records, key=lambda record: (record.partition, record.offset))
        assert watermark.settle(taken)
        sizes.append((held(windows), held(watermark)))
    assert set(sizes) == {sizes[0]}


def test_every_cache_of_the_product_has_a_bound() -> None:
    for package in (memory_package, streams, consolidators):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    packages = {package.__name__ for package in (memory_package, streams, consolidators)}
    # the type itself is asked for: asking an object for its class wakes proxies of what is gone
    wrappers = [one for one in gc.get_objects() if type(one) is functools._lru_cache_wrapper]
    ours = [
        one
        for one in wrappers
        if one.__module__.partition(".")[0] in packages
        # a test may keep what a function of the product gives: the function itself keeps nothing then
        and getattr(sys.modules[one.__module__], one.__name__, one) is not one.__wrapped__
    ]
    boundless = [
        f"{one.__module__}.{one.__qualname__}"
        for one in ours
        if one.cache_parameters()["maxsize"] is None and inspect.signature(one).parameters
    ]
    assert len(ours) > 10
    assert not boundless
