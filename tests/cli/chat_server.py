"""A server of OpenAI's chat completions that streams what a function of the request says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Refusal:
    """An HTTP error instead of a reply."""

    status: int
    message: str


@dataclass(frozen=True)
class Calls:
    """A reply that calls tools: name and arguments of each."""

    calls: tuple[tuple[str, dict[str, Any]], ...]
    text: str = ""


@dataclass(frozen=True)
class Held:
    """A reply that is held back after its first words until somebody lets it go on."""

    first: str
    rest: str
    go_on: threading.Event = field(default_factory=threading.Event)


Said = str | Calls | Refusal | Held


class ChatServer:
    """Serves one model at ``url``; ``requests`` are the bodies it was sent."""

    def __init__(self, answer: Callable[[dict[str, Any]], Said]) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """The address of the API."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append(body)
            said = server.answer(body)
            try:
                self._send(said)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _send(self, said: Said) -> None:
            if isinstance(said, Refusal):
                self.send_response(said.status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps({"error": {"message": said.message}}).encode())
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for delta in _deltas(said):
                self._event({"index": 0, "delta": delta, "finish_reason": None})
            reason = "tool_calls" if isinstance(said, Calls) else "stop"
            self._event({"index": 0, "delta": {}, "finish_reason": reason})
            self.wfile.write(b"data: [DONE]\n\n")

        def _event(self, choice: dict[str, Any]) -> None:
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            self.wfile.write(f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n".encode())
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    return Handler


def _deltas(said: str | Calls | Held) -> Iterator[dict[str, Any]]:
    """What a stream's chunks say: a word each, or the calls."""
    match said:
        case Held(first, rest, go_on):
            yield {"content": first}
            go_on.wait(30)
            yield {"content": rest}
        case Calls(calls, text):
            if text:
                yield {"content": text}
            for index, (name, arguments) in enumerate(calls):
                function = {"name": name, "arguments": json.dumps(arguments)}
                call = {"index": index, "id": f"c{index}", "type": "function", "function": function}
                yield {"tool_calls": [call]}
        case text:
            for position, word in enumerate(text.split(" ")):
                yield {"content": word if position == 0 else f" {word}"}
