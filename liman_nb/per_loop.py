"""One resource per event loop, closed with its loop.

Connections belong to the loop on which they were opened; used on another one they hang or fail.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Opens a resource for each event loop that asks, and closes it when that loop shuts down.

    The resource is kept by an asynchronous generator, because these are what a loop closes at its
    end (`loop.shutdown_asyncgens`, which `asyncio.run` calls), and as soon as nothing refers to
    them. That is why neither `make` nor `close` should refer to the owner of this object.

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
            keeper = _keep(weakref.ref(self), loop, resource, self._close)
            self._kept[loop] = (resource, keeper)
            await anext(keeper)
        return self._kept[loop][0]

    async def aclose(self) -> None:
        """Close the running loop's resource; :meth:`get` opens a new one."""
        if kept := self._kept.get(asyncio.get_running_loop()):
            await kept[1].aclose()

    def forget(self, loop: asyncio.AbstractEventLoop) -> None:
        """Drop what was opened on a loop, without closing it."""
        self._kept.pop(loop, None)

    def _forget_dead_loops(self) -> None:
        """Drop what belongs to loops that were closed without shutting down."""
        for loop in [loop for loop in list(self._kept) if loop.is_closed()]:
            self.forget(loop)


async def _keep(
    owner: weakref.ref[PerLoop[T]],
    loop: asyncio.AbstractEventLoop,
    resource: T,
    close: Callable[[T], Awaitable[None]],
) -> AsyncGenerator[None, None]:
    """Hold a resource until the generator is closed."""
    try:
        yield
    finally:
        if (known := owner()) is not None:
            known.forget(loop)
        await close(resource)
