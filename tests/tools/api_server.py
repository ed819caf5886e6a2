"""A real HTTP server that plays an API: it writes down every request and answers as told."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request as it arrived; header names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query as it was sent."""
        return self.target.partition("?")[2]


@dataclass(frozen=True)
class Answer:
    """What the server answers."""

    body: Any = field(default_factory=lambda: {"ok": True})
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0


class ApiServer:
    """Answers with what was queued, the last one for ever."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: deque[Answer] = deque([Answer()])
        self._server = _Http(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def origin(self) -> str:
        """Its origin."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def will(self, *answers: Answer) -> None:
        """Answer so from now on."""
        self.answers = deque(answers)

    def take(self, asked: Asked) -> Answer:
        """The answer to a request."""
        self.asked.append(asked)
        return self.answers.popleft() if len(self.answers) > 1 else self.answers[0]

    def __enter__(self) -> ApiServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do(self) -> None:
        """Answer one request."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.api.take(Asked(self.command, self.path, headers, body))
        time.sleep(answer.wait)
        sent = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        kind = {} if isinstance(answer.body, bytes) else {"Content-Type": "application/json"}
        try:
            self.send_response(answer.status)
            for name, value in (kind | answer.headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else sent)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = do  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, api: ApiServer) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), _Handler)


def described(paths: dict[str, Any], **root: Any) -> dict[str, Any]:
    """A description with these paths."""
    return {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths, **root}


def get(*parameters: dict[str, Any], **operation: Any) -> dict[str, Any]:
    """A path item with a GET of these parameters."""
    return {"get": {"operationId": "op", "parameters": list(parameters), **operation}}


def parameter(name: str, place: str = "query", kind: Any = "string", **more: Any) -> dict[str, Any]:
    """A parameter; `kind` is a type or a schema."""
    schema = {"type": kind} if isinstance(kind, str) else kind
    return {"name": name, "in": place, "schema": schema, **more}
