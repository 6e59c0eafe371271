"""Errors as the HTTP face tells them: `application/problem+json` (RFC 9457) with a stable `code`."""

import logging
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from memory.errors import (
    LlmNotConfigured,
    MagmaError,
    Misconfigured,
    NotFound,
    Poison,
    RateLimited,
    Retryable,
    UnusableModelOutput,
)

MEDIA_TYPE = "application/problem+json"
#: Seconds a caller is asked to wait when nobody said how long.
RETRY_AFTER_S = 2

_log = logging.getLogger(__name__)
_HTTP_CODES = {400: "malformed_body"}  # raised for a body that is JSON by name and cannot be read: too deep, too large
#: Longest message and field name that a problem repeats, in characters.
_MESSAGE_CHARS = 600
_FIELD_CHARS = 100


class Problem(BaseModel):
    """A problem document. `code` is what programs hold on to; `hint` says what to do; `errors` names bad fields."""

    type: str = Field(description="urn:magma:problem:<code>")
    title: str
    status: int
    code: str
    detail: str = ""
    hint: str = ""
    errors: list[dict[str, str]] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)


class Refused(Exception):
    """Raised by the HTTP face itself: a request that is answered with a problem of its own, and headers beside it."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        missing: tuple[str, ...] = (),
        errors: tuple[tuple[str, str], ...] = (),
        headers: Mapping[str, str] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(detail)
        fields = [{"field": field, "message": message} for field, message in errors]
        self.problem = problem(status, code, detail, missing=list(missing), errors=fields)
        self.headers = dict(headers or {})
        self.retry_after_s = retry_after_s


#: For the OpenAPI document: what any path may answer instead.
PROBLEM_RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {"description": "A problem", "content": {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}}
}


def problem(status: int, code: str, detail: str, **given: Any) -> Problem:
    """Make a problem document; what it repeats of a request is bounded and has no control characters."""
    title, told = code.replace("_", " "), plain(detail, _MESSAGE_CHARS)
    return Problem(type=f"urn:magma:problem:{code}", title=title, status=status, code=code, detail=told, **given)


def plain(text: str, most: int) -> str:
    """Give the text on one line, what does not print (half surrogates too) as `?`, cut at `most` characters."""
    line = " ".join(text[:most].split())
    return "".join(char if char.isprintable() else "?" for char in line)


def problem_of(error: MagmaError) -> Problem:
    """Make the problem document of one of our errors."""
    status = 500
    if isinstance(error, NotFound):
        status = 404
    elif isinstance(error, Retryable):
        status = 503
    elif isinstance(error, UnusableModelOutput):
        status = 502
    elif isinstance(error, Poison):
        status = 422
    elif isinstance(error, LlmNotConfigured):
        status = 501
    return problem(status, error.code, error.message, hint=error.hint)


def respond(found: Problem, retry_after_s: float | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with a problem; a 429 or 503 always says when to try again."""
    sent = {"Cache-Control": "no-store", **(headers or {})}
    if found.status in (429, 503):
        sent["Retry-After"] = str(math.ceil(retry_after_s or RETRY_AFTER_S))
    body = orjson.dumps(found.model_dump(exclude_defaults=False))
    return Response(body, status_code=found.status, media_type=MEDIA_TYPE, headers=sent)


def install(app: FastAPI) -> None:
    """Let every error of the app leave it as a problem document."""

    @app.exception_handler(MagmaError)
    async def _ours(_: Request, error: MagmaError) -> Response:
        if isinstance(error, Misconfigured) and not isinstance(error, LlmNotConfigured):
            _log.error("the service is misconfigured: %s", error)
        return respond(problem_of(error), error.retry_after_s if isinstance(error, RateLimited) else None)

    @app.exception_handler(Refused)
    async def _refused(_: Request, error: Refused) -> Response:
        return respond(error.problem, error.retry_after_s, error.headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        # what was sent is not repeated: it may be private, and it may be long
        errors = [
            {
                "field": plain(".".join(str(part) for part in item["loc"][1:]), _FIELD_CHARS) or "body",
                "message": plain(str(item["msg"]), _MESSAGE_CHARS),
            }
            for item in error.errors()[:10]
        ]
        detail = "; ".join(f"{item['field']}: {item['message']}" for item in errors)
        return respond(problem(422, "invalid_request", detail, errors=errors))

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> Response:
        code = _HTTP_CODES.get(error.status_code) or HTTPStatus(error.status_code).name.lower()
        return respond(problem(error.status_code, code, str(error.detail)), headers=error.headers)

    @app.exception_handler(Exception)
    async def _unexpected(_: Request, __: Exception) -> Response:
        # the server logs it with its traceback; the caller learns nothing of the inside
        return respond(problem(500, "internal_error", "an unexpected error; the log of the service has it"))
