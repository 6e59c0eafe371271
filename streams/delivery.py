"""The one place that acknowledges. For each batch, in the log's order:

1. the stage's handler makes it durable (`streams.attempts`: retried for ever, poison found by halving);
2. what it gives out is published, and the brokers have acknowledged it;
3. what can never succeed is in the dead-letter topic, and the brokers have acknowledged it;
4. only then its records are settled, and the offset before the first record that is not settled is committed.

A batch is what one poll gave; a consolidator's is made of sessions' windows (`streams.gathering`), and a record in one
that is not due yet, or that has to wait for its tenant's budget, holds back the offset and nothing else.

A crash anywhere repeats work and loses none; handlers are idempotent. A batch whose partitions are handed over, or
that is in the way of a stop, is finished in time or abandoned whole: abandoned means never committed.

Faust's own consumer is not used: it acknowledges events whose agent failed, and commits over gaps. Its agents are:
they get whole batches on a bounded channel, settle the batch's future and never let an exception out.
"""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import (
    CommitFailedError,
    GroupAuthorizationFailedError,
    IllegalStateError,
    KafkaConnectionError,
    KafkaError,
    TopicAuthorizationFailedError,
)
from aiokafka.structs import ConsumerRecord

from memory.errors import Misconfigured, Retryable
from memory.records import HandlerFactory, Outgoing
from memory.settings import LlmProvider, Settings
from streams import metrics
from streams.admin import ensure_topics
from streams.attempts import Attempts, Worked
from streams.batch import Batch, records_of
from streams.clients import REQUEST_TIMEOUT_S, kafka_away, make_consumer, rebalance_timeout_ms
from streams.gathering import ASKING, inlet_of
from streams.lag import watch_lag
from streams.letters import one_line
from streams.producers import Producers
from streams.publisher import Publisher
from streams.retry import Backoff
from streams.scope import Cut, Scope
from streams.state import DeliveryState, Need, Phase
from streams.topics import Stage
from streams.watermark import Watermark

#: Batches made and not yet settled: one that settles, one with the handler, one read ahead.
IN_LINE = 3
#: Longest wait of one poll, in milliseconds.
POLL_MS = 200
#: How often a consumer that is held back by its handler tells its group that it is alive, in seconds.
ALIVE_EVERY_S = 1.0
#: Parts of the time to stop: for batches to finish, and for leaving the group and closing what is open.
DRAIN_PART, CLOSE_PART = 0.6, 0.3
#: How often a new topic of a tenant is looked for, in milliseconds.
TOPICS_SEEN_MS = 10_000
#: A partition that cannot exist: asking for it reads nothing and still counts as a poll.
_NOTHING = TopicPartition("", -1)

_log = logging.getLogger(__name__)


class AgentGoneError(RuntimeError):
    """Raised when a stage's agent ended by itself: a worker without its agent would only look healthy."""


