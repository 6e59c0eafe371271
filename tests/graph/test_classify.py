"""What the errors of both servers mean, hydrated as the driver does."""

import pytest
from neo4j.exceptions import AuthError, Neo4jError, ServiceUnavailable, SessionExpired

from memory.graph.classify import Verdict, classify

_MEMGRAPH_CLIENT = "Memgraph.ClientError.MemgraphError.MemgraphError"
_MEMGRAPH_TRANSIENT = "Memgraph.TransientError.MemgraphError.MemgraphError"


def hydrated(code: str, message: str) -> Neo4jError:
    error = Neo4jError._hydrate_neo4j(code=code, message=message)
    assert isinstance(error, Neo4jError)
    return error


@pytest.mark.parametrize(
    ("code", "message", "verdict"),
    [
        (_MEMGRAPH_TRANSIENT, "Cannot resolve conflicting transactions. Retry this transaction", Verdict.RETRY),
        (_MEMGRAPH_CLIENT, "Cannot resolve conflicting transactions.", Verdict.RETRY),
        (_MEMGRAPH_CLIENT, "Unable to commit due to serialization error.", Verdict.RETRY),
        (_MEMGRAPH_CLIENT, "Unable to commit due to unique constraint violation on :Event(uid).", Verdict.RETRY),
        (_MEMGRAPH_TRANSIENT, "Cannot get shared access to the storage. Try again later.", Verdict.RETRY),
        (_MEMGRAPH_TRANSIENT, "Transaction was asked to abort because of transaction timeout.", Verdict.HALVE),
        (_MEMGRAPH_CLIENT, "Error on line 1 position 1: mismatched input 'X'", Verdict.REFUSED),
        (_MEMGRAPH_CLIENT, "Can't have null literal properties inside merge", Verdict.POISON),
        ("Neo.TransientError.Transaction.DeadlockDetected", "conflict", Verdict.RETRY),
        ("Neo.ClientError.Schema.ConstraintValidationFailed", "duplicated key", Verdict.RETRY),
        ("Neo.ClientError.Transaction.TransactionNotFound", "no such transaction", Verdict.RETRY),
        (_MEMGRAPH_CLIENT, "The request failed. Check the server log for the details", Verdict.RETRY),
        ("Neo.ClientError.Statement.SyntaxError", "what?", Verdict.REFUSED),
        ("Neo.ClientError.Database.DatabaseNotFound", "no such database", Verdict.REFUSED),
        ("Neo.ClientError.Statement.SyntaxError", "The request failed. Check the server log", Verdict.REFUSED),
        ("Neo.ClientError.Security.Unauthorized", "no", Verdict.REFUSED),
        ("Neo.ClientError.Statement.TypeError", "a map is not a property", Verdict.POISON),
        ("Neo.DatabaseError.General.UnknownError", "server fault", Verdict.UNAVAILABLE),
    ],
)
def test_an_error_of_the_server_has_one_meaning(code: str, message: str, verdict: Verdict) -> None:
    assert classify(hydrated(code, message)) is verdict


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ServiceUnavailable("gone"), Verdict.UNAVAILABLE),  # type: ignore[no-untyped-call]
        (SessionExpired("gone"), Verdict.UNAVAILABLE),  # type: ignore[no-untyped-call]
        (TimeoutError(), Verdict.UNAVAILABLE),
        (ConnectionResetError(), Verdict.UNAVAILABLE),
        (AuthError("no"), Verdict.REFUSED),
        (OverflowError("beyond 64 bits"), Verdict.POISON),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogate"), Verdict.POISON),
    ],
)
def test_an_error_of_the_driver_has_one_meaning(error: Exception, verdict: Verdict) -> None:
    assert classify(error) is verdict
