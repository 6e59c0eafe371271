"""What a query found out, before it is shown."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from query_api.anchors import Anchor
from query_api.beside import Beside
from query_api.policy import Policy, Steering
from query_api.ranking import Candidate, Evidence, Ranker, Scored
from query_api.router import Route
from query_api.stopwatch import Stopwatch
from query_api.synthesis import Context
from query_api.traversal import Walk


class Degraded(StrEnum):
    """What worked less well than it should have; stable names of `QueryResult.degraded`.

    WINDOW_SOFT: the named time left too few events, so it only ranks. NO_VECTOR: the question has no vector, words
    alone searched. VECTORS_MISSING / NODES_MISSING: events are in one store and not in the other. HUBS_LEFT_OUT: more
    frequent entities were met than the policy expands. CUT: a text was too long for the budget. BUDGET: events were
    found and not one fits. ROUTER_FELL_BACK: the model that should have read the question did not, the rules did.
    """

    WINDOW_SOFT = "window_soft"
    NO_VECTOR = "no_vector"
    VECTORS_MISSING = "vectors_missing"
    NODES_MISSING = "nodes_missing"
    HUBS_LEFT_OUT = "hubs_left_out"
    CUT = "text_cut"
    BUDGET = "budget_too_small"
    ROUTER_FELL_BACK = "router_fell_back"


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything a query found out, before it is shown.

    `beside`: neighbours in time of the best hits; `candidates`, `evidence`: what `ranker` ranked; `scored`: all of them
    by falling salience.
    """

    route: Route
    reference: datetime | None
    policy: Policy
    steering: Steering
    anchors: tuple[Anchor, ...]
    walk: Walk
    beside: Beside
    candidates: tuple[Candidate, ...]
    evidence: Evidence
    ranker: Ranker
    scored: tuple[Scored, ...]
    context: Context
    degraded: tuple[Degraded, ...]
    stopwatch: Stopwatch
