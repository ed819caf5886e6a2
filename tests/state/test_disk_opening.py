"""A directory becomes a store late, privately, and without eviction."""

from __future__ import annotations

import asyncio
import itertools
import os
import sqlite3
import stat
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import diskcache
import pytest

from liman_nb.errors import UsageError
from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.testing.story import Story


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


def _files(directory):
    return sorted(path.name for path in directory.rglob("*"))


# ── late ─────────────────────────────────────────────────────────────────────────────────────────


async def test_looking_makes_nothing(tmp_path):
    """A notebook that only shows a graph, or lists sessions, leaves no directory behind."""
    storage = DiskCacheStateStorage(tmp_path / "store")
    assert repr(storage).startswith("DiskCacheStateStorage(")
    assert await storage.list_sessions() == []
    assert await storage.load_rows("r") == []
    assert await storage.load_executor_state("x") is None
    assert await storage.load_actor_state("r", "a") is None
    assert await storage.delete_session("r") is False
    await storage.close()
    assert _files(tmp_path) == []


async def test_the_directory_holds_only_files_of_diskcache(tmp_path):
    """Its own check finds nothing to complain of, and nothing of ours to delete."""
    story = await _made(tmp_path / "store", turns=50, text="x" * 100_000)
    assert _files(tmp_path) == ["cache.db", "store"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with diskcache.Cache(str(tmp_path / "store")) as cache:
            assert cache.check(fix=True) == []
            assert len(cache) == len(story.rows) + 1
    storage = DiskCacheStateStorage(tmp_path / "store")
    assert await storage.load_rows(str(story.root)) == story.rows
    await storage.close()


async def test_parents_are_made_and_names_expanded(tmp_path, monkeypatch):
    """As a shell would read the path; relative to where the notebook was when it was written."""
    monkeypatch.setenv("STORE_NAME", "mine")
    monkeypatch.chdir(tmp_path)
    storage = DiskCacheStateStorage("a/$STORE_NAME/b")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    await _tell(storage, Story())
    await storage.close()
    assert (tmp_path / "a/mine/b/cache.db").is_file()


async def test_a_closed_store_opens_again(tmp_path):
    """Closing is no end."""
    storage = DiskCacheStateStorage(tmp_path)
    story = await _tell(storage, Story())
    await storage.close()
    await storage.close()
    await _tell(storage, story)
    assert await storage.load_rows(str(story.root)) == story.rows
    await storage.close()


async def test_a_store_that_is_dropped_closes_its_database(tmp_path):
    """The write-ahead log is gone, so nobody has the file open any more."""
    storage = DiskCacheStateStorage(tmp_path)
    await _tell(storage, Story())
    assert "cache.db-wal" in _files(tmp_path)
    del storage
    assert _files(tmp_path) == ["cache.db"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"durability": "some"}, "durability is 'normal' or 'full', not 'some'"),
        ({"timeout": -1}, "timeout is a number of seconds, 0 or more, not -1"),
        ({"timeout": float("nan")}, "timeout is a number of seconds, 0 or more, not nan"),
    ],
)
def test_wrong_arguments_are_refused_at_once(arguments, message):
    """Not at the first write."""
    with pytest.raises(UsageError, match=message):
        DiskCacheStateStorage(**arguments)


@pytest.mark.parametrize(("durability", "synchronous"), [("normal", 1), ("full", 2)])
async def test_durability_is_kept_on_every_connection(tmp_path, durability, synchronous):
    """Also after another process opened the directory with another durability."""
    storage = DiskCacheStateStorage(tmp_path, durability=durability)
    await _tell(storage, Story())
    await _made(tmp_path)
    connections = storage._opened.connections
    with ThreadPoolExecutor(1) as pool:
        for connection in (connections.here(), pool.submit(connections.here).result()):
            assert connection.execute("PRAGMA synchronous").fetchall() == [(synchronous,)]
    await storage.close()


# ── private ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
async def test_only_the_owner_may_read(tmp_path, umask):
    """Directory 0700 and files 0600, whatever the umask."""
    storage = DiskCacheStateStorage(tmp_path / "store")
    before = os.umask(umask)
    try:
        await _tell(storage, Story())
    finally:
        os.umask(before)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "store").iterdir()}
    assert modes == dict.fromkeys(["cache.db", "cache.db-wal", "cache.db-shm"], 0o600)
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700
    await storage.close()


