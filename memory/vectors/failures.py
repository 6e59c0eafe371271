"""Milvus' many ways to say no -> our errors."""

import grpc
from pymilvus.exceptions import MilvusException

from memory.errors import MagmaError, StoreRefused, StoreUnavailable

#: Codes of Milvus 2.6 and of Milvus Lite after which the same call may succeed: not ready, out of memory, too many
#: requests, rate limit, disk limit, recovering, channel or segment or node missing for now.
_RETRYABLE_CODES = frozenset((1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 103, 106, 200, 201, 500, 503, 600, 601, 901, 999))
#: Milvus Lite says 6 for whatever is invalid.
_LOCAL_INVALID = 6
#: The collection is there and not loaded: so the local server starts.
NOT_LOADED = 101

_REFUSED_STATUS = frozenset(
    (
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.OUT_OF_RANGE,
    )
)
_AUTHENTICATION_WORDS = ("auth", "token", "password", "privilege")


def is_not_loaded(error: Exception) -> bool:
    """Tell whether the collection has to be loaded first."""
    return isinstance(error, MilvusException) and error.code == NOT_LOADED


def translate(error: Exception, *, doing: str, uri: str, local: bool) -> MagmaError:
    """Give our error for one of pymilvus or gRPC. `doing`: what was tried, as in "search"."""
    where = f"Milvus at {uri}"
    if isinstance(error, TimeoutError):
        return StoreUnavailable(f"{where} did not answer a {doing} in time")
    if isinstance(error, MilvusException):
        status, message = error.code, str(error.message)
    elif isinstance(error, grpc.RpcError):
        status, message = _status_of(error)
    else:
        raise error
    detail = " ".join(message.split())[:300] or type(error).__name__
    if isinstance(status, grpc.StatusCode):
        refused = status in _REFUSED_STATUS
    elif any(word in detail.lower() for word in _AUTHENTICATION_WORDS) and "timeout" not in detail.lower():
        return StoreRefused(f"{where} refused the credentials: {detail}", hint="set milvus_token")
    else:
        refused = not _may_succeed_later(error, int(status), local)
    if refused:
        return StoreRefused(f"{where} refused a {doing}: {detail}")
    return StoreUnavailable(
        f"{where} is not available for a {doing}: {detail}", hint="is it running and is milvus_uri right?"
    )


def _may_succeed_later(error: Exception, code: int, local: bool) -> bool:
    if getattr(error, "is_input_error", False):
        return False
    if local and code == _LOCAL_INVALID:
        return False
    return bool(getattr(error, "retriable", False)) or code in _RETRYABLE_CODES


def _status_of(error: grpc.RpcError) -> tuple[grpc.StatusCode, str]:
    code = getattr(error, "code", None)
    details = getattr(error, "details", None)
    return (code() if callable(code) else grpc.StatusCode.UNKNOWN), str(details() if callable(details) else error)
