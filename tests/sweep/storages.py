"""The storages of the sweep: the product's own, with a killer in them, and one of files.

This is the one place where they are made: what a killed holder keeps for a while (such as a lease)
would have its life shortened here.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from redis.asyncio.connection import AbstractConnection

from liman_nb import DiskCacheStateStorage, RedisStateStorage, StateStorage
from liman_nb.state.disk.table import Table
from liman_nb.state.storage import Commit
from sweep.killing import Killer, Victim

DISK, REDIS, FILES, SERVER = "disk", "redis", "four methods", "redis server"
STORAGES = (DISK, REDIS, FILES, SERVER)

PATIENCE = 20.0
"""Seconds that a storage waits for a server that comes back, on a machine that is busy."""

LEASE_LIFE = 0.2
"""Seconds for which a killed process still holds a session on a Redis server."""


def make(kind: str, where: str, agency: str, killer: Killer, victim: Victim) -> StateStorage:
    """A storage of the sweep.

    Args:
        kind: one of `STORAGES`.
        where: a directory, or a server's url.
        agency: what keeps one trial's keys apart from another's on a server.
        killer: is told of every write.
        victim: whom it kills.
    """
    match kind:
        case "disk":
            return KilledDisk(where, killer)
        case "four methods":
            return Files(where, killer)
        case _:
            return KilledRedis(where, agency, killer, victim)


class KilledDisk(DiskCacheStateStorage):
    """Inside a write: where SQLite begins one of its statements, COMMIT among them.

    Those of diskcache's triggers begin in the middle of an INSERT, when its row is in the table.
    """

    def __init__(self, where: str, killer: Killer) -> None:
        super().__init__(where)
        self._killer = killer

    async def commit(self, commit: Commit) -> None:
        """Append rows."""
        self._killer.before(commit.first + len(commit.rows))
        await super().commit(commit)
        self._killer.after()

    async def _do(self, work: Callable[[Table], Any]) -> Any:
        return await super()._do(self._watched(work) if self._killer.writing else work)

    def _watched(self, work: Callable[[Table], Any]) -> Callable[[Table], Any]:
        def watched(table: Table) -> Any:
            connection = table._connection
            connection.set_trace_callback(self._statement)
            try:
                return work(table)
            finally:
                connection.set_trace_callback(None)

        return watched

    def _statement(self, _: str) -> None:
        if self._killer.inside():
            self._killer.kill()


class KilledRedis(RedisStateStorage):
    """Inside a write: a command is sent, and its reply is not read.

    A process is killed when the reply is there to be read, so that the server has surely done what
    it was told. A server is killed at once, when it may have done it or not (even steps), or when
    it has done it, and its reply is lost (odd steps).

    Args:
        where: the server's url.
        agency: keeps trials apart.
        killer: is told of every write and every command in it.
        victim: whom it kills.
    """

    def __init__(self, where: str, agency: str, killer: Killer, victim: Victim) -> None:
        super().__init__(where, agency=agency, timeout=PATIENCE, lease_life=LEASE_LIFE)
        self._killer, self._server_dies = killer, victim != "process"

    async def commit(self, commit: Commit) -> None:
        """Append rows."""
        send, sent = AbstractConnection.send_packed_command, self._sent

        async def watched(connection: AbstractConnection, *command: Any, **options: Any) -> None:
            await send(connection, *command, **options)
            await sent(connection)

        self._killer.before(commit.first + len(commit.rows))
        with mock.patch.object(AbstractConnection, "send_packed_command", watched):
            await super().commit(commit)
        self._killer.after()

    async def _sent(self, connection: AbstractConnection) -> None:
        if self._server_dies and self._killer.inside():
            self._killer.kill()
        if self._killer.inside():
            await _replied(connection)
            connection._reader._buffer.clear()
            self._killer.kill()


async def _replied(connection: AbstractConnection) -> None:
    """Wait until the reply has arrived; nobody reads it, as its reader waits here."""
    async with asyncio.timeout(PATIENCE):
        while not connection._reader._buffer:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)


class Files(StateStorage):
    """Liman's four methods, one file per state, replaced as a whole.

    Inside a write: when a file's new content is written beside it, and when it is renamed.
    """

    def __init__(self, where: str, killer: Killer) -> None:
        self._where, self._killer = Path(where), killer
        self._where.mkdir(exist_ok=True)

    async def commit(self, commit: Commit) -> None:
        """Save states one by one."""
        self._killer.before(commit.first + len(commit.rows))
        await super().commit(commit)
        self._killer.after()

    async def save_actor_state(
        self, execution_id: str, actor_id: str, state: dict[str, Any]
    ) -> None:
        """Keep it."""
        self._save(f"{execution_id}.{actor_id}", state)

    async def load_actor_state(self, execution_id: str, actor_id: str) -> dict[str, Any] | None:
        """Give it back."""
        return self._load(f"{execution_id}.{actor_id}")

    async def save_executor_state(self, execution_id: str, state: dict[str, Any]) -> None:
        """Keep it."""
        self._save(execution_id, state)

    async def load_executor_state(self, execution_id: str) -> dict[str, Any] | None:
        """Give it back."""
        return self._load(execution_id)

    def _save(self, name: str, state: dict[str, Any]) -> None:
        beside = self._where / f"{name}.new"
        beside.write_text(json.dumps(state))
        self._step()
        os.replace(beside, self._where / f"{name}.json")  # noqa: PTH105 - atomic by its contract
        self._step()

    def _step(self) -> None:
        if self._killer.inside():
            self._killer.kill()

    def _load(self, name: str) -> dict[str, Any] | None:
        file = self._where / f"{name}.json"
        return json.loads(file.read_text()) if file.exists() else None
