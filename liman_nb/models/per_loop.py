"""One resource per event loop, closed with its loop.

Connections belong to the loop on which they were opened; used on another one they hang or fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Opens a resource for each event loop that asks, and closes it when that loop shuts down.

    The resource is kept by an asynchronous generator, because these are what a loop closes at its
    end (`loop.shutdown_asyncgens`, which `asyncio.run` calls). The garbage collector closes it the
    same way when the owner is gone.

    Args:
        make: opens a resource; called on the loop's thread.
        close: closes it; awaited on the same loop.
    """

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make, self._close = make, close
        self._kept: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[None, None]]] = {}

    async def get(self) -> T:
        """The running loop's resource."""
        loop = asyncio.get_running_loop()
        if loop not in self._kept:
            self._forget_dead_loops()
            resource = self._make()
            keeper = self._keep(loop, resource)
            self._kept[loop] = (resource, keeper)
            await anext(keeper)
        return self._kept[loop][0]

    async def aclose(self) -> None:
        """Close the running loop's resource; :meth:`get` opens a new one."""
        if kept := self._kept.get(asyncio.get_running_loop()):
            await kept[1].aclose()

    async def _keep(
        self, loop: asyncio.AbstractEventLoop, resource: T
    ) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._kept.pop(loop, None)
            await self._close(resource)

    def _forget_dead_loops(self) -> None:
        """Drop what belongs to loops that were closed without shutting down."""
        for loop in [loop for loop in self._kept if loop.is_closed()]:
            del self._kept[loop]
