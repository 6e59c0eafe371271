"""What model calls are counted by: tenant, model, stage, prompt version. In the process's default registry.

Money is counted only with prices that the settings give: there is no price list here, for it would be wrong tomorrow.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from prometheus_client import Counter, Gauge, Histogram

from memory.settings import Settings

_WHAT = ("tenant", "model", "stage", "prompt_version")
#: Tenants with a label of their own in one process; the rest are counted together, for every label costs memory.
MAX_TENANTS = 1_000
OTHERS = "(others)"

CALLS = Counter("magma_llm_calls_total", "Requests to a language model by their outcome", [*_WHAT, "outcome"])
TOKENS = Counter("magma_llm_tokens_total", "Tokens that the provider counted", [*_WHAT, "direction"])
COST = Counter("magma_llm_cost_total", "Money by the prices of the settings, in their currency", [*_WHAT])
CALL_SECONDS = Histogram(
    "magma_llm_call_seconds",
    "Time of one request to a language model",
    ["model", "stage"],
    buckets=(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0),
)
REUSED = Counter("magma_llm_reused_events_total", "Events whose reading was kept and cost no call", ["tenant", "stage"])
BUDGET_LEFT = Gauge("magma_llm_budget_tokens_left", "Tokens left of the tenant's UTC day, as last seen", ["tenant"])
BUDGET_SPENT_UNTIL = Gauge(
    "magma_llm_budget_spent_until_seconds",
    "When work for the tenant goes on (Unix time); in the past: it does not wait for its budget",
    ["tenant"],
)
CIRCUIT_OPEN = Gauge("magma_llm_circuit_open", "1 while the provider is left alone after its failures", ["provider"])


class Outcome(StrEnum):
    """What became of one request."""

    ANSWERED = "answered"
    UNUSABLE = "unusable"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    LIMITED = "limited"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a call is for; `stage`: whose question it answers."""

    tenant: str
    stage: str
    prompt_version: str


class Accounts:
    """Counts for one model."""

    def __init__(self, settings: Settings) -> None:
        self._model = settings.llm_model
        self._prices = (settings.llm_price_prompt, settings.llm_price_completion)

    def called(self, purpose: Purpose, outcome: Outcome) -> None:
        """Count a request."""
        CALLS.labels(*self._labels(purpose), outcome.value).inc()

    def used(self, purpose: Purpose, prompt: int, completion: int) -> None:
        """Count tokens, and money when both prices are set (units of the currency a million tokens)."""
        labels = self._labels(purpose)
        TOKENS.labels(*labels, "prompt").inc(prompt)
        TOKENS.labels(*labels, "completion").inc(completion)
        of_prompt, of_completion = self._prices
        if of_prompt is not None and of_completion is not None:
            COST.labels(*labels).inc((prompt * of_prompt + completion * of_completion) / 1e6)

    def took(self, purpose: Purpose, seconds: float) -> None:
        """Note how long a request took."""
        CALL_SECONDS.labels(self._model, purpose.stage).observe(seconds)

    def _labels(self, purpose: Purpose) -> tuple[str, str, str, str]:
        return (tenant_label(purpose.tenant), self._model, purpose.stage, purpose.prompt_version)


def reused(tenant: str, stage: str, events: int) -> None:
    """Count events that cost no call."""
    if events:
        REUSED.labels(tenant_label(tenant), stage).inc(events)


def budget_seen(tenant: str, left: int, resumes_at: datetime | None) -> None:
    """Show what is left of a tenant's day, and until when its work waits."""
    label = tenant_label(tenant)
    BUDGET_LEFT.labels(label).set(max(0, left))
    BUDGET_SPENT_UNTIL.labels(label).set(resumes_at.timestamp() if resumes_at else 0)


_tenants: set[str] = set()


def tenant_label(tenant: str) -> str:
    """Give the label of a tenant: its name, or that of all others when too many have one."""
    if tenant not in _tenants:
        if len(_tenants) >= MAX_TENANTS:
            return OTHERS
        _tenants.add(tenant)
    return tenant
