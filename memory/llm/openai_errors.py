"""What the `openai` client's errors mean for us: come again and when, never again, or a person must act."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import openai

from memory.errors import MagmaError, RateLimited, StoreRefused, StoreUnavailable, UnusableModelOutput


class TooLong(UnusableModelOutput):
    """Raised when a request, or its answer, does not fit the model: the same events must come in smaller windows."""


class Unanswered(StoreUnavailable):
    """Raised when the provider does not answer, or answers that it is at fault; the graph that is away is not this."""


def translate(error: openai.OpenAIError, where: str, timeout_s: float) -> MagmaError:
    """Give our error for one of the client's; `where` names the model and its address."""
    if isinstance(error, openai.RateLimitError):
        hint = "the account's quota is used up" if error.code == "insufficient_quota" else ""
        return RateLimited(f"{where} asks for fewer calls", hint=hint, retry_after_s=retry_after_s(error))
    if isinstance(error, openai.APITimeoutError):
        return Unanswered(f"{where} did not answer in {timeout_s:g} s")
    if isinstance(error, openai.APIConnectionError):
        return Unanswered(f"{where} cannot be reached", hint="is openai_base_url right?")
    if isinstance(error, openai.APIResponseValidationError):
        return Unanswered(f"{where} answered what is no chat completion", hint="is openai_base_url right?")
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return StoreRefused(f"{where} refused the key", hint="set openai_api_key")
    if isinstance(error, openai.NotFoundError):
        return StoreRefused(f"{where} is not known there", hint="check openai_base_url and llm_model")
    if isinstance(error, openai.BadRequestError | openai.UnprocessableEntityError):
        return _bad_request(error, where)
    if isinstance(error, openai.APIStatusError) and (error.status_code >= 500 or error.status_code in (408, 409, 425)):
        wait_s = retry_after_s(error)
        if wait_s is not None:
            return RateLimited(f"{where} answered {error.status_code}", retry_after_s=wait_s)
        return Unanswered(f"{where} answered {error.status_code}")
    if isinstance(error, openai.APIStatusError):
        return UnusableModelOutput(f"{where} refused the request with status {error.status_code}")
    return Unanswered(f"{where} failed: {type(error).__name__}")


def _bad_request(error: openai.APIStatusError, where: str) -> MagmaError:
    said = error.message.lower()
    if error.code == "context_length_exceeded" or "context length" in said or "context size" in said:
        return TooLong(f"{where} has no room for the request")
    if "response_format" in said or "json_schema" in said:
        return StoreRefused(
            f"{where} does not take a JSON schema", hint="choose a server or model with structured output"
        )
    return UnusableModelOutput(f"{where} refused the request with status {error.status_code}")


def retry_after_s(error: openai.APIStatusError, *, now: datetime | None = None) -> float | None:
    """Give the seconds that a provider asks to wait: `Retry-After` as seconds or as an HTTP date, or milliseconds.

    None when it does not say, or not legibly; a date that has passed is 0.
    """
    headers = error.response.headers
    milliseconds, value = headers.get("retry-after-ms"), headers.get("retry-after")
    for text, unit in ((milliseconds, 1_000.0), (value, 1.0)):
        try:
            seconds = float(text or "") / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        until = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())
