"""The ways to an MCP server: a process that is started, or an address.

See `Transports`_.

.. _Transports: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from liman_nb.errors import UsageError
from liman_nb.tools.mcp.stderr import StderrTail


class Way(Protocol):
    """How a server is reached."""

    @property
    def shown(self) -> str:
        """What to call the server, without anything that may be secret."""
        ...

    @property
    def secrets(self) -> Sequence[str]:
        """Texts that are not shown."""
        ...

    @property
    def reconnects(self) -> bool:
        """Whether a connection that broke is made again by the next call."""
        ...

    def transport(self, stderr: StderrTail) -> AbstractAsyncContextManager[Any]:
        """Open it; called on the connection's own loop."""
        ...


@dataclass(frozen=True, repr=False)
class Process:
    """A server that is started, and spoken to over stdio.

    Its end is the end of what it had in mind, so it is not started again by itself.
    """

    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | Path | None = None
    reconnects: bool = False

    @property
    def shown(self) -> str:
        """The program's name; its arguments may be secret."""
        return Path(self.command[0]).name

    @property
    def secrets(self) -> Sequence[str]:
        """The values of its environment variables."""
        return tuple(self.env.values())

    def transport(self, stderr: StderrTail) -> AbstractAsyncContextManager[Any]:
        """Start it."""
        from mcp import StdioServerParameters, stdio_client

        program, *arguments = self.command
        server = StdioServerParameters(
            command=program, args=arguments, env=dict(self.env), cwd=self.cwd
        )
        return stdio_client(server, errlog=stderr.file)


@dataclass(frozen=True, repr=False)
class Address:
    """A server that runs, and is spoken to over streamable HTTP.

    Raises:
        UsageError: it is no address of a web server.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 30.0
    reconnects: bool = True

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("tools_from_mcp: url must begin with http:// or https://")

    @property
    def shown(self) -> str:
        """The address, without what may be secret in it."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def secrets(self) -> Sequence[str]:
        """The headers' values."""
        return tuple(self.headers.values())

    def transport(self, stderr: StderrTail) -> AbstractAsyncContextManager[Any]:
        """Connect to it; it has no standard error of ours."""
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        stderr.close()
        timeout = httpx2.Timeout(self.seconds, read=None)
        client = httpx2.AsyncClient(headers=dict(self.headers), timeout=timeout)
        return _closing(client, streamable_http_client(self.url, http_client=client))


@asynccontextmanager
async def _closing(client: Any, transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
    """The transport, and the end of the client that was made for it."""
    async with client, transport as streams:
        yield streams
