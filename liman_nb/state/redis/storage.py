"""The storage on a Redis server as the engine sees it.

How keys are named stands in `keys.py`, what happens on the server in `scripts.py`, how it is
reached in `server.py`, how a session is kept from a second writer in `leases.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from pydantic import ValidationError

from liman_nb.errors import SetupError, StorageError, UsageError
from liman_nb.state.conflicts import Holder, passed_on
from liman_nb.state.journal import JournalStorage, Tail
from liman_nb.state.lifetime import check_ttl
from liman_nb.state.redis import faults, scripts
from liman_nb.state.redis.address import Address
from liman_nb.state.redis.keys import Keys
from liman_nb.state.redis.leases import Leases, RedisLease
from liman_nb.state.redis.scripts import Argument
from liman_nb.state.redis.scrubbing import EVERY_NODE, scrub
from liman_nb.state.redis.server import Client, Server
from liman_nb.state.rows import TurnRow
from liman_nb.state.session_line import last_used_first
from liman_nb.state.storage import Commit, Lease, SessionInfo, checked_record_ttl

HOUR, WEEK = 3600, 7 * 24 * 3600
"""Seconds."""

_SHORTEST_LEASE, _LONGEST_LEASE = 0.1, 100 * 365 * 24 * 3600  # seconds
_AS_IT_IS = -1  # milliseconds of life, for who only looks
_PAGE_BYTES = 1 << 20  # of rows per reply
_PAGE_KEYS = 500  # per round trip, where many keys are looked at
_FIELDS = ("session_id", "created_at", "used_at", "turns")


class RedisStateStorage(JournalStorage):
    """Keeps sessions on a Redis server, where several machines reach them.

    Making the object connects to nothing. A node run is stored by one script, in one round trip.
    While one kernel has a turn in a session, another one is refused it (`SessionConflict`). The
    lease that does this is renewed while the turn runs; it passes on from a process that is paused,
    held up or cut off for longer than `lease_life`, whose next commit is then refused, too.

    A server that restarts is waited for, and the connection is made again; whether its sessions
    outlive a restart is a matter of the server's own settings: with ``appendonly yes`` and
    ``appendfsync always`` all of them do, with Redis's default ``appendfsync everysec`` a killed
    server may lose the last two seconds.

    A session expires `session_ttl` seconds after it was last written or opened, and is then as if
    it had never been. While a turn is open it does not expire. Nor do states that are saved one by
    one with Liman's four methods: none of them tells which session it is of.

    A secure deletion (``delete_session(root, secure=True)``) has the server write its append-only
    file and its snapshot anew, and waits for that; its user needs the commands CONFIG GET,
    BGREWRITEAOF and BGSAVE. What the server's files held before it stopped keeping them, its
    replicas' files and backups are beyond it: replicas are reported, the others cannot be seen.

    Args:
        url: ``redis://user:password@host:6379/0``, with TLS ``rediss://…``, or ``unix:///path``.
            Options of the client may follow, such as ``?ssl_ca_certs=/path``. Passwords are shown
            nowhere.
        agency: a name that keeps several users of one server apart: each sees only sessions of its
            own.
        session_ttl: seconds until an unused session expires; ``None`` to keep them.
        record_ttl: as :attr:`StateStorage.record_ttl`; an hour by default, as on LeafMesh's page on
            sessions (``REDIS_DEFAULT_TTL``).
        timeout: how many seconds a connection, a reply, or the return of a lost server is waited
            for, before a `StorageError` says so. The event loop goes on meanwhile.
        cluster: whether the server is a node of a Redis Cluster.
        lease_life: seconds until a session is free again whose writer is gone. A live one renews
            its lease every third of that.

    Raises:
        UsageError: an argument that cannot be used.
        SetupError: the client is not installed.
    """

    def __init__(
        self,
        url: str = "redis://localhost:6379/0",
        *,
        agency: str = "",
        session_ttl: float | None = WEEK,
        record_ttl: float | None = HOUR,
        timeout: float = 5.0,
        cluster: bool = False,
        lease_life: float = 30.0,
    ) -> None:
        super().__init__()
        self.record_ttl = checked_record_ttl(record_ttl)
        if find_spec("redis") is None:
            raise SetupError("the Redis client is not installed: pip install 'liman_nb[redis]'")
        check_ttl(session_ttl)
        if not timeout > 0:
            raise UsageError(f"timeout is a number of seconds above 0, not {timeout!r}")
        if not _SHORTEST_LEASE <= lease_life <= _LONGEST_LEASE:
            raise UsageError(
                f"lease_life is a number of seconds from {_SHORTEST_LEASE} up, not {lease_life!r}"
            )
        self._address = Address.parse(url)
        self._agency = agency
        self._keys = _keys(agency)
        self._life = 0 if session_ttl is None else round(session_ttl * 1000)
        self._lease_life = round(lease_life * 1000)
        self._cluster = cluster
        self._server = Server(self._address, timeout, cluster)
        self._leases = Leases(self._server, self._keys, self._lease_life, self._life)

    def __repr__(self) -> str:
        agency = f", agency={self._agency!r}" if self._agency else ""
        return f"RedisStateStorage({self._address.shown!r}{agency})"

    async def list_sessions(self) -> list[SessionInfo]:
        """The sessions of this agency, last used first. Looks at every key of the database.

        Raises:
            StorageError: the server cannot be read.
        """
        return last_used_first(await self._server.ask(self._sessions))

    async def prune(self) -> list[str]:
        """Deletes nothing, and gives an empty list: the server itself deletes what expires."""
        return []

    async def close(self) -> None:
        """Closes the connections of the running event loop. A later call opens new ones."""
        await self._server.close()

    async def lease(self, root: str, session_id: str) -> Lease:
        """Takes the right to write to a session, and renews it until it is given back.

        Raises:
            SessionConflict: another process holds it, or another agent of this one.
            StorageError: the server cannot be used.
        """
        return await self._leases.take(root, session_id)

    # ── what a journal storage keeps ─────────────────────────────────────────────────────────────

    async def _append(
        self, commit: Commit, rows: Sequence[bytes], turns: Sequence[TurnRow]
    ) -> bool:
        keys = self._keys.journal(commit.root)
        number = commit.lease.number if isinstance(commit.lease, RedisLease) else 0
        line: tuple[Argument, ...] = ("", "", "", "")
        if turns:
            line = (turns[-1].session_id, turns[0].at, turns[-1].at, turns[-1].turn)
        after = (self._life, int(commit.open), number, self._lease_life, *line, *rows)

        async def append(client: Client, again: bool) -> Any:
            return await scripts.COMMIT(client, keys, (commit.first, int(again), *after))

        ended, *holder = await self._server.ask(append)
        if ended == scripts.DAMAGED:
            raise faults.damaged(self._address, commit.root)
        if ended == scripts.HELD:
            raise passed_on(commit, Holder.parse(*holder))
        return bool(ended == scripts.STORED)

    async def _read(self, root: str, *, is_use: bool) -> list[bytes]:
        rows: list[bytes] = []
        life = self._life if is_use else _AS_IT_IS
        while True:
            length, *page = await self._page(root, len(rows), life)
            if length == scripts.DAMAGED:
                raise faults.damaged(self._address, root)
            if length < len(rows):
                return []  # deleted between two pages
            rows += page
            if len(rows) >= length:
                return rows

    async def _page(self, root: str, first: int, life: int) -> list[Any]:
        keys, arguments = self._keys.journal(root), (first, _PAGE_BYTES, life)
        page: list[Any] = await self._server.ask(
            lambda client, _: scripts.READ(client, keys, arguments)
        )
        return page

    async def _tail(self, root: str) -> Tail:
        keys = self._keys.journal(root)[:1]
        length, last = await self._server.ask(lambda client, _: scripts.TAIL(client, keys))
        return length, last

    async def _put_state(self, key: tuple[str, ...], data: bytes) -> None:
        await self._command(*self._place("SET", key), data)

    async def _get_state(self, key: tuple[str, ...]) -> bytes | None:
        data: bytes | None = await self._command(*self._place("GET", key))
        return data

    async def _delete(self, root: str, executors: Sequence[str]) -> bool:
        """The root's executor goes last: it leads to the others, should this be cut off."""
        others = [self._keys.executor(e) for e in reversed(executors) if e != root]
        counts = await self._each([("UNLINK", key) for key in others])
        own = (*self._keys.journal(root), self._keys.actors(root), self._keys.executor(root))
        counts.append(await self._command("UNLINK", *own))
        return any(counts)

    async def _scrub(self, root: str) -> None:
        """Has the server write its own files anew."""
        reason = EVERY_NODE if self._cluster else await self._server.ask(lambda c, _: scrub(c))
        if reason:
            raise faults.left_behind(self._address, root, reason)

    # ── commands ─────────────────────────────────────────────────────────────────────────────────

    def _place(self, verb: str, key: tuple[str, ...]) -> tuple[str, ...]:
        """The command that sets or gets a state, up to its value."""
        if len(key) == 1:
            return verb, self._keys.executor(*key)
        root, actor = key
        return f"H{verb}", self._keys.actors(root), actor

    async def _command(self, *arguments: Argument) -> Any:
        return await self._server.ask(lambda client, _: client.execute_command(*arguments))

    async def _each(self, commands: Sequence[tuple[Argument, ...]]) -> list[Any]:
        return await self._server.ask(lambda client, _: _together(client, commands))

    async def _sessions(self, client: Client, _: bool) -> list[SessionInfo]:
        pattern = self._keys.every_session
        keys = {key async for key in client.scan_iter(match=pattern, count=1000)}
        lines = await _together(client, [("HMGET", key, *_FIELDS) for key in keys])
        found = zip(keys, lines, strict=True)
        return [self._session(key, line) for key, line in found if line[0] is not None]

    def _session(self, key: bytes, line: Sequence[bytes]) -> SessionInfo:
        root = self._keys.root_in(key)
        try:
            texts = {name: text.decode() for name, text in zip(_FIELDS, line, strict=True)}
            return SessionInfo.model_validate({"root": root, **texts})
        except (ValidationError, UnicodeDecodeError, AttributeError) as error:
            raise StorageError(
                f"{self!r}: the line of session {root} in the list of sessions cannot be read: "
                f"something else than liman_nb wrote to the key {key.decode()}"
            ) from error


async def _together(client: Client, commands: Sequence[tuple[Argument, ...]]) -> list[Any]:
    """The replies to many commands, in a few round trips."""
    replies: list[Any] = []
    for start in range(0, len(commands), _PAGE_KEYS):
        pipeline = client.pipeline(transaction=False)
        for command in commands[start : start + _PAGE_KEYS]:
            pipeline.execute_command(*command)
        replies += await pipeline.execute()
    return replies


def _keys(agency: str) -> Keys:
    try:
        return Keys(agency)
    except UnicodeEncodeError:
        raise UsageError(f"the agency's name {agency!r} has no form in UTF-8") from None
