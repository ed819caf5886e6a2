"""Several processes on one directory: real ones, that write, hold the lock, and are killed."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import asynccontextmanager, closing
from uuid import uuid4

import pytest

from liman_nb.errors import SessionConflict, StorageError
from liman_nb.state.disk import linux
from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.testing.story import Story

PRELUDE = """
import asyncio, random, sqlite3, sys, time
from liman_nb.errors import SessionConflict
from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.state.rows import RunRow, TurnRow
from liman_nb.state.storage import Commit, Touched
from liman_nb.testing.story import Story
directory, argument = sys.argv[1:]
storage = DiskCacheStateStorage(directory, timeout=30)
"""

OWN_SESSION = """
async def main():
    story = Story(session_id=argument)
    print(story.root, flush=True)
    for commit in story.tell(100):
        await storage.commit(commit)
asyncio.run(main())
"""

SHARED_SESSION = """
async def main():
    mine = 0
    while mine < 30:
        number = len(await storage.load_rows(argument))
        row = RunRow(kind="run", at="", executor=argument, output=[random.random(), mine])
        await asyncio.sleep(random.random() / 500)
        try:
            await storage.commit(Commit(argument, number, (row,), Touched, open=True))
        except SessionConflict:
            continue
        mine += 1
        print(row.output[0], flush=True)
asyncio.run(main())
"""

WRITE_UNTIL_KILLED = """
async def main():
    story = Story(text="x" * 3000)
    print(story.root, flush=True)
    for commit in story.tell(10**6):
        await storage.commit(commit)
        print(commit.first, flush=True)
