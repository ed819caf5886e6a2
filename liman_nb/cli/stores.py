"""The store that a command looks into, and the session in it that a person means.

Looking at a store never makes one, and no session lives longer for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime

from liman_nb.engine.loading import tree_of
from liman_nb.engine.tree import ENDED, Tree
from liman_nb.errors import SessionConflict, StorageError, UnknownSession, UsageError
from liman_nb.settings import read_settings
from liman_nb.state.storage import SessionInfo, StateStorage, delete_from
from liman_nb.views.escape import one_line

UNREADABLE = "unreadable"
"""Shown as the status of a session that is damaged, or was written by a newer version."""

_SERVERS = ("redis://", "rediss://", "unix://")
_LISTED = 10


@asynccontextmanager
async def opened(store: str | None, agency: str) -> AsyncIterator[StateStorage]:
    """The storage that ``--store`` and ``--agency`` name, closed at the end.

    Args:
        store: a directory or the url of a server; what the environment says for ``None``.
        agency: whose sessions on a server; empty for what the environment says.

    Raises:
        UsageError: they name none.
        SetupError: it is a server, whose client is not installed; or the environment means nothing.
    """
    storage = _storage(store, agency)
    try:
        yield storage
    finally:
        await storage.close()


def _storage(store: str | None, agency: str) -> StateStorage:
    if store is None:
        return _of_environment(agency)
    if store.startswith(_SERVERS):
        from liman_nb.state.redis.storage import RedisStateStorage

        return RedisStateStorage(store, agency=agency)
    if "://" in store:
        raise UsageError(
            f"--store: it begins with none of {', '.join(_SERVERS)}, and a directory has no '://'"
        )
    if agency:
        raise _agency_of_a_directory()
    from liman_nb.state.disk.storage import DiskCacheStateStorage

    return DiskCacheStateStorage(store)


def _of_environment(agency: str) -> StateStorage:
    """The storage that an agent has which is given none."""
    settings = read_settings()
    if settings.store == "memory":
        raise UsageError(
            "the environment's LIMAN_NB_STORE is memory, where no other process can look; name a "
            "store: --store DIRECTORY or --store redis://…"
        )
    if agency and settings.store != "redis":
        raise _agency_of_a_directory()
    return replace(settings, agency=agency or settings.agency).storage()


def _agency_of_a_directory() -> UsageError:
    return UsageError("--agency is for a Redis server: a directory has one user's sessions")


async def found(storage: StateStorage, wanted: str) -> SessionInfo:
    """The session that a text means: its root id, its session id, or how one of them begins.

    Raises:
        UnknownSession: there is none.
        UsageError: there are several.
    """
    lines = await storage.list_sessions()
    matches = _matches(lines, wanted)
    if not matches:
        raise UnknownSession(
            f"no session {wanted!r} in {storage!r}; `liman-nb sessions list` shows those that are"
        )
    if len(matches) > 1:
        listed = [f"  {line.root}  {one_line(line.session_id)}" for line in matches[:_LISTED]]
        more = len(matches) - len(listed)
        listed += [f"  and {more} more"] if more else []
        same = all(line.session_id == wanted for line in matches)
        why = "have this session id, of different agents" if same else "begin so"
        raise UsageError(
            "\n".join([f"{len(matches)} sessions {why}: give the root id of one", *listed])
        )
    return matches[0]


def _matches(lines: Sequence[SessionInfo], wanted: str) -> list[SessionInfo]:
    """A root id goes before a session id, and a whole id before a part of one."""
    by_root = [line for line in lines if line.root == wanted]
    by_id = [line for line in lines if line.session_id == wanted]
    if by_root or by_id or not wanted:
        return by_root or by_id
    return [
        line for line in lines if line.root.startswith(wanted) or line.session_id.startswith(wanted)
    ]


async def tree_in(storage: StateStorage, root: str) -> Tree:
    """A stored session.

    Raises:
        UnknownSession: it is gone.
        StorageError: it cannot be read.
    """
    rows = await storage.peek_rows(root)
    if not rows:
        raise UnknownSession(f"session {root} is no longer in {storage!r}")
    return tree_of(root, rows)


async def status_in(storage: StateStorage, root: str) -> str:
    """A stored session's status, also of one that cannot be read."""
    try:
        return (await tree_in(storage, root)).status
    except StorageError:
        return UNREADABLE


async def deleted(storage: StateStorage, root: str) -> bool:
    """Deletes a session, unless somebody goes on with it at this moment; whether it did."""
    try:
        return await delete_from(storage, root)
    except SessionConflict:
        return False


async def unused_since(storage: StateStorage, moment: datetime) -> list[str]:
    """Root ids of the sessions whose last turn began before a moment, and ended."""
    before = moment.isoformat()
    lines = [line for line in await storage.list_sessions() if line.used_at < before]
    return [line.root for line in lines if await status_in(storage, line.root) in ENDED]
