"""An MCP server: opened, its tools, closed."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from liman_nb.errors import SetupError, ToolError, UsageError
from liman_nb.specs.findings import did_you_mean
from liman_nb.tools.external import ExternalTool, ToolCall
from liman_nb.tools.mcp.connection import Connection, NotConnectedError, in_short
from liman_nb.tools.mcp.results import read_result
from liman_nb.tools.mcp.stderr import StderrTail
from liman_nb.tools.mcp.ways import Way
from liman_nb.tools.names import free_name, tool_name
from liman_nb.tools.redaction import redact, redact_json

if TYPE_CHECKING:
    from mcp.types import Tool

_SHORTEST_SECRET = 8
"""Characters. Shorter values of headers and variables, such as ``true``, are no secrets."""

_MAX_DESCRIPTION = 1_000
_MAX_CHARACTERS = 1_000_000


class McpServer:
    """An MCP server, from :func:`liman_nb.tools_from_mcp`.

    Its tools work from every cell, loop and thread. A server whose process ended is not started
    again by itself, since what it had in mind is lost: the tools' error says so, and
    :meth:`close` and :meth:`open` start it anew, also for the tools that an agent has already. A
    broken connection to an address is made again by the next call.

    Args:
        way: how it is reached.
        only: names of the tools that are wanted; ``None`` for all.
        prefix: what each tool's name begins with.
        seconds: for connecting, and for each call.

    Attributes:
        warnings: one sentence for each of its tools that is left out or has another name.
    """

    def __init__(self, way: Way, only: Sequence[str] | None, prefix: str, seconds: float) -> None:
        self._way, self._only, self._prefix, self._seconds = way, only, prefix, seconds
        words = [word for text in way.secrets for word in (text, *text.split())]
        self._secrets = [word for word in words if len(word) >= _SHORTEST_SECRET]
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._stderr: StderrTail | None = None
        self._abandoned = False
        self.warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """What it is, and whether it is open."""
        return f"<McpServer {self._way.shown}: {'open' if self._connection else 'closed'}>"

    @property
    def stderr(self) -> str:
        """The end of what its process wrote to standard error."""
        return "" if self._stderr is None else redact(self._stderr.text(), self._secrets)

    def open(self) -> list[ExternalTool]:
        """Connect, and wait for it.

        Returns:
            The server's tools.

        Raises:
            SetupError: the server cannot be started or reached.
            UsageError: it is open already, or does not offer a tool that is wanted.
        """
        with self._lock:
            if self._connection is not None:
                raise UsageError(f"the MCP server {self._way.shown} is open already")
            self._connection = self._connected()
        try:
            return self._tools(self._connection.tools)
        except UsageError:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect, and end the process that was started; its tools say that it is closed."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if self._stderr is not None:
            self._stderr.close()

    def __enter__(self) -> list[ExternalTool]:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> list[ExternalTool]:
        self._abandoned = False
        try:
            return await asyncio.to_thread(self._open_unless_abandoned)
        except asyncio.CancelledError:
            self._abandoned = True
            if self._connection is not None:  # it was opened in this very moment
                threading.Thread(target=self.close, name="liman_nb: closing", daemon=True).start()
            raise

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def _open_unless_abandoned(self) -> list[ExternalTool]:
        tools = self.open()
        if self._abandoned:
            self.close()
        return tools

    # ── the connection ───────────────────────────────────────────────────────────────────────────

    def _connected(self) -> Connection:
        self._stderr = StderrTail()
        try:
            return Connection(partial(self._way.transport, self._stderr), self._seconds)
        except Exception as error:  # noqa: BLE001 - whatever a library says about a server
            what = f"no answer within {self._seconds:g} s"
            if not isinstance(error, TimeoutError):
                what = in_short(error)
            text = redact(f"cannot be used: {what}", self._secrets)
            said = self._last_words()
            raise SetupError(f"the MCP server {self._way.shown} {text}{said}") from None
        finally:
            self._stderr.close()  # the process has its own end of the pipe by now

    def _reconnected(self) -> Connection | None:
        """The connection, made again if it broke and its way is one that may be."""
        with self._lock:
            current = self._connection
            if current is not None and self._way.reconnects and not current.alive:
                current.close()
                self._connection = self._connected()
            return self._connection

    def _last_words(self) -> str:
        """What its process wrote last, if it is a process. It may be about to end: wait a bit."""
        said = "" if self._stderr is None else self._stderr.text(wait=0.5)
        return f"\nIt wrote last:\n{redact(said, self._secrets)}" if said else ""

    # ── its tools ────────────────────────────────────────────────────────────────────────────────

    def _tools(self, offered: Sequence[Tool]) -> list[ExternalTool]:
        tools: dict[str, ExternalTool] = {}
        notes = list[str]()
        for tool in self._wanted(offered):
            name = tool_name(tool.name, self._prefix)
            if not name:
                notes.append(f"{tool.name!r:.60}: left out: a model cannot call it by this name")
                continue
            if name in tools:
                name = free_name(name, tools)
                notes.append(f"{tool.name!r:.60}: its name is taken; the tool is {name}")
            try:
                tools[name] = self._tool(name, tool)
            except UsageError as error:
                notes.append(f"{tool.name!r:.60}: left out: {error}")
        self.warnings = tuple(notes)
        if notes:
            lines = "".join(f"\n- {note}" for note in notes)
            warnings.warn(f"the MCP server {self._way.shown}:{lines}", stacklevel=3)
        return list(tools.values())

    def _wanted(self, offered: Sequence[Tool]) -> list[Tool]:
        names = [tool.name for tool in offered]
        for name in self._only or ():
            if name not in names:
                hint = did_you_mean(name, names) or f"it has {', '.join(names) or 'none'}"
                raise UsageError(f"only: the MCP server has no tool {name!r}; {hint}")
        return [tool for tool in offered if self._only is None or tool.name in self._only]

    def _tool(self, name: str, tool: Tool) -> ExternalTool:
        text = tool.description or tool.title or ""
        if len(text) > _MAX_DESCRIPTION:
            text = f"{text[:_MAX_DESCRIPTION]}…"
        call = partial(self._call, name, tool.name)
        return ExternalTool(name, text, tool.input_schema, call, source=f"MCP {self._way.shown}")

    async def _call(self, name: str, original: str, call: ToolCall) -> Any:
        from mcp import MCPError

        try:
            async with asyncio.timeout(self._seconds):
                result = await self._answer(name, original, dict(call.arguments))
        except TimeoutError:
            raise ToolError(f"{name}: no answer within {self._seconds:g} s") from None
        except SetupError as error:
            raise ToolError(f"{name}: {error}") from None
        except (NotConnectedError, MCPError, RuntimeError, ValueError) as error:
            text = f"{name}: the MCP server {self._way.shown} did not answer: {error}"
            said = await asyncio.to_thread(self._last_words)
            raise ToolError(redact(text, self._secrets) + said) from None
        return redact_json(read_result(name, result, _MAX_CHARACTERS), self._secrets)

    async def _answer(self, name: str, original: str, arguments: dict[str, Any]) -> Any:
        connection = self._connection
        if connection is not None and not connection.alive:
            connection = await asyncio.to_thread(self._reconnected)
        if connection is None:
            raise ToolError(f"{name}: the MCP server {self._way.shown} is closed; open() it")
        return await connection.call(original, arguments)
