"""The lock files beside a store: where they are, what is left of them, and if there are none."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import threading
import time
from pathlib import Path

import diskcache
import filelock
import pytest

from liman_nb.errors import SessionConflict, StorageError
from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.state.storage import Lease
from liman_nb.testing.story import Story


async def _told(directory):
    storage, story = DiskCacheStateStorage(directory), Story()
    for commit in story.tell(turns=1):
        await storage.commit(commit)
    return storage, story


def _lease(storage, story):
    return storage.lease(str(story.root), story.session_id)


async def test_the_files_are_private_and_beside_the_store(tmp_path):
    """Where diskcache's check does not delete them, as it does unknown files of its directory."""
    storage, story = await _told(tmp_path / "store")
    lease = await _lease(storage, story)
    (file,) = (tmp_path / "store.locks").iterdir()
    assert stat.S_IMODE((tmp_path / "store.locks").stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with diskcache.Cache(str(tmp_path / "store")) as cache:
        assert cache.check(fix=True) == []
    with pytest.raises(SessionConflict):
        await _lease(DiskCacheStateStorage(tmp_path / "store"), story)
    await lease.release()
    await storage.close()


async def test_closing_the_store_leaves_no_files(tmp_path):
    """Except those of leases that others hold."""
    storage, story = await _told(tmp_path / "store")
    other, another = DiskCacheStateStorage(tmp_path / "store"), Story()
    held = await _lease(other, another)
    await (await _lease(storage, story)).release()
    assert len(list((tmp_path / "store.locks").iterdir())) == 2
    await storage.close()
    assert len(list((tmp_path / "store.locks").iterdir())) == 1
    with pytest.raises(SessionConflict):
        await _lease(storage, another)
    await held.release()
    await other.close()
    assert not (tmp_path / "store.locks").exists()


async def test_old_files_that_nobody_holds_are_cleared_away_by_the_next_process(tmp_path):
    """What a killed one left; not those in use, however old, nor young ones."""
    storage, story = await _told(tmp_path / "store")
    held = await _lease(storage, story)
    directory = tmp_path / "store.locks"
    for name in ("old", "young"):
        (directory / name).write_text("left")
    hour_ago = time.time() - 3600
    for file in directory.iterdir():
        if file.name != "young":
            os.utime(file, (hour_ago, hour_ago))
    (in_use,) = {file.name for file in directory.iterdir()} - {"old", "young"}
    other, another = DiskCacheStateStorage(tmp_path / "store"), Story()
    await (await _lease(other, another)).release()
    for _ in range(1000):
        if not (directory / "old").exists():
            break
        await asyncio.sleep(0.01)
    assert not (directory / "old").exists()
    assert {in_use, "young"} <= {file.name for file in directory.iterdir()}
    with pytest.raises(SessionConflict):
        await _lease(other, story)
    await held.release()
    await other.close()
    await storage.close()


@pytest.mark.parametrize("text", ["", "x", " {}", ' {"process": "x"}', "\x00" * 2000])
async def test_a_holder_that_cannot_be_read_is_another_process(tmp_path, text):
    """Whatever stands in the file, the lock is what counts."""
    storage, story = await _told(tmp_path / "store")
    lease = await _lease(storage, story)
    (file,) = (tmp_path / "store.locks").iterdir()
    file.write_text(text)
    with pytest.raises(SessionConflict, match="'alice': another process is writing to it"):
        await _lease(storage, story)
    await lease.release()
    await (await _lease(storage, story)).release()
    await storage.close()


async def test_one_store_under_two_paths_is_one_store(tmp_path):
    """Such as through a link."""
    storage, story = await _told(tmp_path / "store")
    (tmp_path / "link").symlink_to(tmp_path / "store")
    linked = DiskCacheStateStorage(tmp_path / "link")
    lease = await _lease(storage, story)
    with pytest.raises(SessionConflict):
        await _lease(linked, story)
    await lease.release()
    await linked.close()
    await storage.close()


async def test_a_link_in_the_place_of_a_lock_file_is_not_followed(tmp_path):
    """It could lead to any file of the user's."""
    storage, story = await _told(tmp_path / "store")
    await (await _lease(storage, story)).release()
    (file,) = (tmp_path / "store.locks").iterdir()
    file.unlink()
    (tmp_path / "secret").write_text("mine")
    file.symlink_to(tmp_path / "secret")
    with pytest.warns(UserWarning, match="sessions cannot be locked"):
        await _lease(storage, story)
    assert (tmp_path / "secret").read_text() == "mine"
    await storage.close()


async def test_when_somebody_deletes_the_files_the_journal_still_has_one_writer(tmp_path):
    """The last guard: of two commits with one number, one is stored."""
    storage, story = await _told(tmp_path / "store")
    lease = await _lease(storage, story)
    for file in (tmp_path / "store.locks").iterdir():
        file.unlink()
    other = DiskCacheStateStorage(tmp_path / "store")
    second = await _lease(other, story)
    begun, _ = story.tell(turns=1)
    await other.commit(begun)
    with pytest.raises(SessionConflict, match="another kernel or program wrote to it"):
        await storage.commit(begun)
    await lease.release()
    with pytest.raises(SessionConflict):  # the first one's release took nothing from the second
        await _lease(storage, story)
    await second.release()
    await other.close()
    await storage.close()


async def test_where_no_directory_can_be_made_a_warning_says_what_is_missing(tmp_path):
    """Once; sessions are written all the same, with the journal's own guard."""
    storage, story = await _told(tmp_path / "store")
    (tmp_path / "store.locks").write_text("in the way")
    with pytest.warns(UserWarning, match="find out only when the second one's turn is stored"):
        lease = await _lease(storage, story)
    assert type(lease) is Lease
    assert lease.rows == 2
    await _lease(storage, story)
    await storage.close()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
async def test_a_file_system_without_locks_gives_the_same_warning(tmp_path, monkeypatch, number):
    """And no file is kept open."""
    storage, story = await _told(tmp_path / "store")
    monkeypatch.setattr(filelock, "lock_descriptor", _failing(number))
    before = _open_files()
    with pytest.warns(UserWarning, match=f"{os.strerror(number)}.*on a disk with file locks"):
        assert type(await _lease(storage, story)) is Lease
    assert _open_files() == before
    await storage.close()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOSPC, errno.EIO])
