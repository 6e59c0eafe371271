"""What the query service is asked and what it answers: the published contract of `POST /v1/query`.

Fields may be added; none is renamed or removed. Times are ISO 8601 with an offset; durations are milliseconds.
"""

from typing import Annotated, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    StringConstraints,
    field_validator,
    model_validator,
)

from memory.dates import FAR_FUTURE_US, FAR_PAST_US, DateSpan, Precision
from memory.events import EventKind, EventNode, Name, Trust, WrittenTime, from_us
from memory.relations import CausalKind, EdgeType, Origin, Relation
from query_api.anchors import ListName
from query_api.blocks import show_span
from query_api.policy import shipped_policies

#: Bounds of a request; over them the answer is a problem with code `invalid_request`.
MAX_QUESTION_CHARS = 4_000
MIN_BUDGET_TOKENS = 50
MAX_BUDGET_TOKENS = 100_000
MAX_TOP_K = 200
#: Events returned when the request does not say.
DEFAULT_TOP_K = 50


def _each_once(value: object) -> object:
    """Refuse a list that names something twice, as the contract does."""
    if isinstance(value, list) and any(one in value[:place] for place, one in enumerate(value)):
        raise ValueError("names one of them twice")
    return value


class QueryRequest(BaseModel):
    """A question to the memory of one tenant. The tenant is never part of it.

    `as_of`: what relative times in the question are relative to (default: the time of the memory's last event), never
    the wall clock. `budget_tokens`: bound on the context. `relations`: those that may be walked (default: all).
    `policy`: name of a shipped policy. `fresh`: see what was written an instant ago, at the price of a slower search.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUESTION_CHARS)]
    session: Name | None = None
    agent: Name | None = None
    as_of: WrittenTime | None = None
    budget_tokens: Annotated[int, Strict(), Field(ge=MIN_BUDGET_TOKENS, le=MAX_BUDGET_TOKENS)] | None = None
    top_k: Annotated[int, Strict(), Field(ge=1, le=MAX_TOP_K)] | None = None
    relations: Annotated[frozenset[Relation], BeforeValidator(_each_once)] | None = None
    policy: str | None = None
    fresh: Annotated[bool, Strict()] = False
    explain: Annotated[bool, Strict()] = False

    @field_validator("question")
    @classmethod
    def _printable(cls, question: str) -> str:
        if "\x00" in question:
            raise ValueError("contains a NUL character")
        try:
            question.encode()
        except UnicodeEncodeError as error:
            raise ValueError("contains half of a surrogate pair") from error
        # Measured before the white space is taken off: the contract bounds what is sent.
        if not (stripped := question.strip()):
            raise ValueError("is empty")
        return stripped

    @model_validator(mode="after")
    def _known_policy(self) -> Self:
        if self.policy is not None and self.policy not in shipped_policies():
            raise ValueError(f"policy: there are {', '.join(shipped_policies())}")
        return self


class _Answered(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


class SpanView(_Answered):
    """A resolved phrase of time, half-open, and how a context writes it (`text`).

    `start`/`end` are null where the phrase is open ("before May").
    """

    phrase: str
    start: AwareDatetime | None
    end: AwareDatetime | None
    precision: Precision
    text: str

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, span: DateSpan, offset_minutes: int = 0) -> "SpanView":
        """Show a span at a UTC offset."""
        return cls.model_validate(span_fields(span, offset_minutes))


class ListShare(_Answered):
    """What one list gave an anchor: rank from 1, the list's own score, its term of eq. 4."""

    rank: int
    score: float
    term: float


class AnchorView(_Answered):
    """A node the walk started from, and which lists it came from."""

    id: str
    lists: dict[ListName, ListShare]
    rrf: float


class HopTerms(_Answered):
    """Every term of eq. 5-6 for one hop; `score_from` is the predecessor's cumulative score."""

    relation: Relation
    phi: float
    strength: float
    cosine: float
    lambda1: float
    lambda2: float
    gamma: float
    s: float
    score_from: float


