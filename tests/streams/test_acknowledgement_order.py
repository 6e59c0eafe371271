"""What must be acknowledged by the broker before an offset is: the outgoing records and the dead letters."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from memory.errors import StoreUnavailable
from memory.settings import Settings
from streams.publisher import Publisher
from streams.runtime import serve_stages
from streams.topics import Stage
from tests.streams.helpers import committed, read, send, until
from tests.streams.ledger import Ledger, opener

STAGE = Stage.INTAKE


class Gate:
    """Stands before a method of the publisher: nothing passes until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()
        through = getattr(Publisher, method)

        async def held(publisher: Publisher, topic: str, records: list[object]) -> None:
            if records:
                self.reached.set()
                await self.opened.wait()
            await through(publisher, topic, records)

        monkeypatch.setattr(Publisher, method, held)


@asynccontextmanager
async def serving(settings: Settings, ledger: Ledger) -> AsyncIterator[asyncio.Task[int]]:
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        served = group.create_task(serve_stages(settings, {STAGE: opener(ledger, 1)}, stop))
        try:
            yield served
        finally:
            stop.set()


@pytest.mark.parametrize(("method", "values"), [("publish", ["k-1", "k-2"]), ("publish_to", ["k-1", "poison-2"])])
async def test_an_offset_waits_for_what_comes_out_of_its_batch(
    kafka: Settings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, method: str, values: list[str]
) -> None:
    await send(kafka, values)
    gate = Gate(monkeypatch, method)
    async with serving(kafka, ledger) as served:
        await asyncio.wait_for(gate.reached.wait(), 30)
        await asyncio.sleep(0.5)
        assert await committed(kafka, STAGE) < 2
        assert "k-1" in ledger.came()
        gate.opened.set()
        await until(lambda: _acknowledged(kafka, 2))
    assert served.result() == 0


async def test_a_broker_that_takes_no_output_is_waited_for_and_nothing_is_acknowledged(
    kafka: Settings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    await send(kafka, ["k-1"])
    through, failures = Publisher.publish, iter(range(4))

    async def failing(publisher: Publisher, topic: str, records: list[object]) -> None:
        if records and next(failures, None) is not None:
            assert await committed(kafka, STAGE) == 0
            raise StoreUnavailable("the broker takes nothing")
        await through(publisher, topic, records)  # type: ignore[arg-type]

    monkeypatch.setattr(Publisher, "publish", failing)
    async with serving(kafka, ledger) as served:
        await until(lambda: _acknowledged(kafka, 1))
    assert served.result() == 0
    assert len(await read(kafka, STAGE.output.name_in(kafka))) == 1
    assert ledger.came() == {"k-1": 1}, "a failed publish must not write the batch again"


async def _acknowledged(kafka: Settings, count: int) -> bool:
    return await committed(kafka, STAGE) == count
