"""Every error Magma raises on purpose.

    MagmaError
    ├── Retryable            the same work may succeed later: wait and try again, drop nothing
    │   ├── StoreUnavailable     a server does not answer, or answers that it cannot now
    │   ├── StoreConflict        a concurrent transaction won; run the whole transaction again
    │   ├── RateLimited          a provider, or our own limit of calls to it, asks for fewer calls
    │   ├── CircuitOpen          a provider failed too often; it is left alone for a while
    │   └── BudgetSpent          a tenant has used up its tokens of the day; its work waits for the next one
    ├── Poison               this input will never succeed: dead letter, then go on
    │   ├── MalformedEvent       not JSON, or not an event
    │   ├── OversizeEvent        over a documented bound
    │   ├── ConflictingEvent     its id is taken by another event; the first write wins
    │   └── UnusableModelOutput  an LLM answer that stayed invalid after its one repair
    ├── Misconfigured        a person must change something: stop with a sentence
    │   ├── BadSetting           unknown setting or bad value
    │   ├── EmbeddingMismatch    the collection was built with another model or dimension
    │   ├── StoreRefused         credentials, missing database, statement not understood
    │   ├── MissingExtra         a package of an optional extra is not installed
    │   ├── UnreadableInput      a file that cannot be read, or is not what it was said to be
    │   ├── LlmNotConfigured     an answer was asked for and no model is set
    │   └── StackProblem         the local stack cannot start: port in use, stale lock
    └── NotFound             what was asked for does not exist (for this tenant)

`code` is stable: it stands in problem documents, in `x-error-code` headers and in metrics.
"""

from datetime import datetime
from typing import ClassVar


class MagmaError(Exception):
    """Base of all errors raised on purpose.

    `message` says what happened and where, `hint` what to do about it.
    """

    code: ClassVar[str] = "magma_error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message


class Retryable(MagmaError):
    """Raised when the same work may succeed later; never leads to a dead letter.

    `retry_after_s`: seconds before which another attempt is useless, when that is known.
    """

    code = "retryable"
    retry_after_s: float | None = None


class StoreUnavailable(Retryable):
    """Raised when a store or broker does not answer in time."""

    code = "store_unavailable"


class StoreConflict(Retryable):
    """Raised when a transaction lost against a concurrent one more often than is retried at once."""

    code = "store_conflict"


class RateLimited(Retryable):
    """Raised when a provider refuses for now. `retry_after_s` is the provider's own wish, when it gave one."""

    code = "rate_limited"

    def __init__(self, message: str, *, hint: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class CircuitOpen(Retryable):
    """Raised when a provider has failed so often that it is not asked for `retry_after_s` seconds."""

    code = "circuit_open"

    def __init__(self, message: str, *, hint: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class BudgetSpent(Retryable):
    """Raised when a tenant has used up its tokens of the UTC day; work for it is possible again at `resumes_at`.

    It carries no `retry_after_s`: the budget may be raised at any time, and other tenants need not wait.
    """

    code = "budget_spent"

    def __init__(self, message: str, *, tenant: str, resumes_at: datetime, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.tenant = tenant
        self.resumes_at = resumes_at


class Poison(MagmaError):
    """Raised when an input can never succeed; it goes to the dead-letter topic and the rest goes on."""

    code = "poison"


class MalformedEvent(Poison):
    """Raised when a record is not JSON or does not validate as an event."""

    code = "malformed_event"


class OversizeEvent(Poison):
    """Raised when a record or one of its fields is over its bound in bytes."""

    code = "oversize_event"


class ConflictingEvent(Poison):
    """Raised when an event has the id of a stored event that says something else; the stored one stays."""

    code = "conflicting_event"


class MalformedErasure(Poison):
    """Raised for a record of `memory.erasures` that is no valid order."""

    code = "malformed_erasure"


class UnusableModelOutput(Poison):
    """Raised when a model's answer does not fit its schema after one repair."""

    code = "unusable_model_output"


class Misconfigured(MagmaError):
    """Raised when only a person can help; the process stops with this sentence."""

    code = "misconfigured"


class BadSetting(Misconfigured):
    """Raised for an unknown setting or a value that does not validate."""

    code = "bad_setting"


class EmbeddingMismatch(Misconfigured):
    """Raised when the vector collection was built with another embedding model or dimension."""

    code = "embedding_mismatch"


class StoreRefused(Misconfigured):
    """Raised when a store answers that it will never do this: credentials, missing database, bad statement."""

    code = "store_refused"


class MissingExtra(Misconfigured):
    """Raised when an optional package is needed and not installed."""

    code = "missing_extra"


class UnreadableInput(Misconfigured):
    """Raised when a file given to a command cannot be read or is not in the format it was said to be in."""

    code = "unreadable_input"


class LlmNotConfigured(Misconfigured):
    """Raised when an answer needs a language model and none is configured."""

    code = "llm_not_configured"


class StackProblem(Misconfigured):
    """Raised when the local stack cannot be started or stopped."""

    code = "stack_problem"


class NotFound(MagmaError):
    """Raised when what was asked for does not exist for this tenant."""

    code = "not_found"
