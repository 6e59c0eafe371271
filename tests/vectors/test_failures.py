"""Milvus' ways to say no: which are worth another try, and which need a person."""

import grpc
import pytest
from pymilvus.exceptions import MilvusException, ParamError

from memory.errors import MagmaError, StoreRefused, StoreUnavailable
from memory.vectors.failures import is_not_loaded, translate


def _rpc_error(status: grpc.StatusCode) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(status, grpc.aio.Metadata(), grpc.aio.Metadata(), "details of it")


@pytest.mark.parametrize(
    ("error", "local", "ours"),
    [
        (TimeoutError(), False, StoreUnavailable),
        (_rpc_error(grpc.StatusCode.UNAVAILABLE), False, StoreUnavailable),
        (_rpc_error(grpc.StatusCode.DEADLINE_EXCEEDED), True, StoreUnavailable),
        (_rpc_error(grpc.StatusCode.INTERNAL), True, StoreUnavailable),
        (_rpc_error(grpc.StatusCode.UNIMPLEMENTED), True, StoreRefused),
        (_rpc_error(grpc.StatusCode.UNAUTHENTICATED), False, StoreRefused),
        (MilvusException(grpc.StatusCode.UNAVAILABLE, "Retry timeout: 5s"), False, StoreUnavailable),
        (MilvusException(2, "Fail connecting to server"), False, StoreUnavailable),
        (MilvusException(8, "request is rejected by limiter"), False, StoreUnavailable),
        (MilvusException(1, "something odd"), True, StoreUnavailable),
        (MilvusException(6, "unknown field"), True, StoreRefused),
        (MilvusException(100, "collection not found"), False, StoreRefused),
        (MilvusException(1100, "invalid parameter"), False, StoreRefused),
        (MilvusException(1, "bad input", is_input_error=True), False, StoreRefused),
        (MilvusException(4242, "new in this version", retriable=True), False, StoreUnavailable),
        (MilvusException(65535, "auth check failure, please check api key is correct"), False, StoreRefused),
        (ParamError(message="k must be positive", is_input_error=True), False, StoreRefused),
    ],
)
def test_an_error_of_the_store_is_translated(error: Exception, local: bool, ours: type[MagmaError]) -> None:
    found = translate(error, doing="search", uri="http://milvus:19530", local=local)
    assert type(found) is ours
    assert "http://milvus:19530" in str(found)


def test_a_bug_of_ours_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        translate(KeyError("session"), doing="search", uri="u", local=False)


def test_a_collection_that_is_not_loaded_is_told_apart() -> None:
    assert is_not_loaded(MilvusException(101, "collection not loaded"))
    assert not is_not_loaded(MilvusException(100, "collection not found"))
    assert not is_not_loaded(ValueError())
