"""What a request may say beside its fields: no unknown or repeated parameter, and a body that is JSON by name."""

from collections.abc import Iterator
from typing import Any

from fastapi import Request

from memory.settings import Settings
from query_api.models import QueryRequest
from query_api.problems import Refused, plain

_NAME_CHARS = 100


def known_parameters(request: Request) -> None:
    """Refuse a query parameter that the route does not have, or that stands twice: it would be dropped in silence."""
    given = [name for name, _ in request.query_params.multi_items()]
    if not given:
        return
    route = request.scope.get("route")
    known = set(_names(getattr(route, "dependant", None)))
    for name in given:
        shown = plain(name, _NAME_CHARS)
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise Refused(
                422,
                "unknown_parameter",
                f"there is no parameter {shown} here; there are: {there}",
                errors=((shown, "unknown"),),
            )
        if given.count(name) > 1:
            raise Refused(
                422, "repeated_parameter", f"the parameter {shown} stands twice", errors=((shown, "repeated"),)
            )


def json_only(request: Request) -> None:
    """Refuse a body of another type, or one that is packed: nothing is unpacked here."""
    if request.method not in ("POST", "PUT", "PATCH"):
        return
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(
            415, "unsupported_media_type", "send the body as application/json", headers={"Accept": "application/json"}
        )
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refused(415, "unsupported_media_type", "send the body as it is, without content-encoding")


def check_bounds(settings: Settings, request: QueryRequest) -> None:
    """Refuse a question over this service's own bounds, which are within those of the contract."""
    checks = (
        ("question", len(request.question.encode()), settings.question_max_bytes, "bytes"),
        ("budget_tokens", request.budget_tokens or 0, settings.budget_max_tokens, "tokens"),
        ("top_k", request.top_k or 0, settings.top_k_max, "events"),
    )
    wrong = tuple((field, f"at most {most:,} {unit} here") for field, value, most, unit in checks if value > most)
    if wrong:
        detail = "; ".join(f"{field}: {message}" for field, message in wrong)
        raise Refused(422, "invalid_request", detail, errors=wrong)


def _names(dependant: Any) -> Iterator[str]:
    """Walk a route's parameters and those of what it depends on."""
    if dependant is None:
        return
    yield from (field.alias for field in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _names(inner)
