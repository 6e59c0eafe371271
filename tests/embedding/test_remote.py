"""Embeddings over HTTP, against a server on loopback that speaks the API."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import numpy as np
import pytest

from memory.embedding import Encoder, make_encoder
from memory.errors import (
    BadSetting,
    EmbeddingMismatch,
    MagmaError,
    MalformedEvent,
    RateLimited,
    StoreRefused,
    StoreUnavailable,
)
from memory.settings import EmbeddingModel, Settings, load_settings
from memory.text import count_tokens
from tests.embedding.endpoint import MODEL_DIM, Behaviour, Endpoint, numbers


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """Run the endpoint."""
    with Endpoint() as running:
        yield running


def _settings(endpoint: Endpoint, **changes: Any) -> Settings:
    given = {
        "embedding_model": EmbeddingModel.OPENAI,
        "embedding_openai_model": "some-model",
        "embedding_dim": MODEL_DIM,
        "openai_base_url": endpoint.url,
        "openai_api_key": "sk-test",
        "llm_timeout_s": 5.0,
        **changes,
    }
    return load_settings(**given)


@pytest.fixture
async def encoder(endpoint: Endpoint) -> AsyncIterator[Encoder]:
    """Make an encoder for the endpoint."""
    made = make_encoder(_settings(endpoint))
    yield made
    await made.close()


async def test_each_text_gets_its_own_vector_of_unit_length_whatever_order_they_come_in(
    encoder: Encoder, endpoint: Endpoint
) -> None:
    rows = await encoder.encode(["one", "two", "three"])
    assert (encoder.name, encoder.dim) == ("openai:some-model", MODEL_DIM)
    assert rows.dtype == np.float32
    for text, row in zip(("one", "two", "three"), rows, strict=True):
        expected = np.array(numbers(text, MODEL_DIM))
        np.testing.assert_allclose(row, expected / np.linalg.norm(expected), atol=1e-6)
    assert endpoint.keys == ["Bearer sk-test"]
    assert "dimensions" not in endpoint.requests[0]


async def test_many_texts_go_in_bounded_requests(encoder: Encoder, endpoint: Endpoint) -> None:
    rows = await encoder.encode([f"text {n}" for n in range(600)])
    assert rows.shape == (600, MODEL_DIM)
    assert [len(request["input"]) for request in endpoint.requests] == [256, 256, 88]
    assert (await encoder.encode([])).shape == (0, MODEL_DIM)


async def test_a_text_longer_than_the_model_reads_is_cut(encoder: Encoder, endpoint: Endpoint) -> None:
    await encoder.encode(["word " * 12_000])
    sent = endpoint.requests[0]["input"][0]
    assert 7_000 < count_tokens(sent) <= 8_000


@pytest.mark.parametrize("text", ["", "  \n"])
async def test_nothing_is_never_embedded(encoder: Encoder, endpoint: Endpoint, text: str) -> None:
    with pytest.raises(MalformedEvent, match="text 1 of 2 is empty"):
        await encoder.encode(["fine", text])
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (Behaviour(status=401), StoreRefused),
        (Behaviour(status=403), StoreRefused),
        (Behaviour(status=404), StoreRefused),
        (Behaviour(status=400), StoreRefused),
        (Behaviour(status=422), StoreRefused),
        (Behaviour(status=500), StoreUnavailable),
        (Behaviour(status=503), StoreUnavailable),
        (Behaviour(lost=1), StoreUnavailable),
        (Behaviour(refused="two"), MalformedEvent),
        (Behaviour(dim=MODEL_DIM + 1), EmbeddingMismatch),
    ],
)
async def test_what_the_endpoint_says_becomes_our_error(
    encoder: Encoder, endpoint: Endpoint, behaviour: Behaviour, error: type[MagmaError]
) -> None:
    endpoint.behaviour = behaviour
    with pytest.raises(MagmaError) as raised:
        await encoder.encode(["one", "two"])
    assert type(raised.value) is error
    assert endpoint.url in str(raised.value)


async def test_a_rate_limit_says_for_how_long(encoder: Encoder, endpoint: Endpoint) -> None:
    endpoint.behaviour = Behaviour(status=429, headers={"Retry-After": "7"})
    with pytest.raises(RateLimited) as raised:
        await encoder.encode(["one"])
    assert raised.value.retry_after_s == 7.0
    assert len(endpoint.requests) == 1


async def test_a_slow_endpoint_and_an_absent_one_are_unavailable(endpoint: Endpoint) -> None:
    endpoint.behaviour = Behaviour(delay_s=1.0)
    for changes in ({"llm_timeout_s": 0.2}, {"openai_base_url": "http://127.0.0.1:1/v1"}):
        encoder = make_encoder(_settings(endpoint, **changes))
        with pytest.raises(StoreUnavailable):
            await encoder.encode(["one"])
        await encoder.close()


async def test_a_known_model_is_asked_for_fewer_dimensions_only_when_they_differ(endpoint: Endpoint) -> None:
    encoder = make_encoder(_settings(endpoint, embedding_openai_model="text-embedding-3-small", embedding_dim=64))
    assert (await encoder.encode(["one"])).shape == (1, 64)
    await encoder.close()
    assert endpoint.requests[0]["dimensions"] == 64
    known = make_encoder(_settings(endpoint, embedding_openai_model="text-embedding-3-large", embedding_dim=None))
    assert known.dim == 3_072
    await known.close()


def test_an_unknown_model_needs_its_dimension(endpoint: Endpoint) -> None:
    with pytest.raises(BadSetting, match="embedding_dim"):
        make_encoder(_settings(endpoint, embedding_dim=None))
