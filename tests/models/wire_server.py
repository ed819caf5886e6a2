"""A real HTTP server that gives written answers, cut into pieces of any size."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One answer of the server.

    Attributes:
        body: what is sent after the headers.
        status: the HTTP status.
        headers: HTTP headers beside those of the body's length.
        piece: send the body in HTTP chunks of so many bytes; 0 sends it whole, with its length.
        drop: break the connection off after the body, as if it had not ended.
        wait: seconds of silence before the answer.
    """

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    piece: int = 0
    drop: bool = False
    wait: float = 0.0


def whole(value: Any, status: int = 200, **headers: str) -> Answer:
    """A JSON answer."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(json.dumps(value).encode(), status, {"Content-Type": "application/json"} | named)


def stream(
    chunks: list[Any], *, piece: int = 1, done: bool = True, drop: bool = False, end: str = "\n"
) -> Answer:
    """A stream of server-sent events; a chunk that is text is sent as a line of its own."""
    lines = [chunk if isinstance(chunk, str) else f"data: {json.dumps(chunk)}" for chunk in chunks]
    lines += ["data: [DONE]"] if done else []
    body = "".join(f"{line}{end}{end}" for line in lines).encode()
    return Answer(body, 200, {"Content-Type": "text/event-stream"}, piece=piece, drop=drop)


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class WireServer:
    """Serves queued answers, the last one for ever, and remembers every request."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.dropped_by_client = threading.Event()
        self._answers: deque[Answer] = deque()
        self._server = _Http(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """The address of the API."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._server.server_port}"

    def answer(self, *answers: Answer) -> WireServer:
        """Queue answers."""
        self._answers.extend(answers)
        return self

    def __enter__(self) -> WireServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, request: Received) -> Answer:
        """The answer to a request."""
        self.requests.append(request)
        return self._answers.popleft() if len(self._answers) > 1 else self._answers[0]


class _Handler(BaseHTTPRequestHandler):
    """Hands each request to the server's owner and sends what that answers."""

    protocol_version = "HTTP/1.1"
    server: _Http

    def do_POST(self) -> None:
        """Answer one request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        named = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.wire.take(Received(self.path, named, json.loads(body)))
        time.sleep(answer.wait)
        try:
            self._send(answer)
        except (BrokenPipeError, ConnectionResetError):
            self.server.wire.dropped_by_client.set()
            self.close_connection = True

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        (self._send_pieces if answer.piece else self._send_whole)(answer)
        if answer.drop:
            self.wfile.flush()
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

    def _send_whole(self, answer: Answer) -> None:
        announced = len(answer.body) + (100 if answer.drop else 0)
        self.send_header("Content-Length", str(announced))
        self.end_headers()
        self.wfile.write(answer.body)

    def _send_pieces(self, answer: Answer) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(answer.body), answer.piece):
            part = answer.body[start : start + answer.piece]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        if not answer.drop:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class _Http(ThreadingHTTPServer):
    """The server, with its owner."""

    daemon_threads = True

    def __init__(self, wire: WireServer) -> None:
        self.wire = wire
        super().__init__(("127.0.0.1", 0), _Handler)
