"""Real Redis servers for the tests, each a process of its own on a free port."""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import redis

from liman_nb.state.redis import RedisStateStorage
from liman_nb.testing.story import Story

INSTALL = "there is no redis-server on this machine: apt-get install redis-server"


class RedisServer:
    """A server that starts with the block and is gone after it, and that can be killed within it.

    Args:
        directory: an empty one, for what the server keeps and says.
        options: its settings, with ``_`` for ``-``, such as ``appendonly="yes"``.
    """

    def __init__(self, directory: Path, **options: str) -> None:
        self.port = free_port()
        self.directory = directory
        self.options = {"port": str(self.port), "save": "", "bind": "127.0.0.1", **options}
        if "tls_port" in options:
            self.options |= {"port": "0", "tls_port": str(self.port)}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def place(self) -> str:
        """The address as messages show it."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def url(self) -> str:
        """The address with the password, if the server wants one."""
        password = self.options.get("requirepass")
        return self.place.replace("//", f"//:{password}@") if password else self.place

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running server."""
        assert self._process is not None, "the server was not started"
        return self._process

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [binary(), "--dir", str(self.directory)]
        for name, value in self.options.items():
            command += [f"--{name.replace('_', '-')}", *(value.split(" ") if value else [""])]
        with (self.directory / "said").open("ab") as said:
            self._process = subprocess.Popen(command, stdout=said, stderr=said)
        self._wait()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """Keep it from answering."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it answer again."""
        self.process.send_signal(signal.SIGCONT)

    def client(self) -> redis.Redis:
        """A client for the test itself; to be used as a context manager."""
        return redis.Redis.from_url(self.url, decode_responses=True)

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.kill()

    def _wait(self) -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self.process.poll() is None:
            if self._answers():
                return
            time.sleep(0.01)
        said = (self.directory / "said").read_text()
        raise AssertionError(f"the server did not start:\n{said}")

    def _answers(self) -> bool:
        if self.options["port"] == "0":  # only a port with TLS
            return "Ready to accept connections" in (self.directory / "said").read_text()
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(7) in (b"+PONG\r\n", b"-NOAUTH")
        except OSError:
            return False


def binary() -> str:
    """The server's program.

    Raises:
        FileNotFoundError: it is not installed; the message is the command that installs it.
    """
    found = shutil.which("redis-server")
    if found is None:
        raise FileNotFoundError(INSTALL)
    return found


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# ── storages and sessions on them ─────────────────────────────────────────────────────────────────


@asynccontextmanager
async def storage_on(server: RedisServer, **options: Any) -> AsyncIterator[RedisStateStorage]:
    """A storage, closed at the end."""
    storage = RedisStateStorage(server.url, **options)
    try:
        yield storage
    finally:
        await storage.close()


async def tell(storage: RedisStateStorage, story: Story, turns: int) -> None:
    """Store the commits of some more turns."""
    for commit in story.tell(turns):
        await storage.commit(commit)


def keys_of(server: RedisServer, root: object) -> dict[str, str]:
    """The keys of a session, by what they are for."""
    with server.client() as client:
        return {key.rpartition(":")[2]: key for key in client.scan_iter(f"*{root}*")}


@asynccontextmanager
async def overheard(server: RedisServer) -> AsyncIterator[list[str]]:
    """Gives a list that ends up with the verbs of the commands that clients sent meanwhile."""
    verbs: list[str] = []
    with server.client() as marker:
        marker.ping()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"MONITOR\r\n")
        assert await reader.readline() == b"+OK\r\n"
        yield verbs
        marker.echo("overheard")
    while b'"overheard"' not in (line := await reader.readline()):
        origin, _, command = line.decode().partition("] ")
        if not origin.endswith(" lua"):
            verbs.append(command.split('"')[1].upper())
    writer.close()
    await writer.wait_closed()


class Wire:
    """A port in front of a server that loses as many replies as it is told to."""

    def __init__(self, server: RedisServer) -> None:
        self.server, self.losing = server, 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what comes, one reply for one command."""
        there, back = await asyncio.open_connection("127.0.0.1", self.server.port)
        while sent := await reader.read(1 << 20):
            back.write(sent)
            reply = await there.read(1 << 20)
            if self.losing and b"EVALSHA" in sent:
                self.losing -= 1
                break
            writer.write(reply)
        for end in (back, writer):
            end.close()


@asynccontextmanager
async def wire_to(
    server: RedisServer, **options: Any
) -> AsyncIterator[tuple[Wire, RedisStateStorage]]:
    """A storage that reaches the server through such a port."""
    wire = Wire(server)
    listening = await asyncio.start_server(wire.serve, "127.0.0.1", 0)
    storage = RedisStateStorage(
        f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}", **options
    )
    try:
        yield wire, storage
    finally:
        await storage.close()
        listening.close()
        await listening.wait_closed()
