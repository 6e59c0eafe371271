"""A chat model on loopback that takes its time and gives a fixed reading: what consolidation costs without thinking.

It answers the extraction prompt (`memory.llm`) by the text of the log alone: capitalised words are names, and an event
was caused by the one before it in its session when a checksum of both says so. So the same log gives the same edges in
whatever windows it is read, and runs can be compared edge by edge.
"""

import asyncio
import re
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from deploy.local.ports import free_port

_LINE = re.compile(r'^\[(e\d+)\] (NEW )?\S+ \S+ "(?:[^"\\]|\\.)*" ("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_NAME = re.compile(r"\b[A-Z][a-z]{3,}\b")
_NAMES = 4
#: One pair of neighbours in so many is cause and effect.
_CAUSED = 3


@dataclass
class LoopbackModel:
    """The server's address and what it was asked."""

    url: str
    delay_s: float
    calls: int = 0
    events: list[int] = field(default_factory=list)


@asynccontextmanager
async def loopback_model(delay_s: float) -> AsyncIterator[LoopbackModel]:
    """Serve on a free port of 127.0.0.1 while held; each call takes `delay_s` seconds, any number at a time."""
    port = free_port()
    model = LoopbackModel(f"http://127.0.0.1:{port}/v1", delay_s)

    async def complete(request: web.Request) -> web.Response:
        asked = orjson.loads(await request.read())
        await asyncio.sleep(delay_s)
        user = next(message["content"] for message in asked["messages"] if message["role"] == "user")
        reading = read(user)
        model.calls += 1
        model.events.append(len(reading["events"]))
        content = orjson.dumps(reading).decode()
        return web.Response(body=orjson.dumps(_completion(content)), content_type="application/json")

    app = web.Application(client_max_size=16 * 1024 * 1024)
    app.add_routes([web.post("/v1/chat/completions", complete)])
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield model
    finally:
        await runner.cleanup()


def read(log: str) -> dict[str, Any]:
    """Give the reading of a prompt's log."""
    lines = [(ident, new, str(orjson.loads(quoted))) for ident, new, quoted in _LINE.findall(log)]
    events, links = [], []
    before: tuple[str, str] | None = None
    for ident, new, text in lines:
        if new:
            names = list(dict.fromkeys(_NAME.findall(text)))[:_NAMES]
            events.append(
                {
                    "id": ident,
                    "entities": [{"name": name, "type": "other"} for name in names],
                    "topic": " ".join(names[:2]),
                    "relationships": [],
                    "semantic_facts": [],
                    "dates_mentioned": [],
                    "summary": text[:80],
                }
            )
            if before is not None and zlib.crc32(f"{before[1][:60]}\n{text[:60]}".encode()) % _CAUSED == 0:
                links.append(
                    {"cause": before[0], "effect": ident, "kind": "leads_to", "confidence": 0.9, "rationale": "next"}
                )
        before = (ident, text)
    return {"events": events, "causal_links": links}


def _completion(content: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "loopback",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": None},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }
