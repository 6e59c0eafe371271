"""A worker process: one or several stages until told to stop."""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from memory.errors import Misconfigured
from memory.records import HandlerFactory
from memory.settings import Settings
from streams.delivery import Delivery
from streams.health import health_endpoint
from streams.topics import Stage
from streams.verdict import Verdict
from streams.watchdog import Watchdog
from streams.worker import WorkerApp, build_app

__all__ = ["HandlerFactory", "run_stages", "serve_stages"]

_log = logging.getLogger(__name__)


def run_stages(settings: Settings, factories: Mapping[Stage, HandlerFactory]) -> int:
    """Run the stages until SIGTERM or SIGINT and give the process's exit status.

    0: told to stop; within `stop_timeout_s` every batch was finished or abandoned whole. 1: something is wrong, told on
    the log in one sentence (with a traceback when nobody expected it), and nothing of the failed batch is acknowledged.
    Ends the process itself when it stalls (`stall_timeout_s`) or when something does not close in time.
    """
    deliveries = [Delivery(settings, stage, factory) for stage, factory in factories.items()]
    watchdog = Watchdog([delivery.state for delivery in deliveries], stall_s=settings.stall_timeout_s)
    watchdog.start()
    try:
        with asyncio.Runner(loop_factory=_new_loop) as runner:
            return runner.run(_serve(settings, deliveries, watchdog))
    finally:
        watchdog.off()


async def serve_stages(settings: Settings, factories: Mapping[Stage, HandlerFactory], stop: asyncio.Event) -> int:
    """Run the stages on the running loop until `stop` is set; as `run_stages`, without signals and watchdog."""
    deliveries = [Delivery(settings, stage, factory) for stage, factory in factories.items()]
    return await _until_stopped(settings, deliveries, stop, Verdict())


async def _serve(settings: Settings, deliveries: list[Delivery], watchdog: Watchdog) -> int:
    stop, verdict = asyncio.Event(), Verdict()

    def told() -> None:
        watchdog.stop_within(settings.stop_timeout_s)
        stop.set()

    with _signals(told):
        status = await _until_stopped(settings, deliveries, stop, verdict)
    watchdog.status = status
    watchdog.stop_within(settings.stop_timeout_s)  # threads that are left must not keep the process
    return status


async def _until_stopped(settings: Settings, deliveries: list[Delivery], stop: asyncio.Event, verdict: Verdict) -> int:
    app = build_app(settings, deliveries, verdict)
    try:
        async with health_endpoint(settings, [delivery.state for delivery in deliveries]):
            try:
                await app.start()
                await _first(app, stop, verdict)
            finally:
                await app.stop()
    except Misconfigured as error:
        verdict.fail(None, error)
    if app.crashed and not verdict.status:
        verdict.fail(None, app.crash_reason or RuntimeError("the app crashed without a reason"))
    return verdict.status


async def _first(app: WorkerApp, stop: asyncio.Event, verdict: Verdict) -> None:
    """Wait until told to stop, or a stage failed, or Faust's tree crashed."""
    async with asyncio.TaskGroup() as group:
        waits = [
            group.create_task(stop.wait()),
            group.create_task(verdict.failed.wait()),
            group.create_task(app.wait_until_stopped()),
        ]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()


@contextmanager
def _signals(told: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    caught = (signal.SIGTERM, signal.SIGINT)
    for number in caught:
        loop.add_signal_handler(number, told)
    try:
        yield
    finally:
        for number in caught:
            with suppress(ValueError):
                loop.remove_signal_handler(number)


def _new_loop() -> asyncio.AbstractEventLoop:
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()
