"""Leases on a server: taken, renewed while they are held, given back.

What happens there stands in `scripts.py`.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import Any

from liman_nb.errors import StorageError
from liman_nb.state.conflicts import Holder, refused
from liman_nb.state.redis import faults, scripts
from liman_nb.state.redis.keys import Keys
from liman_nb.state.redis.scripts import Argument, Script
from liman_nb.state.redis.server import Server
from liman_nb.state.storage import Lease

_RENEWALS = 3
"""How often a lease is renewed in its life: two may fail before it is over."""

_GIVING_BACK = 1.0
"""Seconds that a turn's end waits for its lease to be given back; that goes on without it then."""


class RedisLease(Lease):
    """A lease that is renewed from the event loop it was taken on, until it is given back.

    Args:
        leases: where it came from.
        root: id of the session's root executor.
        holder: its holder's text.
        number: higher than that of every earlier lease of the session.
        rows: as for every lease.
    """

    def __init__(self, leases: Leases, root: str, holder: bytes, number: int, rows: int) -> None:
        super().__init__(rows)
        self.number = number
        self._leases, self._root, self._holder = leases, root, holder
        self._is_held = True
        self._renewing = asyncio.create_task(leases.renew_for_ever(root, holder, number))

    async def release(self) -> None:
        """Gives it back, also from another event loop, and waits a second at most for that."""
        if self._is_held:
            self._is_held = False
            _cancel(self._renewing)
            await self._leases.give_back(self._root, self._holder, self.number)

    def __del__(self) -> None:
        """Nobody can give it back any more: it runs out, or its storage object takes it anew."""
        if self._is_held and not sys.is_finalizing():
            _cancel(self._renewing)
            self._leases.leave(self._root, self._holder)


class Leases:
    """The leases of one storage object.

    Args:
        server: where they are.
        keys: names of the keys.
        lease_life: milliseconds until a lease that is not renewed is over.
        session_life: milliseconds until an unused session expires; 0 for never.
    """

    def __init__(self, server: Server, keys: Keys, lease_life: int, session_life: int) -> None:
        self._server, self._keys = server, keys
        self._lease_life, self._session_life = lease_life, session_life
        self._left: defaultdict[str, set[bytes]] = defaultdict(set)
        self._background: set[asyncio.Task[Any]] = set()

    async def take(self, root: str, session_id: str) -> RedisLease:
        """Takes a session's lease. A cancelled call gives back what it may have got.

        Raises:
            SessionConflict: another writer holds it.
            StorageError: the server cannot be used, or has lost a part of the session.
        """
        holder = Holder.here().dump()
        taking = self._go_on(self._take(root, session_id, holder))
        try:
            number, rows = await asyncio.shield(taking)
        except asyncio.CancelledError:
            self._go_on(self._undo(taking, root, holder))
            raise
        return RedisLease(self, root, holder, number, rows)

    async def _take(self, root: str, session_id: str, holder: bytes) -> tuple[int, int]:
        try:
            left = self._left.get(root, ())
            ended, *found = await self._run(scripts.TAKE, root, *self._lives(holder), *left)
        except BaseException:
            self.leave(root, holder)  # the reply may have been lost
            raise
        if ended == scripts.DAMAGED:
            raise faults.damaged(self._server.address, root)
        if ended == scripts.HELD:
            raise self._refused(session_id, *found)
        self._left.pop(root, None)
        number, rows = found
        return number, rows

    async def _undo(self, taking: asyncio.Task[tuple[int, int]], root: str, holder: bytes) -> None:
        await asyncio.wait({taking})
        if not taking.cancelled() and taking.exception() is None:
            await self._give_back(root, holder, taking.result()[0])

    async def renew_for_ever(self, root: str, holder: bytes, number: int) -> None:
        """Renews a lease again and again, until it passed on or the task is cancelled."""
        while True:
            await asyncio.sleep(self._lease_life / 1000 / _RENEWALS)
            try:
                (ended,) = await self._run(scripts.RENEW, root, *self._lives(holder), number)
            except StorageError:
                continue  # the next commit meets the same server, and says so
            if ended != scripts.STORED:
                return  # the next commit is told who has it

    async def give_back(self, root: str, holder: bytes, number: int) -> None:
        """Gives a lease back; goes on in the background if the server takes its time."""
        await asyncio.wait(
            {self._go_on(self._give_back(root, holder, number))}, timeout=_GIVING_BACK
        )

    def leave(self, root: str, holder: bytes) -> None:
        """Remembers a lease that may be held on the server: this object may take it anew."""
        self._left[root].add(holder)

    async def _give_back(self, root: str, holder: bytes, number: int) -> None:
        """What a server out of reach keeps is over soon."""
        self.leave(root, holder)
        with suppress(StorageError):
            await self._run(scripts.RELEASE, root, number)
            self._left.pop(root, None)

    def _lives(self, holder: bytes) -> Sequence[Argument]:
        return holder, self._lease_life, self._session_life

    async def _run(self, script: Script, root: str, *arguments: Argument) -> Any:
        keys = self._keys.journal(root)
        return await self._server.ask(lambda client, _: script(client, keys, arguments))

    def _go_on(self, work: Awaitable[Any]) -> asyncio.Task[Any]:
        """A task that is not cancelled with its caller."""
        task = asyncio.ensure_future(work)
        assert isinstance(task, asyncio.Task), "coroutines become tasks"
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _refused(self, session_id: str, holder: bytes, left: int) -> Exception:
        return refused(
            session_id,
            Holder.parse(holder),
            f"If that process is gone, paused, or cut off from the server, the session is free in "
            f"{left / 1000:.1f} s",
        )


def _cancel(task: asyncio.Task[Any]) -> None:
    """Ends a task, from whatever thread; the one of a closed loop never runs again."""
    with suppress(RuntimeError):  # it is closed
        task.get_loop().call_soon_threadsafe(task.cancel)
