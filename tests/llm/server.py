"""A server on loopback that speaks OpenAI's chat completions: each request gets the next answer of a script."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """One answer: `content`, or what `read` makes of the request; a bare HTTP status; or any other `document`."""

    content: str | None = None
    finish_reason: str = "stop"
    refusal: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: threading.Event | None = None
    document: Any = None
    read: Callable[[dict[str, Any]], str] | None = None

    def body(self, request: dict[str, Any]) -> Any:
        if self.document is not None:
            return self.document
        if self.status != 200:
            return {"error": {"message": "no", "type": "test"}}
        content = self.read(request) if self.read else self.content
        message = {"role": "assistant", "content": content, "refusal": self.refusal}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "test",
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }


@dataclass
class Script:
    """What the server answers, in order (the last for ever), and what it was asked."""

    replies: list[Reply]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


@contextmanager
def serving(*replies: Reply) -> Iterator[Script]:
    """Serve on a free port of 127.0.0.1 until left."""
    script = Script(list(replies))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            request = {"path": self.path, **json.loads(self.rfile.read(size))}
            script.requests.append(request)
            script.keys.append(self.headers.get("authorization", ""))
            reply = script.replies[min(len(script.requests), len(script.replies)) - 1]
            if reply.delay is not None:
                reply.delay.wait(10)
            body = json.dumps(reply.body(request)).encode()
            try:
                self.send_response(reply.status)
                for name, value in {"content-type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except BrokenPipeError:
                pass  # the client has given up waiting, as some tests want it to

        def log_message(self, *args: object) -> None:
            """Say nothing: requests are recorded."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield script
    finally:
        for reply in script.replies:
            if reply.delay is not None:
                reply.delay.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