class CauseView(_Answered):
    """Where a causal edge comes from. `rule` or `model`: which one inferred it; `evidence`: ids of events."""

    kind: CausalKind
    confidence: float
    rule: str
    model: str
    prompt_version: str
    rationale: str
    evidence: list[str]


class HopView(_Answered):
    """One hop of the path that led to an event, in walking order.

    `forward`: along the edge's arrow; `via`: the entity a hop passes through; `score`: cumulative score on arrival
    (eq. 6); `origin`: who says the edge holds (null: it holds by construction). Only when
    explained: `terms`, and of a causal edge its `cause`.
    """

    from_: str = Field(alias="from")
    edge: EdgeType
    to: str
    score: float
    origin: Origin | None
    forward: bool
    via: str = ""
    terms: HopTerms | None = None
    cause: CauseView | None = None


class EventView(_Answered):
    """A stored event.

    `source`, `trust`: whose word it is and how much that counts. `derived_from`: the events that it only repeats; it is
    no evidence of its own then.
    """

    id: str
    ref: str
    text: str
    kind: EventKind
    speaker: str
    agent: str
    session: str
    occurred_at: AwareDatetime
    dates: list[SpanView]
    source: str = ""
    trust: Trust = Trust.NORMAL
    derived_from: list[str] = Field(default_factory=list)

    @classmethod
    def of(cls, node: EventNode) -> "EventView":
        """Show a node."""
        return cls.model_validate(event_fields(node))


class ResultEvent(EventView):
    """A stored event as a question found it.

    Only when explained: `terms`, the parts of `salience`; `features`, what the fitted ranker measured; `relations`, how
    much of its share each relation gives.
    """

    salience: float
    depth: int
    path: list[HopView]
    terms: dict[str, float] | None = None
    features: dict[str, float] | None = None
    relations: dict[Relation, float] | None = None


class Timings(_Answered):
    """Milliseconds spent in each stage."""

    route: float
    embed: float
    anchors: float
    traverse: float
    synthesize: float


class Explanation(_Answered):
    """How a question was understood and walked: what decided, and the numbers it was steered by."""

    policy: str
    cues: list[str]
    names: list[str]
    keywords: str
    reference: AwareDatetime | None
    relation_weights: dict[Relation, float]
    lambda2: float
    beam: int
    visited: int
    exhausted: bool


class QueryResult(_Answered):
    """What the memory has to say, and how it came to it.

    `intent`: shares by intent, sum 1; `degraded`: what worked less well than it should, by stable names;
    `events`: by falling salience; `context`: what a model should be given, at most the budget in `tokens`.
    """

    intent: dict[str, float]
    window: SpanView | None
    anchors: list[AnchorView]
    events: list[ResultEvent]
    context: str
    tokens: int
    degraded: list[str]
    timings_ms: Timings
    explanation: Explanation | None = None


class AnswerResult(QueryResult):
    """A query's result with an answer. `citations`: refs the answer names that stand in the context."""

    answer: str
    citations: list[str]
    answer_ms: float
    prompt_version: str
    model: str


def event_fields(node: EventNode) -> dict[str, object]:
    """Give the fields of `EventView` for a node, not validated yet: many are validated in one call."""
    return {
        "id": node.id,
        "ref": node.ref,
        "text": node.text,
        "kind": node.kind,
        "speaker": node.speaker,
        "agent": node.agent,
        "session": node.session,
        "occurred_at": from_us(node.occurred_us, node.offset_minutes),
        "dates": [span_fields(span, node.offset_minutes) for span in node.dates],
        "source": node.source,
        "trust": node.trust,
        "derived_from": list(node.derived_from),
    }


def span_fields(span: DateSpan, offset_minutes: int) -> dict[str, object]:
    """Give the fields of `SpanView` for a span at a UTC offset."""
    return {
        "phrase": span.phrase,
        "start": None if span.start_us <= FAR_PAST_US else from_us(span.start_us, offset_minutes),
        "end": None if span.end_us >= FAR_FUTURE_US else from_us(span.end_us, offset_minutes),
        "precision": span.precision,
        "text": show_span(span, offset_minutes),
    }
