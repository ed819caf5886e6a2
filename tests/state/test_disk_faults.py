"""What cannot be used as a store, or no longer, is one clear error, and harms nothing."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from liman_nb.errors import SessionConflict, StorageError
from liman_nb.state.disk import linux, opening
from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.testing.story import Story

NOBODY = 65534


async def _tell(storage, story, turns=1):
    for commit in story.tell(turns):
        await storage.commit(commit)
    return story


async def _made(directory, turns=1, **fields):
    """A closed store with one session."""
    storage = DiskCacheStateStorage(directory)
    story = await _tell(storage, Story(**fields), turns)
    await storage.close()
    return story


def _sql(directory, *statements):
    connection = sqlite3.connect(directory / "cache.db", isolation_level=None)
    for statement in statements:
        rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


async def _refusal(directory, **arguments):
    """The error of a write to a directory, which must also be the error of a second write."""
    storage = DiskCacheStateStorage(directory, **arguments)
    messages = set()
    for _ in range(2):
        with pytest.raises(StorageError) as caught:
            await storage.commit(next(Story().tell(turns=1)))
        messages.add(str(caught.value))
    await storage.close()
    (message,) = messages
    return message


async def test_a_file_in_the_place_of_the_directory(tmp_path):
    """The message says what is there instead."""
    (tmp_path / "store").write_text("notes")
    message = await _refusal(tmp_path / "store")
    assert message == f"the store {tmp_path}/store: it is a file: give the path of a directory"
    with pytest.raises(StorageError, match="it is a file"):
        await DiskCacheStateStorage(tmp_path / "store").list_sessions()
    assert (tmp_path / "store").read_text() == "notes"


async def test_a_directory_that_cannot_be_made(tmp_path):
    """Below a file there is no directory."""
    (tmp_path / "file").write_text("notes")
    message = await _refusal(tmp_path / "file" / "store")
    assert "the directory cannot be used" in message
    assert message.endswith("give one that you may write to")


@pytest.mark.parametrize("text", [b"!", b"notes", b"somebody's notes\n" * 1000])
async def test_a_file_that_is_no_database(tmp_path, text):
    """It is left as it was, however short it is."""
    (tmp_path / "cache.db").write_bytes(text)
    message = await _refusal(tmp_path)
    assert "cache.db is not a database: give another directory, or move this one away" in message
    assert (tmp_path / "cache.db").read_bytes() == text


@pytest.mark.parametrize("name", ["cache.db", "cache.db-wal", "cache.db-shm", "cache.db-journal"])
async def test_a_link_in_the_place_of_a_file(tmp_path, name):
    """A link could lead to any file of the user's."""
    target = tmp_path / "secret"
    target.write_text("mine")
    target.chmod(0o644)
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / name).symlink_to(target)
    message = await _refusal(tmp_path / "store")
    assert (
        message == f"{tmp_path}/store/{name} is not a plain file: move it away, it was not opened"
    )
    assert target.read_text() == "mine"
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


async def test_a_newer_format(tmp_path):
    """An older version neither reads it nor touches it."""
    await _made(tmp_path)
    _sql(tmp_path, "PRAGMA user_version = 2")
    before = (tmp_path / "cache.db").read_bytes()
    message = await _refusal(tmp_path)
    assert "was written by a newer liman_nb (format 2, this one reads 1): pip install -U" in message
    assert (tmp_path / "cache.db").read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE TABLE people (name)", "people"),
        ("CREATE VIEW v AS SELECT * FROM Cache", "v"),
        ("CREATE TRIGGER t AFTER INSERT ON Cache BEGIN DELETE FROM Cache; END", "t"),
        ("INSERT INTO Settings VALUES ('_sql', 'x')", "_sql"),
        ("INSERT INTO Settings VALUES ('sqlite_temp_store_directory', '/')", "sqlite_temp_store_d"),
        ("INSERT INTO Settings VALUES ('disk_codec', 'x')", "disk_codec"),
    ],
)
async def test_a_database_with_more_in_it_than_diskcache_puts_there(tmp_path, statement, name):
    """Its settings would become attributes and pragmas; a trigger would run."""
    await _made(tmp_path)
    _sql(tmp_path, statement)
    message = await _refusal(tmp_path)
    assert f"cache.db holds '{name}" in message
    assert message.endswith(
        "diskcache does not know: give another directory, nothing was written to this one"
    )


async def test_a_full_disk_leaves_the_store_usable(tmp_path):
    """The row that did not fit is not there; the next one that fits is."""
    storage = DiskCacheStateStorage(tmp_path)
    story = await _tell(storage, Story())
    connection = storage._opened.connections.here()
    ((pages,),) = connection.execute("PRAGMA page_count").fetchall()
    connection.execute(f"PRAGMA max_page_count = {pages + 4}")
    with pytest.raises(StorageError, match="the disk is full: free some space, then repeat"):
        await _tell(storage, Story(root=story.root, rows=list(story.rows), text="x" * 200_000))
    assert await storage.load_rows(str(story.root)) == story.rows
    connection.execute("PRAGMA max_page_count = 1000000")
    await _tell(storage, story)
    assert await storage.load_rows(str(story.root)) == story.rows
    assert not connection.in_transaction
    await storage.close()


