"""What an error of the graph server means for the transaction that got it: pure, one table.

The driver's own classes do not fit: a lost race for a unique key comes as a ClientError on both servers and must be run
again, while a transaction timeout comes as a TransientError and must not be repeated at the same size.
"""

from enum import StrEnum

from neo4j.exceptions import AuthError, ClientError, DriverError, Neo4jError, ServiceUnavailable, SessionExpired


class Verdict(StrEnum):
    """What to do with the whole transaction."""

    RETRY = "retry"  # a concurrent transaction won, or the server is busy for a moment
    HALVE = "halve"  # took too long as a whole: the same work in smaller pieces
    UNAVAILABLE = "unavailable"  # no answer; whether a commit happened is unknown, so only idempotent work repeats
    REFUSED = "refused"  # a person must change something
    POISON = "poison"  # these values will never be accepted


_RETRY_MESSAGES = (
    "cannot resolve conflicting transactions",
    "serialization error",  # Memgraph on disk: a ClientError
    "unique constraint violation",  # Memgraph: the other writer's node is there now, MERGE will match it
    "access to the storage",  # Memgraph: DDL or a snapshot holds the storage
)
#: ClientErrors that blame no value: a concurrent writer was first, or the server has let the transaction go.
_RETRY_CODES = ("Neo.ClientError.Schema.ConstraintValidationFailed", "Neo.ClientError.Transaction.TransactionNotFound")
#: What the local server says of a fault of its own that it keeps to itself: nothing about the values.
_UNTOLD = "the request failed. check the server log"
_TIMEOUT_MESSAGES = ("transaction timeout", "transaction has timed out")
_TIMEOUT_CODES = ("TransactionTimedOut",)
_REFUSED_CODES = (".Security.", ".Database.", "SyntaxError", "ParameterMissing", "ProcedureNotFound")
_REFUSED_MESSAGES = (
    "mismatched input",
    "no viable alternative",
    "extraneous input",
    "authentication failure",
    "unbound",
)
_DATABASE_GONE = ("DatabaseUnavailable", "General.DatabaseUnavailable")


def classify(error: BaseException) -> Verdict:
    """Give the verdict on an error that the driver raised."""
    if isinstance(error, AuthError):
        return Verdict.REFUSED
    if isinstance(error, ServiceUnavailable | SessionExpired | TimeoutError | OSError):
        return Verdict.UNAVAILABLE
    if isinstance(error, UnicodeError | OverflowError):
        return Verdict.POISON  # raised by the driver while it packs a value: nothing was sent
    if isinstance(error, Neo4jError):
        return _of_server(error)
    if isinstance(error, DriverError):
        return Verdict.UNAVAILABLE  # a broken connection in the middle of a transaction
    return Verdict.REFUSED


def _of_server(error: Neo4jError) -> Verdict:
    code = error.code or ""
    message = (error.message or "").lower()
    if any(part in message for part in _TIMEOUT_MESSAGES) or any(part in code for part in _TIMEOUT_CODES):
        return Verdict.HALVE
    if code in _RETRY_CODES or any(part in message for part in _RETRY_MESSAGES):
        return Verdict.RETRY
    if any(part in code for part in _DATABASE_GONE):
        return Verdict.UNAVAILABLE
    if not isinstance(error, ClientError):
        # TransientError: the server itself says it may work later. DatabaseError: its own fault, not the values'.
        return Verdict.RETRY if error.is_retryable() else Verdict.UNAVAILABLE
    if any(part in code for part in _REFUSED_CODES) or any(part in message for part in _REFUSED_MESSAGES):
        return Verdict.REFUSED
    return Verdict.RETRY if _UNTOLD in message else Verdict.POISON
