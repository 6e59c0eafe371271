"""Whether the memory of a failed run leads from its end to the decisive mistake.

Two measures for each log. Walking: is the decisive step among the events from which CAUSES lead to the last one?
Asking: is it among the first ten events of a WHY question, against the ten nearest by vector alone and the last ten?
Short logs say little of the second: ten events are all there are. So logs of more than ten events are summed apart.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel

from bench.consolidate_causal import reachable
from bench.consolidate_intervals import interval, share
from bench.consolidate_memory import Consolidated, read_consolidated
from bench.tables import Interval
from bench.who_and_when import FailureLog, step_id
from memory.embedding import Encoder
from memory.graph import Graph
from memory.vectors import Vectors
from query_api.engine import Retriever
from query_api.models import MAX_QUESTION_CHARS, QueryRequest

#: How many events count as found first.
FIRST = 10


class Way(StrEnum):
    """How ten events are chosen. `CHANCE` is what ten drawn at random would hit, in expectation."""

    MAGMA = "magma"
    NEAREST = "nearest"
    RECENT = "recent"
    CHANCE = "chance"


class Logs(BaseModel):
    """Sums over some logs. Counts of logs, but `chance` ones, which are expectations.

    `reached`: the decisive step is behind the last event; `reached_chance`: what as many events drawn at random would
    hold; `reached_events`: mean number of events behind the last one; `first`: the decisive step is among the first
    ten, by way; `intent_why`: questions read as WHY.
    """

    n: int
    events: int
    causes: int
    causes_per_event: float
    reached: int
    reached_chance: float
    reached_events: float
    reached_share: float
    first: dict[Way, float]
    intent_why: int
    intervals: dict[str, Interval]


class FailuresTable(BaseModel):
    """All logs, those of more than ten events, and by where they are from; `missed`: ids of those not reached."""

    data: str
    question: str
    all: Logs
    longer: Logs | None
    by_source: dict[str, Logs]
    missed: list[str]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Of one log. `reached`: events behind the last one; `first`: events by way, as producers call them."""

    log: FailureLog
    causes: int
    reached: frozenset[str]
    first: Mapping[Way, tuple[str, ...]]
    why: bool

    @property
    def decisive(self) -> str:
        return step_id(self.log.decisive)

    @property
    def hits(self) -> dict[Way, float]:
        hits = {way: float(self.decisive in found) for way, found in self.first.items()}
        return hits | {Way.CHANCE: min(1.0, FIRST / len(self.log.steps))}


async def measure_failures(
    graph: Graph,
    vectors: Vectors,
    encoder: Encoder,
    logs: Mapping[str, FailureLog],
    *,
    data: str,
    progress: Callable[[int], None] = lambda _: None,
) -> FailuresTable:
    """Walk and ask in the memory of every log, by the tenant that has it; raises as the stores and the encoder do."""
    retriever = Retriever(graph, vectors, encoder)
    outcomes = []
    for place, (tenant, log) in enumerate(logs.items(), start=1):
        memory = await read_consolidated(graph, tenant)
        request = QueryRequest(question=log.question[:MAX_QUESTION_CHARS], top_k=FIRST)
        result = await retriever.query(tenant, request)
        vector = (await encoder.encode([request.question]))[0]
        near = await vectors.reader(tenant).nearest(vector, FIRST)
        called = {id_: node.ref for id_, node in (await graph.reader(tenant).events([hit.id for hit in near])).items()}
        first = {
            Way.MAGMA: tuple(event.ref for event in result.events),
            Way.NEAREST: tuple(called[hit.id] for hit in near),
            Way.RECENT: tuple(reversed(memory.events))[:FIRST],
        }
        outcomes.append(await asyncio.to_thread(_outcome, log, memory, first, result.intent))
        progress(place)
    return _summed(outcomes, data)


def _outcome(
    log: FailureLog, memory: Consolidated, first: Mapping[Way, tuple[str, ...]], shares: Mapping[str, float]
) -> _Outcome:
    reached = reachable(memory.causes, step_id(len(log.steps) - 1))
    why = max(shares, key=lambda name: shares[name]) == "WHY"
    return _Outcome(log, len(memory.causes), frozenset(reached), first, why)


def _summed(outcomes: Sequence[_Outcome], data: str) -> FailuresTable:
    longer = [one for one in outcomes if len(one.log.steps) > FIRST]
    by_source: dict[str, list[_Outcome]] = {}
    for one in outcomes:
        by_source.setdefault(one.log.id.rpartition("-")[0] or one.log.id, []).append(one)
    return FailuresTable(
        data=data,
        question="Why did the task fail? <the log's task>",
        all=_logs(outcomes),
        longer=_logs(longer) if longer else None,
        by_source={name: _logs(part) for name, part in sorted(by_source.items())},
        missed=sorted(one.log.id for one in outcomes if one.decisive not in one.reached),
    )


def _logs(outcomes: Sequence[_Outcome]) -> Logs:
    events = sum(len(one.log.steps) for one in outcomes)
    causes = sum(one.causes for one in outcomes)
    reached = [float(one.decisive in one.reached) for one in outcomes]
    shares = [len(one.reached) / len(one.log.steps) for one in outcomes]
    hits = [one.hits for one in outcomes]
    spreads = {"reached": interval([(value, 1) for value in reached], share)}
    spreads |= {f"first {way}": interval([(hit[way], 1) for hit in hits], share) for way in Way}
    return Logs(
        n=len(outcomes),
        events=events,
        causes=causes,
        causes_per_event=round(causes / events, 4),
        reached=int(sum(reached)),
        reached_chance=round(sum(shares), 2),
        reached_events=round(sum(len(one.reached) for one in outcomes) / len(outcomes), 2),
        reached_share=round(sum(shares) / len(outcomes), 4),
        first={way: round(sum(hit[way] for hit in hits), 2) for way in Way},
        intent_why=sum(one.why for one in outcomes),
        intervals={name: spread for name, spread in spreads.items() if spread is not None},
    )