@pytest.fixture
def open_directory():
    """A directory that other users reach too, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name) / "store"


@contextmanager
def _without_privileges(directory):
    """Root may do everything, whatever the modes say; so it lends its rights to nobody's user."""
    if os.geteuid() != 0:
        yield
        return
    for path in [directory, *directory.iterdir()]:
        os.chown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        (0o500, "it cannot be written: check the permissions of the directory and its files"),
        (0o000, "the directory cannot be used (Permission denied): give one that you may write to"),
    ],
)
async def test_a_directory_that_may_not_be_written(open_directory, mode, message):
    """Reading and writing say so, and work again when the directory may be written."""
    story = await _made(open_directory)
    storage = DiskCacheStateStorage(open_directory)
    with _without_privileges(open_directory):
        open_directory.chmod(mode)
        assert message in await _refusal(open_directory)
        with pytest.raises(StorageError, match=re.escape(message)):
            await storage.load_rows(str(story.root))
        open_directory.chmod(0o700)
        assert await storage.load_rows(str(story.root)) == story.rows
        await _tell(storage, story)
        await storage.close()


async def test_a_database_that_turns_read_only_can_still_be_read(tmp_path):
    """SQLite's own read-only mode stands in for a medium that is remounted in the meantime."""
    storage = DiskCacheStateStorage(tmp_path)
    story = await _tell(storage, Story())
    storage._opened.connections.here().execute("PRAGMA query_only = ON")
    with pytest.raises(StorageError, match="it cannot be written: check the permissions"):
        await storage.commit(next(Story().tell(turns=1)))
    assert await storage.load_rows(str(story.root)) == story.rows
    assert [line.session_id for line in await storage.list_sessions()] == ["alice"]
    await storage.close()


async def _reading(directory, data, story):
    """What reading a session gives when the database holds these bytes: "all", or the error."""
    directory.mkdir()
    (directory / "cache.db").write_bytes(data)
    storage = DiskCacheStateStorage(directory)
    try:
        assert await storage.load_rows(str(story.root)) == story.rows
    except StorageError as error:
        return str(error)
    else:
        return "all"
    finally:
        await storage.close()


async def test_a_truncated_database_is_reported_never_half_read(tmp_path):
    """Cut anywhere, it gives all rows or an error that says so."""
    story = await _made(tmp_path / "whole", turns=100, text="x" * 300)
    data = (tmp_path / "whole" / "cache.db").read_bytes()
    cuts = [1, 99, 100, 512, 4095, 4096, *range(5000, len(data), 4999), len(data) - 1]
    found = [await _reading(tmp_path / str(cut), data[:cut], story) for cut in cuts]
    errors = [error for error in found if error != "all"]
    assert len(errors) > len(cuts) / 2
    assert all("damaged" in error or "not a database" in error for error in errors)


async def test_overwritten_pages_are_reported_never_half_read(tmp_path):
    """A page of zeros anywhere gives all rows or an error that says so."""
    story = await _made(tmp_path / "whole", turns=100, text="x" * 300)
    data = (tmp_path / "whole" / "cache.db").read_bytes()
    holed = [data[:i] + bytes(4096) + data[i + 4096 :] for i in range(0, len(data), 4096)]
    found = [await _reading(tmp_path / str(i), bad, story) for i, bad in enumerate(holed)]
    errors = [error for error in found if error != "all"]
    assert len(errors) > len(holed) / 2
    assert all("damaged" in error or "not a database" in error for error in errors)


async def test_a_store_deleted_under_a_running_kernel(tmp_path):
    """Its sessions are gone, and whoever goes on with one is told; new ones are kept."""
    directory = tmp_path / "store"
    storage = DiskCacheStateStorage(directory)
    story = await _tell(storage, Story())
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    assert await storage.list_sessions() == []
    with pytest.raises(SessionConflict, match="or deleted it"):
        await _tell(storage, story)
    fresh = await _tell(storage, Story(session_id="fresh"))
    await storage.close()
    storage = DiskCacheStateStorage(directory)
    assert await storage.load_rows(str(fresh.root)) == fresh.rows
    await storage.close()


# ── where it is ──────────────────────────────────────────────────────────────────────────────────

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/me/local\\040disk xfs rw 0 0
me@host: /home/me/remote fuse.sshfs rw 0 0
portal /run/user/0/doc fuse.portal rw 0 0
//nas/share /mnt/nas cifs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/x", ""),
        ("/home/me/.liman_nb", "nfs4"),
        ("/home/me/local disk/x", ""),
        ("/home/me/local", "nfs4"),
        ("/home/me/remote/a/b", "fuse.sshfs"),
        ("/run/user/0/doc/x", ""),
        ("/mnt/nas", "cifs"),
        ("/mnt/nas2", ""),
    ],
)
def test_network_file_systems_are_known_by_the_longest_mount(tmp_path, path, kind):
    """The mount that a path is on is the one whose point is the longest part of it."""
    table = tmp_path / "mounts"
    table.write_text(MOUNTS)
    assert linux.network_filesystem(Path(path), table) == kind


def test_without_a_table_of_mounts_nothing_is_known(tmp_path):
    """On other systems there is no warning, and no error."""
    assert linux.network_filesystem(tmp_path, tmp_path / "none") == ""


async def test_a_network_file_system_gives_a_warning(tmp_path, monkeypatch):
    """Once, when the store is opened; it works all the same."""
    monkeypatch.setattr(linux, "network_filesystem", lambda path: "nfs4")
    storage = DiskCacheStateStorage(tmp_path)
    with pytest.warns(UserWarning, match=r"is on a network file system \(nfs4\)") as caught:
        story = await _tell(storage, Story())
    assert len(caught) == 1
    assert await storage.load_rows(str(story.root)) == story.rows
    await storage.close()


async def test_an_opening_that_hangs_is_given_up(tmp_path, monkeypatch):
    """Another process may take the lock just when diskcache begins to open the directory."""
    free = threading.Event()
    monkeypatch.setattr(opening, "open_store", lambda directory: free.wait(30))
    storage = DiskCacheStateStorage(tmp_path, timeout=0.1)
    with pytest.raises(StorageError, match=r"another process has held the store .* for 0\.1 s"):
        await storage.commit(next(Story().tell(turns=1)))
    free.set()
