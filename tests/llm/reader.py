"""A server on loopback that reads: it answers each request by its schema, and counts."""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

_LINE = re.compile(r'^\[(e\d+)\] (?:NEW )?\S+ [a-z_]+ "(?:[^"\\]|\\.)*" ("(?:[^"\\]|\\.)*")$', re.MULTILINE)


def shown(request: dict[str, Any]) -> dict[str, str]:
    """Give the text of each event that a request shows, by its short id."""
    return {ident: json.loads(text) for ident, text in _LINE.findall(request["messages"][1]["content"])}


def new_in(request: dict[str, Any]) -> list[str]:
    """Give the short ids of a request's new events."""
    return list(request["response_format"]["json_schema"]["schema"]["properties"]["events"]["required"])


def reading(request: dict[str, Any], link: Callable[[str, str], bool] | None = None) -> str:
    """Answer a request: the first capitalised word of each event, and links between neighbours where `link` says so."""
    texts, new = shown(request), new_in(request)
    idents = list(texts)
    events = {
        ident: {
            "entities": [{"name": name, "type": "other"} for name in re.findall(r"[A-Z][a-z]{3,}", texts[ident])[:1]],
            "topic": "t",
            "relationships": [],
            "semantic_facts": [],
            "dates_mentioned": [],
            "summary": texts[ident][:40],
        }
        for ident in new
    }
    links = [
        {"cause": cause, "effect": effect, "kind": "leads_to", "confidence": 0.9, "rationale": "so it says"}
        for cause, effect in pairwise(idents)
        if link and effect in new and link(texts[cause], texts[effect])
    ]
    return json.dumps({"events": events, "causal_links": links})