asyncio.run(main())
"""

HOLD_THE_LOCK = """
connection = sqlite3.connect(directory + "/cache.db", isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE Settings SET value = value")
print("held", flush=True)
time.sleep(float(argument))
connection.execute("ROLLBACK")
print("free", flush=True)
"""


def _start(code, directory, argument):
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code, str(directory), str(argument)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process):
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    return out.split()


@asynccontextmanager
async def _lock_held(directory, seconds):
    """Another process holds the write lock; gives the process."""
    process = _start(HOLD_THE_LOCK, directory, seconds)
    assert await asyncio.to_thread(process.stdout.readline) == "held\n"
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@asynccontextmanager
async def _loop_watched():
    """Gives a list that ends up with the longest time in which the event loop did not run."""
    longest = [0.0]

    async def tick():
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            longest[0] = max(longest[0], time.perf_counter() - began)

    task = asyncio.create_task(tick())
    try:
        yield longest
    finally:
        task.cancel()


async def _told(directory, turns=1):
    storage = DiskCacheStateStorage(directory)
    story = Story()
    for commit in story.tell(turns):
        await storage.commit(commit)
    await storage.close()
    return story


# ── writing at the same time ─────────────────────────────────────────────────────────────────────


async def test_processes_make_one_store_at_the_same_time(tmp_path):
    """Four kernels start on a directory that is not there yet; each writes its session."""
    processes = [_start(OWN_SESSION, tmp_path / "store", f"s{i}") for i in range(4)]
    roots = [_finish(process)[0] for process in processes]
    storage = DiskCacheStateStorage(tmp_path / "store")
    assert {line.session_id for line in await storage.list_sessions()} == {"s0", "s1", "s2", "s3"}
    for root in roots:
        assert len(await storage.load_rows(root)) == 200
    await storage.close()


async def test_two_processes_on_one_session_lose_nothing(tmp_path):
    """Every row that one was told is stored is stored once; nothing else is."""
    root = str(uuid4())
    processes = [_start(SHARED_SESSION, tmp_path, root) for _ in range(2)]
    told = [float(word) for process in processes for word in _finish(process)]
    storage = DiskCacheStateStorage(tmp_path)
    stored = [row.output[0] for row in await storage.load_rows(root)]
    assert sorted(stored) == sorted(told)
    assert len(stored) == 60
    await storage.close()


async def test_a_second_kernel_is_told_that_it_came_second(tmp_path):
    """What the first one wrote is there, whole."""
    first, second = DiskCacheStateStorage(tmp_path), DiskCacheStateStorage(tmp_path)
    story = Story()
    for commit in story.tell(turns=2):
        await first.commit(commit)
    late = Story(root=story.root)
    with pytest.raises(SessionConflict, match="the input of this turn was not stored"):
        await second.commit(next(late.tell(turns=1)))
    assert await second.load_rows(str(story.root)) == story.rows
    await first.close()
    await second.close()


# ── a lock that another process holds ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("opened", [True, False], ids=["already open", "to be opened"])
async def test_a_held_lock_is_waited_for_while_the_loop_runs(tmp_path, opened):
    """A commit waits a second for another process; meanwhile no task is held up."""
    story = await _told(tmp_path)
    storage = DiskCacheStateStorage(tmp_path, timeout=30)
    if opened:
        assert await storage.load_rows(str(story.root)) == story.rows
    async with _lock_held(tmp_path, seconds=1.5), _loop_watched() as longest:
        began = time.perf_counter()
        for commit in story.tell(turns=1):
            await storage.commit(commit)
        waited = time.perf_counter() - began
    assert waited > 0.5
    assert longest[0] < 0.5
    assert await storage.load_rows(str(story.root)) == story.rows
    await storage.close()


@pytest.mark.parametrize("opened", [True, False], ids=["already open", "to be opened"])
async def test_a_lock_held_too_long_is_one_clear_error(tmp_path, opened):
    """It names the process, where Linux tells; nothing is stored, and the store stays usable."""
    story = await _told(tmp_path)
    storage = DiskCacheStateStorage(tmp_path, timeout=0.3)
    if opened:
        assert await storage.load_rows(str(story.root)) == story.rows
    async with _lock_held(tmp_path, seconds=60) as process:
        with pytest.raises(StorageError) as caught:
            await storage.commit(next(Story().tell(turns=1)))
        holder = linux.writer_of(tmp_path / "cache.db")
        assert holder in {process.pid, None}
        who, look = (
            (f"process {holder}", f"ps -p {holder}")
            if holder
            else ("another process", f"fuser -v {tmp_path}/cache.db")
        )
        assert str(caught.value) == (
            f"{who} has held the store {tmp_path} for 0.3 s: end it or let it finish, then repeat "
            f"(on Linux `{look}` shows it); nothing of this call was stored"
        )
    for commit in story.tell(turns=1):
        await storage.commit(commit)
    assert [line.session_id for line in await storage.list_sessions()] == ["alice"]
    await storage.close()


async def test_reading_does_not_wait_for_a_writer(tmp_path):
    """A session can be looked at while another process holds the lock."""
    story = await _told(tmp_path)
    storage = DiskCacheStateStorage(tmp_path, timeout=0)
    assert await storage.load_rows(str(story.root)) == story.rows
    async with _lock_held(tmp_path, seconds=60):
        assert await storage.load_rows(str(story.root)) == story.rows
        assert len(await storage.list_sessions()) == 1
    await storage.close()


async def test_a_cancelled_commit_stores_nothing_later(tmp_path):
    """Whoever stops waiting can rely on it."""
    story = await _told(tmp_path)
    storage = DiskCacheStateStorage(tmp_path)
    assert await storage.load_rows(str(story.root)) == story.rows
    async with _lock_held(tmp_path, seconds=60):
        task = asyncio.create_task(storage.commit(next(Story(root=story.root).tell(turns=1))))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await asyncio.sleep(0.1)
    assert await storage.load_rows(str(story.root)) == story.rows
    await storage.close()


async def test_sessions_that_wait_together_are_all_stored(tmp_path):
    """Fifty commits of fifty sessions meet a held lock."""
    await _told(tmp_path)
    storage = DiskCacheStateStorage(tmp_path, timeout=30)
    stories = [Story(session_id=f"s{i}") for i in range(50)]
    async with _lock_held(tmp_path, seconds=0.5):
        commits = [next(story.tell(turns=1)) for story in stories]
        await asyncio.gather(*map(storage.commit, commits))
    assert len(await storage.list_sessions()) == 51
    await storage.close()


LOCKS = """\
1: POSIX  ADVISORY  READ 77 08:01:{inode} 124 124
2: POSIX  ADVISORY  WRITE 4242 08:01:{inode} 120 120
2: -> POSIX  ADVISORY  WRITE 4343 08:01:{inode} 120 120
3: FLOCK  ADVISORY  WRITE 99 00:2d:1 0 EOF
"""


@pytest.mark.parametrize(
    ("table", "holder"),
    [
        (LOCKS, 4242),
        (LOCKS.replace("120 120", "121 121"), None),
        (LOCKS.replace("4242", "0"), None),
        ("", None),
        ("1: POSIX\n\nodd\n", None),
    ],
)
def test_the_writer_is_read_from_the_table_of_locks(tmp_path, table, holder):
    """The process that locks the byte that SQLite's writers lock, of this very database."""
    (tmp_path / "cache.db-shm").write_bytes(b"")
    inode = (tmp_path / "cache.db-shm").stat().st_ino
    locks = tmp_path / "locks"
    locks.write_text(table.format(inode=inode))
    assert linux.writer_of(tmp_path / "cache.db", locks) == holder
    assert linux.writer_of(tmp_path / "other.db", locks) is None
    assert linux.writer_of(tmp_path / "cache.db", tmp_path / "none") is None


# ── killed ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("lines", [1, 2, 3, 7, 40, 300])
async def test_a_killed_process_loses_nothing_that_it_was_told_is_stored(tmp_path, lines):
    """SIGKILL in the middle of writing: all rows that were acknowledged, in order, and no part."""
    process = _start(WRITE_UNTIL_KILLED, tmp_path, "")
    said = [await asyncio.to_thread(process.stdout.readline) for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    process.communicate()
    root, *numbers = "".join([*said, rest]).split("\n")[:-1]
    storage = DiskCacheStateStorage(tmp_path)
    rows = await storage.load_rows(root)
    assert len(numbers) <= len(rows) <= len(numbers) + 1
    assert [row.kind for row in rows] == list(
        itertools.islice(itertools.cycle(["turn", "run"]), len(rows))
    )
    for commit in Story(session_id="next").tell(turns=1):
        await storage.commit(commit)
    await storage.close()
    with closing(sqlite3.connect(tmp_path / "cache.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_a_killed_holder_frees_the_lock(tmp_path):
    """A dead process keeps nobody out."""
    story = await _told(tmp_path)
    storage = DiskCacheStateStorage(tmp_path, timeout=30)
    async with _lock_held(tmp_path, seconds=60) as process:
        waiting = asyncio.create_task(storage.commit(next(story.tell(turns=1))))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        os.kill(process.pid, signal.SIGKILL)
        await waiting
    assert await storage.load_rows(str(story.root)) == story.rows
    await storage.close()


def test_no_process_says_more_than_it_should(tmp_path):
    """A conflict in another process reads the same, and holds no content of the session."""
    code = """
async def main():
    for commit in Story(session_id="alice", text="my secret").tell(1):
        await storage.commit(commit)
        try:
            await storage.commit(commit)
        except SessionConflict as error:
            print(str(error).replace(" ", "_"))
asyncio.run(main())
"""
    first, second = _finish(_start(code, tmp_path, ""))
    assert first.startswith("session_'alice':_another_kernel_or_program_wrote_to_it")
    assert re.match("session_[0-9a-f-]{36}:_another_kernel", second)
    assert "secret" not in first + second
