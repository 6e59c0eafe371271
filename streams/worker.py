"""Faust's part: each stage is a Faust agent on a bounded channel, fed and settled by a Faust service.

The app subscribes to nothing itself: its consumer, producer, leader topic and web server are off. What it gives is the
agents, their lifecycle and supervision, and one beacon tree in which the death of any part is the death of all.
"""

import logging
from collections.abc import Sequence
from typing import Any

import faust
from faust.app.base import BootStrategy
from mode.supervisors import CrashingSupervisor

from memory.settings import Settings
from streams.batch import Batch
from streams.delivery import IN_LINE, Delivery
from streams.verdict import Verdict

_log = logging.getLogger(__name__)


class _Boot(BootStrategy):  # type: ignore[misc]  # Faust has no types
    enable_kafka = False  # a conductor with nothing to subscribe to crashes, and Faust's consumer loses events
    enable_web = False


class WorkerApp(faust.App):  # type: ignore[misc]  # Faust has no types
    """The Faust app of one worker process: an agent and a service for each stage."""

    BootStrategy = _Boot

    def _create_directories(self) -> None:
        """Create nothing: the app keeps no tables."""

    def _new_consumer(self) -> Any:
        """Make the consumer object that Faust's streams look at, and close the thread's loop it will never run."""
        consumer = super()._new_consumer()
        consumer._thread.thread_loop.close()
        return consumer

    async def on_started_init_extra_services(self) -> None:
        """Let channels flow, once and before anything is on them (`resume` empties them), then start the stages."""
        self.flow_control.resume()
        await super().on_started_init_extra_services()


class DeliveryService(faust.Service):  # type: ignore[misc]  # Faust has no types
    """Runs one `Delivery` within the app, and hands down the verdict when it fails."""

    def __init__(self, delivery: Delivery, channel: Any, verdict: Verdict, stop_timeout_s: float, **given: Any) -> None:
        self._delivery = delivery
        self._channel = channel
        self._verdict = verdict
        self._stop_timeout_s = stop_timeout_s
        super().__init__(**given)

    @faust.Service.task  # type: ignore[untyped-decorator]  # Faust has no types
    async def _deliver(self) -> None:
        try:
            await self._delivery.run(self._channel.put)
        except Exception as error:  # noqa: BLE001  whatever it is ends the process, with its cause told by the verdict
            self._verdict.fail(self._delivery.state, error)

    async def on_stop(self) -> None:
        """Finish or abandon what is in hand, within the time to stop."""
        await self._delivery.stop(self._stop_timeout_s)


def build_app(settings: Settings, deliveries: Sequence[Delivery], verdict: Verdict) -> WorkerApp:
    """Build the app; call it on the loop that runs it."""
    app = WorkerApp(
        f"{settings.topic_prefix}magma",
        broker=f"aiokafka://{settings.kafka_bootstrap.split(',')[0]}",
        topic_disable_leader=True,
        topic_allow_declare=False,
        agent_supervisor=CrashingSupervisor,
        autodiscover=False,
    )
    for delivery in deliveries:
        channel = app.channel(maxsize=2 * IN_LINE)
        app.agent(channel, name=delivery.stage.value)(_agent_of(delivery))
        app.service(DeliveryService(delivery, channel, verdict, settings.stop_timeout_s))
    return app


def _agent_of(delivery: Delivery) -> Any:
    async def agent(batches: Any) -> None:
        async with delivery.agent():
            batch: Batch
            async for batch in batches:
                if not await delivery.work(batch):
                    break

    return agent