async def test_files_made_elsewhere_are_made_private(tmp_path):
    """The directory itself keeps the mode its owner gave it."""
    directory = tmp_path / "store"
    directory.mkdir()
    directory.chmod(0o755)
    with diskcache.Cache(str(directory)) as cache:
        cache["mine"] = 1
    (directory / "cache.db").chmod(0o644)
    await _made(directory)
    assert stat.S_IMODE((directory / "cache.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o755


# ── nothing evicted ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("policy", sorted(diskcache.EVICTION_POLICY))
async def test_nothing_is_evicted_from_a_directory_made_elsewhere(tmp_path, policy):
    """With 64 kB as its limit, diskcache would have kept a fraction of these writes."""
    settings = {"eviction_policy": policy, "size_limit": 2**16, "cull_limit": 10, "tag_index": 1}
    with diskcache.Cache(str(tmp_path), **settings) as cache:
        cache["mine"] = "kept"
    storage = DiskCacheStateStorage(tmp_path)
    story = await _tell(storage, Story(text="x" * 2000), turns=100)
    await storage.close()
    storage = DiskCacheStateStorage(tmp_path)
    assert len(await storage.load_rows(str(story.root))) == 200
    assert _sql(tmp_path, "SELECT value FROM Settings WHERE key = 'cull_limit'") == [(0,)]
    await storage.close()
    with diskcache.Cache(str(tmp_path)) as cache:
        assert cache["mine"] == "kept"
        assert cache.eviction_policy == "none"


async def test_the_settings_are_asserted_at_every_open(tmp_path):
    """Another program may have changed them in between."""
    await _made(tmp_path)
    _sql(
        tmp_path,
        "UPDATE Settings SET value = 'least-recently-used' WHERE key = 'eviction_policy'",
        "UPDATE Settings SET value = 10 WHERE key = 'cull_limit'",
        "UPDATE Settings SET value = 67108864 WHERE key = 'sqlite_mmap_size'",
        "UPDATE Settings SET value = 0 WHERE key = 'sqlite_synchronous'",
    )
    await _made(tmp_path)
    kept = dict(_sql(tmp_path, "SELECT key, value FROM Settings"))
    assert (kept["eviction_policy"], kept["cull_limit"]) == ("none", 0)
    assert (kept["sqlite_mmap_size"], kept["sqlite_synchronous"]) == (0, 1)


async def test_disk_space_grows_with_new_content_only(tmp_path):
    """Each turn costs the same, whatever came before it."""
    storage = DiskCacheStateStorage(tmp_path)
    story, sizes = Story(text="x" * 500), []
    for _ in range(4):
        await _tell(storage, story, turns=100)
        await storage.close()
        sizes.append((tmp_path / "cache.db").stat().st_size)
    growth = [after - before for before, after in itertools.pairwise(sizes)]
    assert max(growth) < 1.2 * min(growth)
    assert max(growth) < 100 * 2 * (500 + 500)


# ── threads, loops, forks ────────────────────────────────────────────────────────────────────────


async def test_several_threads_and_loops_share_one_object(tmp_path):
    """Each has its own connection, and closing closes all of them."""
    storage = DiskCacheStateStorage(tmp_path)
    stories = [Story(session_id=f"s{i}") for i in range(8)]

    def work(story):
        asyncio.run(_tell(storage, story, turns=10))

    with ThreadPoolExecutor(len(stories)) as pool:
        await asyncio.gather(*(asyncio.wrap_future(pool.submit(work, s)) for s in stories))
    for story in stories:
        assert await storage.load_rows(str(story.root)) == story.rows
    await storage.close()
    assert _files(tmp_path) == ["cache.db"]


def test_a_forked_process_uses_its_own_connection(tmp_path):
    """And its end leaves the parent's alone."""
    code = """
import asyncio, os, sys
from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.testing.story import Story
storage = DiskCacheStateStorage(sys.argv[1])
async def tell(story):
    for commit in story.tell(5):
        await storage.commit(commit)
mine, childs = Story(), Story()
asyncio.run(tell(mine))
pid = os.fork()
asyncio.run(tell(childs if pid == 0 else mine))
if pid:
    assert os.waitpid(pid, 0)[1] == 0
    asyncio.run(tell(mine))
    print([len(asyncio.run(storage.load_rows(str(s.root)))) for s in (mine, childs)])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[30, 10]", "")


async def test_many_open_a_directory_at_the_moment_when_it_is_made(tmp_path):
    """A database that somebody else is just making is not taken for a damaged one."""
    for number in range(20):
        storages = [DiskCacheStateStorage(tmp_path / f"store {number}") for _ in range(6)]
        states = [{"writer": i} for i in range(len(storages))]
        await asyncio.gather(
            *(s.save_executor_state(f"e{i}", states[i]) for i, s in enumerate(storages))
        )
        read = [await storages[0].load_executor_state(f"e{i}") for i in range(len(storages))]
        assert read == states
        for storage in storages:
            await storage.close()
