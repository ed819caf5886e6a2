"""A connection to an MCP server, on a loop in a thread of its own.

Whoever opens a connection of the `mcp` package must close it in the same task, and cells of a
notebook, `asyncio.run` and `Agent.run_sync` are all different tasks on different loops. So one task
of a loop of its own has the connection for its whole life, and calls are handed to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING, Any

from liman_nb.tools.calling import asked_to_stop

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

_PAGES = 100
"""Pages of a server's list of tools."""

_CLOSING = 10.0
"""Seconds that a server gets to end; the `mcp` package kills it before that."""


class NotConnectedError(Exception):
    """There is no connection any more; says why where that is known."""


class Connection:
    """Connects at once.

    Args:
        transport: opens the way to the server; called on the connection's loop.
        seconds: for connecting and listing the tools.

    Attributes:
        tools: what the server offered when the connection was made.

    Raises:
        TimeoutError: the server did not answer in time.
        Exception: whatever the `mcp` package raises.
    """

    def __init__(
        self, transport: Callable[[], AbstractAsyncContextManager[Any]], seconds: float
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._life = _Life(transport, seconds)
        self._thread = threading.Thread(
            target=_serve, args=(self._loop, self._life), name="liman_nb: MCP", daemon=True
        )
        self._thread.start()
        self._close = weakref.finalize(self, _end, self._loop, self._life, self._thread)
        try:
            self._client, self.tools = self._life.ready.result()
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether calls may be made. Not in a forked process, which has no such thread."""
        return self._close.alive and self._thread.is_alive() and not self._life.ended.done()

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool, from any loop. Cancelling the call tells the server.

        Raises:
            NotConnectedError: there is no connection any more.
            Exception: whatever the `mcp` package raises.
        """
        if not self.alive:
            raise NotConnectedError(self._reason())
        work = self._client.call_tool(tool, arguments)
        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
        except asyncio.CancelledError:
            if asked_to_stop():
                raise
            raise NotConnectedError(self._reason()) from None  # the connection ended meanwhile

    def close(self) -> None:
        """End the connection, and the server's process if it is one of ours; waits for it."""
        self._close()

    def _reason(self) -> str:
        ended = self._life.ended
        error = ended.exception() if ended.done() else None
        return "it is not connected" + (f": {in_short(error)}" if error else "")


def in_short(error: BaseException) -> str:
    """An error's type and message; the first one of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".rstrip(": ")


class _Life:
    """The whole life of a connection, in one task.

    Attributes:
        ready: the client and the server's tools, once connected; or why not.
        ended: set at the end, to the error if there was one.
        stop: asks it to end; set on its loop.
    """

    def __init__(
        self, transport: Callable[[], AbstractAsyncContextManager[Any]], seconds: float
    ) -> None:
        self._transport, self._seconds = transport, seconds
        self.ready: Future[tuple[Client, list[Tool]]] = Future()
        self.ended: Future[None] = Future()
        self.stop = asyncio.Event()

    async def run(self) -> None:
        """Connect, and hold the connection until it shall end."""
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._seconds):
                    client = await stack.enter_async_context(_client(self._transport()))
                    tools = await _listed(client)
                self.ready.set_result((client, tools))
                await self.stop.wait()
        except Exception as error:  # noqa: BLE001 - told to whoever waits or calls
            (self.ended if self.ready.done() else self.ready).set_exception(error)
        if not self.ended.done():
            self.ended.set_result(None)


def _client(transport: AbstractAsyncContextManager[Any]) -> Client:
    from mcp import Client, Implementation

    from liman_nb import __version__

    us = Implementation(name="liman_nb", version=__version__)
    return Client(transport, cache=None, client_info=us)


async def _listed(client: Client) -> list[Tool]:
    tools, cursor = list[Any](), None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _serve(loop: asyncio.AbstractEventLoop, life: _Life) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:  # it closes the loop at the end
        runner.run(life.run())


def _end(loop: asyncio.AbstractEventLoop, life: _Life, thread: threading.Thread) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended
        loop.call_soon_threadsafe(life.stop.set)
    if thread is not threading.current_thread():
        thread.join(_CLOSING)
