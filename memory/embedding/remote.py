"""Embeddings from an endpoint that speaks OpenAI's API."""

from collections.abc import Iterator, Sequence

import numpy as np
import openai
from openai import AsyncOpenAI

from memory.embedding.catalogue import OPENAI_MODELS
from memory.embedding.encoder import Matrix, check_texts, unit
from memory.errors import (
    BadSetting,
    EmbeddingMismatch,
    MagmaError,
    MalformedEvent,
    RateLimited,
    StoreRefused,
    StoreUnavailable,
)
from memory.settings import Settings
from memory.text import clip_tokens, count_many

#: Bounds on one request, below those of OpenAI (2,048 texts, 300,000 tokens).
_TEXTS_A_REQUEST = 256
_TOKENS_A_REQUEST = 100_000
#: What a model of OpenAI reads of one text; counted with a tokenizer that finds more tokens than theirs.
_TOKENS_A_TEXT = 8_000
#: What is sent to tell a refused text from a refused request.
_PROBE = "ok"


class OpenAIEncoder:
    """An OpenAI-compatible `/embeddings` endpoint. Belongs to the event loop that it is first used on."""

    def __init__(self, settings: Settings) -> None:
        model = settings.embedding_openai_model
        known = {card.name: card.dim for card in OPENAI_MODELS}
        dim = settings.embedding_dim or known.get(model)
        if dim is None:
            raise BadSetting(f"the dimension of the embedding model {model!r} is not known", hint="set embedding_dim")
        self.name = f"openai:{model}"
        self.dim = dim
        self._model = model
        # only a model that can be shortened is asked to be
        self._shortened = known.get(model) not in (None, dim)
        self._where = settings.openai_base_url or "OpenAI"
        self._timeout_s = settings.llm_timeout_s
        self._client = AsyncOpenAI(
            api_key=settings.openai_api_key.get_secret_value() or "none",
            base_url=settings.openai_base_url,
            timeout=settings.llm_timeout_s,
            max_retries=0,  # whoever drives us retries, with its own patience
        )

    async def encode(self, texts: Sequence[str]) -> Matrix:
        """See `Encoder.encode`; reads the first 8,000 tokens of a text."""
        check_texts(texts)
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        rows = [await self._request(batch) for batch in _batches(texts)]
        return unit(np.concatenate(rows))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _request(self, texts: list[str]) -> Matrix:
        try:
            return await self._embed(texts)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            raise await self._refusal(error) from error
        except openai.OpenAIError as error:
            raise self._translate(error) from error

    async def _refusal(self, error: openai.APIStatusError) -> MagmaError:
        """Tell whose fault a refusal is: if another text is taken, it was the text."""
        try:
            await self._embed([_PROBE])
        except (openai.BadRequestError, openai.UnprocessableEntityError):
            return StoreRefused(
                f"the embedding endpoint at {self._where} refused the request: {_detail(error)}",
                hint="check embedding_openai_model and embedding_dim",
            )
        except openai.OpenAIError as other:
            return self._translate(other)
        return MalformedEvent(f"the embedding endpoint at {self._where} refused a text: {_detail(error)}")

    async def _embed(self, texts: list[str]) -> Matrix:
        answer = await self._client.embeddings.create(
            model=self._model,
            input=texts,
            dimensions=self.dim if self._shortened else openai.omit,
            encoding_format="float",
        )
        rows = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
        if len(rows) != len(texts):
            raise StoreUnavailable(f"the embedding endpoint at {self._where} gave {len(rows)} vectors for {len(texts)}")
        lengths = {len(row) for row in rows}
        if lengths != {self.dim}:
            raise EmbeddingMismatch(
                f"the model {self._model} at {self._where} gave vectors of {sorted(lengths)} dimensions,"
                f" not {self.dim}",
                hint="set embedding_dim to what the model gives",
            )
        return np.asarray(rows, dtype=np.float32)

    def _translate(self, error: openai.OpenAIError) -> MagmaError:
        where = f"the embedding endpoint at {self._where}"
        if isinstance(error, openai.RateLimitError):
            return RateLimited(f"{where} asks for fewer calls", retry_after_s=_retry_after_s(error))
        if isinstance(error, openai.APITimeoutError):
            return StoreUnavailable(f"{where} did not answer in {self._timeout_s:g} s")
        if isinstance(error, openai.APIConnectionError):
            return StoreUnavailable(f"{where} cannot be reached", hint="is openai_base_url right?")
        if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            return StoreRefused(f"{where} refused the key", hint="set openai_api_key")
        if isinstance(error, openai.NotFoundError):
            return StoreRefused(
                f"{where} does not know the model {self._model}",
                hint="check openai_base_url and embedding_openai_model",
            )
        return StoreUnavailable(f"{where} failed: {_detail(error)}")


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text, tokens in zip(texts, count_many(texts), strict=True):
        if batch and (len(batch) == _TEXTS_A_REQUEST or size + tokens > _TOKENS_A_REQUEST):
            yield batch
            batch, size = [], 0
        batch.append(text if tokens <= _TOKENS_A_TEXT else clip_tokens(text, _TOKENS_A_TEXT))
        size += min(tokens, _TOKENS_A_TEXT)
    if batch:
        yield batch


def _retry_after_s(error: openai.RateLimitError) -> float | None:
    try:
        return float(error.response.headers["retry-after"])
    except (KeyError, ValueError):
        return None


def _detail(error: openai.OpenAIError) -> str:
    return " ".join(str(error).split())[:200]