async def test_what_may_pass_is_an_error_and_no_reason_to_go_on_unlocked(
    tmp_path, monkeypatch, number
):
    """Nothing is stored, and the next try may be the one."""
    storage, story = await _told(tmp_path / "store")
    with monkeypatch.context() as patch:
        patch.setattr(filelock, "lock_descriptor", _failing(number))
        with pytest.raises(StorageError, match=r"cannot be locked in .*store\.locks \(.*stored"):
            await _lease(storage, story)
    await (await _lease(storage, story)).release()
    await storage.close()


def _failing(number):
    def fail(descriptor, *, blocking):
        raise OSError(number, os.strerror(number))

    return fail


def _open_files():
    return len(list(Path("/proc/self/fd").glob("*")))


def test_threads_with_loops_of_their_own_take_turns(tmp_path):
    """Of one storage object, too; nobody is let in while another is inside."""
    storage, story = DiskCacheStateStorage(tmp_path / "store"), Story()
    inside, most, done = [], [], []

    async def work():
        while len(done) < 200:
            try:
                lease = await _lease(storage, story)
            except SessionConflict:
                await asyncio.sleep(0)
                continue
            inside.append(1)
            most.append(len(inside))
            inside.pop()
            done.append(1)
            await lease.release()

    threads = [threading.Thread(target=asyncio.run, args=(work(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(done) >= 200
    assert set(most) == {1}
    asyncio.run(storage.close())


async def test_a_lease_that_is_forgotten_is_free(tmp_path):
    """As that of a turn whose event loop is gone."""
    storage, story = await _told(tmp_path / "store")
    lease = await _lease(storage, story)
    del lease
    await (await _lease(storage, story)).release()
    await storage.close()