class Delivery(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """Drives one stage: reads its topic in a consumer group, hands batches to its agent, settles them in order."""

    def __init__(self, settings: Settings, stage: Stage, factory: HandlerFactory) -> None:
        self.stage = stage
        self.state = DeliveryState(stage)
        self._settings = settings
        self._factory = factory
        self._life = Scope()
        self._stopping = False
        self._inlet = inlet_of(stage, settings)
        self._watermark = Watermark()  # a new one when partitions are handed over: what was read before comes again
        self._line: deque[Batch] = deque()
        self._order: asyncio.Queue[Batch] = asyncio.Queue(IN_LINE)
        self._room = asyncio.Event()
        self._room.set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._ended = asyncio.Event()
        self._agent_up = asyncio.Event()
        self._agent_gone = asyncio.Event()
        self._stores = Backoff(self.state, Need.STORES)
        self._input = Backoff(self.state, Need.INPUT)
        self._output = Backoff(self.state, Need.OUTPUT)
        self._attempts: Attempts | None = None
        self._told = False  # the agent has given its batch an error that ends the stage

    # -- the life of the stage ------------------------------------------------------------------------------------

    async def run(self, put: Callable[[Batch], Awaitable[None]]) -> None:
        """Consume until `stop`; `put` hands a batch to the agent.

        Raises `Misconfigured` for a person, or whatever nobody expected; then nothing of the failed batch is committed.
        """
        try:
            async with self._life.open(), AsyncExitStack() as stack:
                await self._agent_up.wait()
                handler = await self._stores.until_done(
                    lambda: stack.enter_async_context(self._factory(self._settings))
                )
                self._attempts = Attempts(handler, self._stores, timeout_s=handle_timeout_s(self.stage, self._settings))
                publisher = await stack.enter_async_context(Publisher.open(self._settings))
                await self._input.until_done(lambda: ensure_topics(self._settings))
                consumer = await self._input.until_done(lambda: self._joined(stack))
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._poll(consumer, put))
                    group.create_task(self._settle(consumer, publisher))
                    group.create_task(watch_lag(consumer, self.state, self._settings))
                    group.create_task(self._agent_lost())
        except Cut:
            _log.info("%s stopped", self.stage.value)
        finally:
            self._ended.set()

    async def stop(self, within_s: float) -> None:
        """Finish what is being handled, or abandon it, and close everything; at most `within_s` seconds."""
        self._stopping = True
        self.state.phase = Phase.STOPPING
        await self._clear_line(within_s * DRAIN_PART)
        self._life.cut()
        try:
            async with asyncio.timeout(within_s * CLOSE_PART):
                await self._ended.wait()
        except TimeoutError:
            _log.warning("%s: closing its stores takes longer than the time to stop", self.stage.value)

    async def _joined(self, stack: AsyncExitStack) -> AIOKafkaConsumer:
        # tenants' own topics come and go: looked for more often than topics that are always there
        topics = Producers.of(self._settings).topics if self.stage is Stage.INTAKE else None
        seen = {} if topics is None else {"metadata_max_age_ms": TOPICS_SEEN_MS}
        consumer = make_consumer(self._settings, group=self.stage.group_in(self._settings), **seen)
        try:
            async with asyncio.timeout(2 * REQUEST_TIMEOUT_S):
                await consumer.start()
                if not consumer._client.cluster.brokers():
                    # A broker that is just starting may name none, itself included. aiokafka takes that for an answer,
                    # and its coordination dies of it later, for good.
                    raise KafkaConnectionError("the cluster names no broker")
        except (KafkaError, TimeoutError, OSError) as error:
            await _leave(consumer, self._settings.stop_timeout_s)
            raise kafka_away(self._settings, error) from error
        stack.push_async_callback(_leave, consumer, self._settings.stop_timeout_s * CLOSE_PART / 2)
        if topics is None:
            consumer.subscribe([topic.name_in(self._settings) for topic in self.stage.sources], listener=self)
        else:
            consumer.subscribe(pattern=topics.pattern, listener=self)
        return consumer

    # -- reading --------------------------------------------------------------------------------------------------

    async def _poll(self, consumer: AIOKafkaConsumer, put: Callable[[Batch], Awaitable[None]]) -> None:
        while not self._stopping:
            try:
                await self._have_room(consumer)
                # no await between the records leaving the client and their being held: a rebalance must not fit in
                read = await self._read(consumer)
            except KafkaError as error:
                await self._input.wait(_readable(error, self._settings))
                continue
            records = list(records_of(read))
            for record in records:
                self._watermark.read(record)
            self._inlet.add(records, time.monotonic())
            await self._hand_on(consumer, put)

    async def _read(self, consumer: AIOKafkaConsumer) -> Mapping[TopicPartition, Sequence[ConsumerRecord]]:
        """Poll until something that is held may be due; read nothing while as much is held as may be."""
        due_in_s = self._inlet.due_in_s(time.monotonic())
        wait_ms = POLL_MS if due_in_s is None else max(1, min(POLL_MS, math.ceil(due_in_s * 1_000)))
        read: Mapping[TopicPartition, Sequence[ConsumerRecord]]
        if self._inlet.full:
            await asyncio.sleep(wait_ms / 1_000)
            read = await consumer.getmany(_NOTHING, timeout_ms=0)
        else:
            read = await consumer.getmany(timeout_ms=wait_ms, max_records=self._settings.batch_max_events)
        return read

    async def _hand_on(self, consumer: AIOKafkaConsumer, put: Callable[[Batch], Awaitable[None]]) -> None:
        """Give the agent the batches that are due; what a rebalance took back meanwhile is not held any more."""
        while True:
            await self._have_room(consumer)
            if self._stopping:
                return
            records = self._inlet.take(time.monotonic())
            self._count()
            if not records:
                return
            batch = Batch(records, self._watermark)
            self._line.append(batch)
            self._count()
            self._order.put_nowait(batch)
            await put(batch)

    async def _have_room(self, consumer: AIOKafkaConsumer) -> None:
        """Wait until the line has room; nothing is read meanwhile, and the group hears that the member is alive."""
        while not self._room.is_set():
            try:
                async with asyncio.timeout(ALIVE_EVERY_S):
                    await self._room.wait()
            except TimeoutError:
                await consumer.getmany(_NOTHING, timeout_ms=0)

    def _count(self) -> None:
        self.state.pending = len(self._line)
        self.state.held = self._inlet.held
        self.state.postponed, resumes_in_s = self._inlet.postponed(time.monotonic())
        self.state.resumes_at = datetime.now(UTC) + timedelta(seconds=resumes_in_s) if self.state.postponed else None
        metrics.POSTPONED.labels(self.stage.value).set(self.state.postponed)
        (self._room.set if len(self._line) < IN_LINE else self._room.clear)()
        (self._idle.clear if self._line else self._idle.set)()

    # -- the agent's side -----------------------------------------------------------------------------------------

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[None]:
        """Hold while the agent takes batches; leaving it before a stop takes the process down."""
        self._agent_up.set()
        try:
            yield
        finally:
            self._agent_gone.set()

    async def work(self, batch: Batch) -> bool:
        """Work one batch off and settle its future; gives False when the agent must take no further batch."""
        if batch.abandoned or self._attempts is None:
            return True
        batch.started = True
        self.state.progress()
        begun_s = time.monotonic()
        try:
            async with batch.handling.open():
                worked = await self._attempts.work_off(batch.records)
        except Cut:
            return True
        except Exception as error:  # noqa: BLE001  Faust would acknowledge and go on: the settler stops the process
            if not batch.worked.done():
                self._told = True
                batch.worked.set_exception(error)
            return False
        metrics.HANDLE_SECONDS.labels(self.stage.value).observe(time.monotonic() - begun_s)
        if not batch.worked.done():
            batch.worked.set_result(worked)
        return True

    async def _agent_lost(self) -> None:
        await self._agent_gone.wait()
        if not self._told:
            raise AgentGoneError(f"the agent of {self.stage.value} ended by itself")

    # -- settling -------------------------------------------------------------------------------------------------

    async def _settle(self, consumer: AIOKafkaConsumer, publisher: Publisher) -> None:
        while True:
            batch = await self._order.get()
            try:
                async with batch.settling.open():
                    await self._settle_one(batch, consumer, publisher)
            except Cut:
                metrics.ABANDONED.labels(self.stage.value).inc()
            self._line.remove(batch)
            self.state.progress()
            self._count()

    async def _settle_one(self, batch: Batch, consumer: AIOKafkaConsumer, publisher: Publisher) -> None:
        stage, settings = self.stage.value, self._settings
        worked = await batch.worked
        begun_s = time.monotonic()
        output = self.stage.output.name_in(settings)
        await self._output.until_done(lambda: publisher.publish(output, worked.outgoing))
        for published in worked.published:
            await self._output.until_done(published)
        for letters, posted in _posted(worked, self.stage, settings).items():
            await self._output.until_done(partial(publisher.publish_to, letters, posted))
        metrics.PUBLISHED.labels(stage).inc(len(worked.outgoing))
        for letter in worked.letters:
            metrics.DEAD_LETTERS.labels(stage, letter.error.code).inc()
            _log.warning("%s: %s is a dead letter: %s", stage, letter.record.place, one_line(str(letter.error)))
        later = {one.record.place for one in worked.postponed}
        settled = [record for record in batch.records if not later or record.place not in later]
        if await self._committed(batch.watermark.settle(settled), consumer):
            metrics.BATCHES.labels(stage).inc()
            metrics.RECORDS.labels(stage).inc(len(settled))
        if batch.watermark is self._watermark:  # else the partitions have changed hands, and the records come again
            self._inlet.postpone(worked.postponed, time.monotonic())
        metrics.SETTLE_SECONDS.labels(stage).observe(time.monotonic() - begun_s)

    async def _committed(self, ends: Mapping[TopicPartition, int], consumer: AIOKafkaConsumer) -> bool:
        """Commit, waiting for the broker as long as it takes; False when the group has moved on without us."""
        if not ends:
            return True

        async def commit() -> None:
            try:
                async with asyncio.timeout(REQUEST_TIMEOUT_S):
                    await consumer.commit(dict(ends))
            except TimeoutError as error:
                raise kafka_away(self._settings, error) from error

        try:
            await self._output.until_done(commit)
        except (CommitFailedError, IllegalStateError) as error:
            _log.warning("%s: commit refused, the records come again: %s", self.stage.value, error)
        except KafkaError as error:
            raise _refused(error, self._settings) from error
        else:
            return True
        metrics.UNCOMMITTED.labels(self.stage.value).inc()
        return False

    # -- rebalance ------------------------------------------------------------------------------------------------

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Finish and commit the batch in hand, or abandon it, before the partitions get another owner."""
        self._read_again()
        self.state.partitions = frozenset()
        if revoked:
            await self._clear_line(rebalance_timeout_ms(self._settings) / 2_000)

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Note which partitions are ours now; reading begins at what is committed."""
        self._read_again()
        self.state.partitions = frozenset(place.partition for place in assigned)
        if self.state.phase is Phase.STARTING:
            self.state.phase = Phase.RUNNING

    def _read_again(self) -> None:
        self._inlet.clear()
        self._watermark = Watermark()
        self._count()

    async def _clear_line(self, within_s: float) -> None:
        """Abandon what is not begun or waits for a store; let the rest finish within the time, else abandon it."""
        for batch in self._line:
            if not batch.started or self.state.waiting:
                batch.abandon()
        try:
            async with asyncio.timeout(within_s):
                await self._idle.wait()
        except TimeoutError:
            for batch in self._line:
                batch.abandon()


