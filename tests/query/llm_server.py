"""A loopback HTTP server that speaks the chat completions API, streaming or not, and remembers what it was asked."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class FakeModel:
    """`answer`: what it says, piece by piece; `status`: what it answers instead when not 200."""

    pieces: list[str]
    status: int = 200
    asked: list[dict[str, Any]] = field(default_factory=list)
    base_url: str = ""


@contextmanager
def chat_server(*pieces: str, status: int = 200) -> Iterator[FakeModel]:
    model = FakeModel(list(pieces), status)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            model.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            if model.status != 200:
                self._send(model.status, "application/json", b'{"error": {"message": "no", "type": "t"}}')
                return
            chunks: list[dict[str, Any]] = [
                {"delta": {"role": "assistant", "content": piece}} for piece in model.pieces
            ]
            chunks.append({"delta": {}, "finish_reason": "stop"})
            lines = [
                {
                    "id": "1",
                    "object": "chat.completion.chunk",
                    "created": 1,
                    "model": "m",
                    "choices": [{"index": 0, **c}],
                }
                for c in chunks
            ]
            body = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
            self._send(200, "text/event-stream", body.encode())

        def _send(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Retry-After", "7")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    model.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
