"""What Linux tells about a file: its file system, and who holds a lock. Elsewhere: nothing."""

from __future__ import annotations

import re
from pathlib import Path

_NETWORK = {
    "nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "beegfs",
    "glusterfs", "gpfs", "davfs", "vboxsf", "fuse.sshfs", "fuse.rclone", "fuse.s3fs",
    "fuse.gcsfuse", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.cephfs", "fuse.davfs2",
    "fuse.curlftpfs",
}  # fmt: skip
"""File systems on which SQLite's locks, or its memory shared between processes, do not work."""

_WRITER = re.compile(r"\d+: POSIX +\w+ +WRITE (\d+) \S+:(\d+) 120 120")
"""Who has locked byte 120 of a file, as SQLite's writer in WAL mode does with ``-shm``."""


def network_filesystem(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """Name of the network file system that a path is on; empty when it is on none.

    Args:
        path: an absolute path.
        mounts: the system's table of mounts.
    """
    best, kind = Path(), ""
    for line in _lines(mounts):
        mount = line.split(" ")
        point = Path(_unescaped(mount[1]))
        if path.is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, mount[2]
    return kind if kind in _NETWORK else ""


def writer_of(database: Path, locks: Path = Path("/proc/locks")) -> int | None:
    """The process that is writing to a database in WAL mode; ``None`` when it is not known.

    Args:
        database: the database's file.
        locks: the system's table of locks.
    """
    try:
        inode = database.with_name(f"{database.name}-shm").stat().st_ino
    except OSError:
        return None
    for line in _lines(locks):
        lock = _WRITER.fullmatch(line)
        if lock is not None and int(lock[2]) == inode:
            return int(lock[1]) or None  # 0 is a process that this one may not see
    return None


def _lines(table: Path) -> list[str]:
    try:
        return table.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []


def _unescaped(text: str) -> str:
    r"""A path of the table of mounts, where a space is written as ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
