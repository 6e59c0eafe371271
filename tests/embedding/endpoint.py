"""An HTTP server on loopback that speaks OpenAI's `/embeddings`, and can be told to misbehave."""

import hashlib
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MODEL_DIM = 16


@dataclass
class Behaviour:
    """What the endpoint does. `refused`: a text that is answered with 400; `delay_s`: seconds before each answer."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    delay_s: float = 0.0
    dim: int = MODEL_DIM
    lost: int = 0


class Endpoint:
    """The server; `requests` are the bodies it was sent, `keys` the authorisations."""

    def __init__(self) -> None:
        self.behaviour = Behaviour()
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Give status and body for a request."""
        behaviour = self.behaviour
        self.requests.append(body)
        time.sleep(behaviour.delay_s)
        if behaviour.refused and behaviour.refused in body["input"]:
            return 400, {"error": {"message": "input is not acceptable", "type": "invalid_request_error"}}
        if behaviour.status != 200:
            return behaviour.status, {"error": {"message": "as told", "type": "error"}}
        dim = body.get("dimensions", behaviour.dim)
        rows = [
            {"object": "embedding", "index": index, "embedding": numbers(text, dim)}
            for index, text in enumerate(body["input"])
        ]
        # nothing promises an order, so it gives none
        rows = rows[::-1][behaviour.lost :]
        return 200, {
            "object": "list",
            "data": rows,
            "model": body["model"],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                endpoint.keys.append(self.headers["Authorization"])
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = endpoint.answer(body) if self.path == "/v1/embeddings" else (404, {})
                payload = json.dumps(answer).encode()
                self.send_response(status)
                for name, value in endpoint.behaviour.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


def numbers(text: str, dim: int) -> list[float]:
    """Give numbers that belong to a text."""
    digest = hashlib.blake2b(text.encode(), digest_size=64).digest()
    return [(digest[index % 64] + 1 + index) / 256 for index in range(dim)]
