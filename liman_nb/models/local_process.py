"""The process that runs the local model: started when first needed, shared, and never left behind.

What runs in it is `local_server.py`. This file starts it, tells where it listens, notices that it
ended, and ends it: with the last object that uses it, with this interpreter, and, because its
standard input closes, with this process however that dies.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import weakref
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from liman_nb.errors import EngineError, SetupError

_START_SECONDS = 300.0
_LOG_TAIL = 4000


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """What makes one server differ from another.

    Attributes:
        path: the model's GGUF file.
        name: the model's name in replies.
        context_tokens: tokens of prompt and reply together.
        threads: CPU threads.
    """

    path: str
    name: str
    context_tokens: int
    threads: int


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a running server listens.

    Attributes:
        base_url: address of its OpenAI-compatible API.
        key: its API key, made for this one process.
        knows_tools: whether the model's chat template has a place for tools.
    """

    base_url: str
    key: str
    knows_tools: bool = True

    def __repr__(self) -> str:
        """The address without the key."""
        return f"Endpoint({self.base_url!r})"


class LocalServer:
    """One server process at a time; a new one when the last one died.

    Every method blocks; call :meth:`endpoint` in a thread.
    """

    def __init__(self, settings: LocalSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._child: _Child | None = None

    def endpoint(self) -> Endpoint:
        """Where the server listens; it is started when it does not run.

        Raises:
            SetupError: it does not start; the message ends with what it last printed.
        """
        with self._lock:
            if (running := self.running_endpoint()) is None:
                self._end_child()
                running = self._start()
            return running

    def running_endpoint(self) -> Endpoint | None:
        """Where the server listens now, without starting it."""
        child = self._child
        return child.endpoint if child and child.is_ours() and child.exit_code() is None else None

    def how_it_ended(self, seconds: float) -> str:
        """Exit code and last words of a server that died; empty when it runs on.

        Args:
            seconds: how long to wait for a process that may just be dying.
        """
        child = self._child
        if child is None or (code := child.exit_code(seconds)) is None:
            return ""
        return f"exit code {code}{child.last_words()}"

    def close(self) -> None:
        """End the process. The next request starts a new one."""
        with self._lock:
            self._end_child()

    def _start(self) -> Endpoint:
        child = _Child(self.settings)
        self._child = child
        self._ended = weakref.finalize(self, child.end)
        endpoint = child.wait_until_ready()
        if endpoint is None:
            ended = f"exit code {child.exit_code(1.0)}{child.last_words()}"
            self._end_child()
            raise SetupError(
                f"the local model did not start; is {self.settings.path} a whole GGUF model file?"
                f" `liman-nb model fetch` fetches the default one. Its process ended with {ended}"
            )
        return endpoint

    def _end_child(self) -> None:
        if self._child is not None:
            self._ended()
            self._child = None


_servers: weakref.WeakValueDictionary[LocalSettings, LocalServer] = weakref.WeakValueDictionary()
_servers_lock = threading.Lock()


def shared_server(settings: LocalSettings) -> LocalServer:
    """The server for these settings in this process, so that a cell run again starts no second one.

    It lives as long as somebody holds it.
    """
    with _servers_lock:
        server = _servers.get(settings)
        if server is None:
            server = _servers[settings] = LocalServer(settings)
        return server


class _Child:
    """A started process, with its log."""

    def __init__(self, settings: LocalSettings) -> None:
        self._owner = os.getpid()
        self._key = secrets.token_urlsafe(32)
        # Private, and gone when both processes are.
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        self.endpoint: Endpoint | None = None
        script = Path(__file__).with_name("local_server.py")
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter and a file of ours
            [sys.executable, "-P", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            **_apart(),
        )
        self._stdin, self._stdout = self._pipes()
        self._tell(asdict(settings) | {"key": self._key})

    def is_ours(self) -> bool:
        """False in a forked copy of the process that started it."""
        return os.getpid() == self._owner

    def wait_until_ready(self) -> Endpoint | None:
        """Wait for the address; ``None`` when the process ended or took too long."""
        late = threading.Timer(_START_SECONDS, self._process.kill)
        late.start()
        try:
            said = self._stdout.readline()
        finally:
            late.cancel()
        if said:
            answer = json.loads(said)
            self.endpoint = Endpoint(f"{answer['address']}/v1", self._key, answer["tools"])
        return self.endpoint

    def exit_code(self, seconds: float = 0.0) -> int | None:
        """The exit code, or ``None`` while it runs."""
        if seconds <= 0:
            return self._process.poll()
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def last_words(self) -> str:
        """The end of the log, on lines of its own."""
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _LOG_TAIL))
        lines = self._log.read().decode(errors="replace").splitlines()[-8:]
        return "".join(f"\n  {line}" for line in lines)

    def end(self) -> None:
        """Kill the process and free what belongs to it; there is nothing in it to be saved."""
        if not self.is_ours():
            return
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise EngineError("a process was started without its pipes")
        return stdin, stdout

    def _tell(self, settings: dict[str, Any]) -> None:
        """Send the settings. The pipe stays open: the child takes its closing as our end."""
        with contextlib.suppress(BrokenPipeError):  # it died at once; waiting for it will tell
            self._stdin.write(json.dumps(settings).encode() + b"\n")
            self._stdin.flush()


def _apart() -> dict[str, Any]:
    """Keep a Ctrl-C or a kernel interrupt, which go to whole process groups, from the process."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}
