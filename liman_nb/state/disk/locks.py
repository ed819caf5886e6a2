"""One lock file for each session that is written to: the operating system frees a dead holder's.

The files lie beside the store's directory, never in it, where diskcache's ``check(fix=True)`` would
delete them. A file is locked as long as its lease, and names the holder for others to read. Then it
is left for the session's next lease, since to make and delete one costs a hundred times as much as
to lock it. What nobody has locked is cleared away when the store is closed, by a process's first
lease, and by every thousandth.

Where a file cannot be locked, since its file system has no locks or the directory beside the store
may not be made, a warning says so and a lease excludes nobody; two writers then find out at the
commit that comes second. So it is, unsaid, for two containers that share nothing but the store's
directory itself.
"""

from __future__ import annotations

import asyncio
import errno
import importlib
import os
import sys
import threading
import time
import warnings
import weakref
from contextlib import suppress
from pathlib import Path

from liman_nb.errors import StorageError
from liman_nb.state.conflicts import Holder, refused
from liman_nb.state.storage import Lease

_TRANSIENT = {errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM}
"""Errors after which a lock may be had later: no reason to go on without one."""

_LOOKS = 25
_BETWEEN_LOOKS = 0.004  # seconds

_IN_USE = 60  # seconds; a younger file may be needed again soon
_TAKEN_BETWEEN_CLEARINGS = 1000

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_TEXT_AT = 1  # Windows lets nobody else read the byte that is locked, the first one
_TEXT_BYTES = 1024
_NOBODY = b""

_IS_WINDOWS = os.name == "nt"


class FileLease(Lease):
    """A locked file. Unlocked when it is given back, or when nothing refers to it any more.

    Args:
        path: the file's.
        descriptor: of the file, locked.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        super().__init__()
        self.path, self.held = path, True
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._unlocking = threading.Lock()
        _IN_THIS_PROCESS.add(self)

    @property
    def is_deserted(self) -> bool:
        """Whether its event loop was closed, so that it is never given back."""
        return self._loop.is_closed()

    async def release(self) -> None:
        """Unlocks the file."""
        self.drop()

    def drop(self) -> None:
        """The same from any thread, without an event loop."""
        with self._unlocking:
            if self.held:
                self.held = False
                _unlock(self._descriptor)

    def forget(self) -> None:
        """In a forked process: the lock is its parent's, and must not outlive it in here."""
        if self.held:
            self.held = False
            os.close(self._descriptor)

    def __del__(self) -> None:
        if self.held and not sys.is_finalizing():  # the end of the process unlocks it, too
            self.drop()


_IN_THIS_PROCESS: weakref.WeakSet[FileLease] = weakref.WeakSet()
"""What a forked process has to forget: it would keep the locks of a parent that was killed."""


def _forget_all() -> None:
    for lease in list(_IN_THIS_PROCESS):
        lease.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