def _posted(worked: Worked, stage: Stage, settings: Settings) -> dict[str, list[tuple[int, Outgoing]]]:
    """Give the letters by dead-letter topic: each topic of the stage has its own, and tenants' topics share one."""
    own = {topic.name_in(settings): topic.dead_letters_in(settings) for topic in stage.sources}
    posted: dict[str, list[tuple[int, Outgoing]]] = {}
    for letter in worked.letters:
        topic = own.get(letter.record.topic, stage.source.dead_letters_in(settings))
        posted.setdefault(topic, []).append((letter.record.partition, letter.as_outgoing(stage)))
    return posted


def handle_timeout_s(stage: Stage, settings: Settings) -> float:
    """Give the bound on one call of a stage's handler: a write, and two calls of a model where one is asked."""
    asks = stage in ASKING and settings.llm_provider is not LlmProvider.RULES
    return settings.write_timeout_s + (2 * settings.llm_timeout_s if asks else 0.0)


def _readable(error: KafkaError, settings: Settings) -> Retryable:
    """Give the reason to wait for an error of reading; raises what waiting cannot mend."""
    if isinstance(error, TopicAuthorizationFailedError | GroupAuthorizationFailedError) or not error.retriable:
        raise _refused(error, settings) from error
    return kafka_away(settings, error)


def _refused(error: Exception, settings: Settings) -> Exception:
    if isinstance(error, TopicAuthorizationFailedError | GroupAuthorizationFailedError):
        return Misconfigured(
            f"not allowed to read at {settings.kafka_bootstrap}: {error}", hint="grant it on the broker"
        )
    return error


async def _leave(consumer: AIOKafkaConsumer, within_s: float) -> None:
    """Leave the group and close; a broker that is away will miss the member after its session timeout anyway."""
    try:
        async with asyncio.timeout(within_s):
            await consumer.stop()
    except (KafkaError, TimeoutError, OSError) as error:
        _log.warning("left the group without saying so: %r", error)
