"""Working a batch off: the handler is called until every record is durable or known to be poison."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from memory.errors import Misconfigured, Poison, Retryable, StoreUnavailable
from memory.records import Handled, Handler, Outgoing, Postponed, Record
from streams.letters import Letter
from streams.retry import Backoff
from streams.scope import apart


@dataclass(frozen=True, slots=True)
class Worked:
    """A batch that is done: what to publish, to dead-letter and to handle later; everything else is durable.

    `published`: to be called once the outgoing records are acknowledged by the brokers.
    """

    outgoing: tuple[Outgoing, ...]
    letters: tuple[Letter, ...]
    postponed: tuple[Postponed, ...] = ()
    published: tuple[Callable[[], Awaitable[None]], ...] = ()


class HandlerTimeout(StoreUnavailable):
    """Raised when one handler call took longer than the bound on a durable write."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of records to be handled in one call. `attempts`: failed calls they took part in."""

    records: Sequence[Record]
    attempts: int = 0
    first_at: datetime | None = None

    def failed(self) -> "_Part":
        return _Part(self.records, self.attempts + 1, self.first_at or datetime.now(UTC))

    def halves(self) -> tuple["_Part", "_Part"]:
        middle = len(self.records) // 2
        left, right = self.records[:middle], self.records[middle:]
        return _Part(left, self.attempts, self.first_at), _Part(right, self.attempts, self.first_at)


class Attempts:
    """Calls a stage's handler until a batch is done.

    Retryable errors are waited out for ever. `Poison` halves the batch until the bad record is alone; so does a call
    that takes too long, for a batch that is too large for its time would otherwise never end. Halves are handled in
    the batch's order. What is already durable may be handled again: handlers are idempotent.
    """

    def __init__(self, handler: Handler, backoff: Backoff, *, timeout_s: float) -> None:
        self._handler = handler
        self._backoff = backoff
        self._timeout_s = timeout_s

    async def work_off(self, records: Sequence[Record]) -> Worked:
        """Handle the records until all are durable or poison; raises `Misconfigured`, or what nobody expected."""
        outgoing: list[Outgoing] = []
        letters: list[Letter] = []
        postponed: list[Postponed] = []
        published: list[Callable[[], Awaitable[None]]] = []
        todo = [_Part(records)]
        while todo:
            part = todo.pop()
            try:
                handled = await self._call(part.records)
            except Poison as error:
                self._backoff.over()
                failed = part.failed()
                if len(part.records) == 1:
                    letters.append(_letter(failed, part.records[0], error))
                else:
                    todo.extend(reversed(failed.halves()))
            except HandlerTimeout as error:
                await self._backoff.wait(error)
                failed = part.failed()
                todo.extend(reversed(failed.halves()) if len(part.records) > 1 else (failed,))
            except Retryable as error:
                await self._backoff.wait(error)
                todo.append(part.failed())
            else:
                self._backoff.over()
                outgoing += handled.outgoing
                letters += (_letter(part.failed(), item.record, item.error) for item in handled.rejected)
                postponed += handled.postponed
                published += [handled.published] if handled.published else []
        return Worked(tuple(outgoing), tuple(letters), tuple(postponed), tuple(published))

    async def _call(self, records: Sequence[Record]) -> Handled:
        try:
            async with asyncio.timeout(self._timeout_s) as bound:
                return await apart(self._handler.handle(records))
        except TimeoutError as error:
            if not bound.expired():
                raise
            raise HandlerTimeout(f"a write of {len(records)} records took over {self._timeout_s:g} s") from error
        except BaseExceptionGroup as group:
            raise leading(group) from group


def leading(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Give the error of a group that decides what happens: the unexpected, else what stops, else what is retried."""
    leaves = _leaves(group)
    unexpected = [leaf for leaf in leaves if not isinstance(leaf, Misconfigured | Retryable | Poison)]
    by_weight = unexpected or sorted(leaves, key=_weight)
    return by_weight[0]


def _weight(error: BaseException) -> int:
    return next(place for place, kind in enumerate((Misconfigured, Retryable, Poison)) if isinstance(error, kind))


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


def _letter(part: _Part, record: Record, error: Poison) -> Letter:
    now = datetime.now(UTC)
    return Letter(record, error, part.attempts, part.first_at or now, now)