class Locks:
    """The lock files of one store.

    Args:
        store: the store's directory, which need not exist.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self.directory = f"{os.path.realpath(store)}.locks"
        self._taken = 0
        self._is_warned = False

    async def take(self, name: str, session_id: str) -> Lease:
        """Locks a session's file without waiting for a holder.

        Args:
            name: of the file.
            session_id: for messages.

        Raises:
            SessionConflict: another writer holds it.
            StorageError: this process or its disk is out of something.
        """
        await _load_library()
        path = os.path.join(self.directory, name)  # noqa: PTH118  # a Path costs more than the lock
        try:
            lease = await self._take(path, session_id)
        except OSError as error:
            if error.errno in _TRANSIENT:
                raise StorageError(
                    f"the store {self._store}: session {session_id!r} cannot be locked in "
                    f"{self.directory} ({error.strerror}); nothing of this call was stored"
                ) from error
            self._warn(error)
            return Lease()
        if self._taken % _TAKEN_BETWEEN_CLEARINGS == 0:
            asyncio.get_running_loop().run_in_executor(None, self._clear_away, _IN_USE)
        self._taken += 1
        return lease

    async def _take(self, path: str, session_id: str) -> FileLease:
        """A holder has to be seen twice: a file may just be made, or be cleared away."""
        holder: Holder | None = None
        for _ in range(_LOOKS):
            lease = _locked(path)
            if lease is not None:
                return lease
            before, holder = holder, _holder(path)
            if holder is not None and holder.is_this_process and _drop_deserted(path):
                continue
            if holder is not None and holder == before:
                break
            await asyncio.sleep(_BETWEEN_LOOKS)
        process = holder.process if holder else "<its number>"
        raise refused(
            session_id,
            holder,
            "A process that ends in any way frees it at once; one that is paused keeps it, until "
            f"it goes on (kill -CONT {process}) or is killed (kill -KILL {process})",
        )

    async def close(self) -> None:
        """Deletes what is not in use: the files, and the directory if none is left."""
        if self._taken:
            self._taken = 0
            await asyncio.to_thread(self._clear_away, 0)

    def _clear_away(self, age: float) -> None:
        """Deletes the files that nobody has locked and that were last used `age` seconds ago."""
        before = time.time() - age
        with suppress(OSError):
            for file in list(Path(self.directory).iterdir()):
                with suppress(OSError):  # another process clears away, too
                    if file.lstat().st_mtime <= before:
                        _clear(file)
            Path(self.directory).rmdir()  # fails if a file is left

    def _warn(self, error: OSError) -> None:
        """Once, and not where the store itself cannot be written, which its commit says."""
        if not self._is_warned and os.access(self._store, os.W_OK):
            self._is_warned = True
            warnings.warn(
                f"the store {self._store}: sessions cannot be locked in {self.directory} "
                f"({error.strerror}), so two kernels that write to one session find out only when "
                "the second one's turn is stored: give a directory beside which one may be made, "
                "on a disk with file locks",
                stacklevel=2,
            )


async def _load_library() -> None:
    """Imports it off the loop, which it would hold up for a while."""
    if "filelock" not in sys.modules:
        await asyncio.to_thread(importlib.import_module, "filelock")


def _locked(path: str) -> FileLease | None:
    """The file, made if need be, locked, and naming its holder; ``None`` if it is not to be had."""
    from filelock import lock_descriptor

    descriptor = _opened(path)
    try:
        if lock_descriptor(descriptor, blocking=False) and _is_at(path, descriptor):
            _name(descriptor, Holder.here().dump())
            return FileLease(path, descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _opened(path: str) -> int:
    """The file, made if need be; its directory, too, which another process may just clear away."""
    for _ in range(_LOOKS):
        with suppress(FileNotFoundError):
            return os.open(path, _FLAGS, 0o600)
        directory = Path(path).parent
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(0o700, exist_ok=True)
    return os.open(path, _FLAGS, 0o600)


def _name(descriptor: int, holder: bytes) -> None:
    """Writes a holder's text over the one before: to truncate a file takes some systems long."""
    os.lseek(descriptor, _TEXT_AT, os.SEEK_SET)
    os.write(descriptor, holder.ljust(_TEXT_BYTES))


def _holder(path: str) -> Holder | None:
    """Who a file names; ``None`` if it is gone, or names nobody."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        os.lseek(descriptor, _TEXT_AT, os.SEEK_SET)
        return Holder.parse(os.read(descriptor, _TEXT_BYTES))
    finally:
        os.close(descriptor)


def _is_at(path: str, descriptor: int) -> bool:
    """Whether the open file is the one of that name: not deleted, not replaced."""
    try:
        there = os.stat(path, follow_symlinks=False)  # noqa: PTH116  # as above
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))


def _unlock(descriptor: int) -> None:
    """Gives a locked file free, also for the copies that a forked process may have of it."""
    from filelock import unlock_descriptor

    try:
        _name(descriptor, _NOBODY)
        unlock_descriptor(descriptor)
    finally:
        os.close(descriptor)


def _clear(file: Path) -> None:
    """Deletes a file unless somebody has locked it; on Windows, unless somebody has it open."""
    from filelock import lock_descriptor

    descriptor = os.open(file, _FLAGS & ~os.O_CREAT)
    if not lock_descriptor(descriptor, blocking=False):
        os.close(descriptor)
        return
    try:
        if not _IS_WINDOWS and _is_at(str(file), descriptor):
            file.unlink()
    finally:
        _unlock(descriptor)
    if _IS_WINDOWS:
        file.unlink()


def _drop_deserted(path: str) -> bool:
    """Frees a lease of this process whose event loop was closed; whether there was one."""
    found = [lease for lease in list(_IN_THIS_PROCESS) if lease.path == path and lease.is_deserted]
    for lease in found:
        lease.drop()
    return bool(found)
