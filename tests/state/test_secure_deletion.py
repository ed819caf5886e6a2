"""A secure deletion leaves no byte in the store's files, or says what it could not do."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest
from redis_server import storage_on, tell

from liman_nb.errors import StorageError, UsageError
from liman_nb.state.disk import faults
from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.state.memory import InMemoryStateStorage
from liman_nb.state.redis import RedisStateStorage
from liman_nb.state.storage import StateStorage, delete_from
from liman_nb.testing.story import Story

CANARY = "canary-8a61f0"


def _left(directory):
    """Names of the files in which the canary is."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if CANARY.encode() in path.read_bytes())


async def _told(storage, turns=30):
    story = Story(f"of {CANARY}", text=f"{CANARY} " * 300)
    await tell(storage, story, turns)
    return story


# ── on disk ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_plain_deletion_leaves_bytes(tmp_path):
    """That is why there is another one; this test shows that the others would find them."""
    storage = DiskCacheStateStorage(tmp_path)
    story = await _told(storage)
    await storage.delete_session(str(story.root))
    assert _left(tmp_path)
    assert await storage.delete_session(str(story.root), secure=True) is False
    assert _left(tmp_path) == []
    await storage.close()


async def test_nothing_is_left_where_others_have_the_store_open(tmp_path):
    """Connections that are not reading at this moment are in nobody's way."""
    storage, other = DiskCacheStateStorage(tmp_path), DiskCacheStateStorage(tmp_path)
    story = await _told(storage)
    kept = Story(text="kept")
    await tell(other, kept, turns=2)
    assert await other.load_rows(str(story.root)) == story.rows
    assert await storage.delete_session(str(story.root), secure=True) is True
    assert _left(tmp_path) == []
    assert await other.load_rows(str(story.root)) == []
    assert await other.load_rows(str(kept.root)) == kept.rows
    await storage.close()
    await other.close()


@contextmanager
def _in_the_way(directory, begins):
    """Another connection in the middle of a transaction."""
    with closing(sqlite3.connect(directory / "cache.db", isolation_level=None)) as connection:
        connection.execute(begins)
        connection.execute("SELECT count(*) FROM Cache").fetchall()
        yield
        connection.execute("ROLLBACK")


async def test_a_connection_in_the_way_is_named(tmp_path):
    """The session is deleted, the error says what may be left, and once more does the rest."""
    storage = DiskCacheStateStorage(tmp_path, timeout=0.3)
    story = await _told(storage)
    with _in_the_way(tmp_path, "BEGIN"):
        with pytest.raises(StorageError) as caught:
            await storage.delete_session(str(story.root), secure=True)
        assert await storage.load_rows(str(story.root)) == []
    assert str(caught.value) == (
        f"session {story.root} is deleted, but bytes of it may be left in the files of the store "
        f"{tmp_path}: another connection reads from it; close what uses it. Then delete the "
        "session securely once more"
    )
    assert await storage.delete_session(str(story.root), secure=True) is False
    assert _left(tmp_path) == []
    await storage.close()


async def test_a_writer_in_the_way_is_named(tmp_path):
    """It came between the deletion and what follows it."""
    storage = DiskCacheStateStorage(tmp_path, timeout=0.3)
    story = await _told(storage)
    await storage.delete_session(str(story.root))
    with (
        _in_the_way(tmp_path, "BEGIN IMMEDIATE"),
        pytest.raises(StorageError, match="another connection writes to it"),
    ):
        await storage._scrub(str(story.root))
    await storage._scrub(str(story.root))
    assert _left(tmp_path) == []
    await storage.close()


async def test_a_disk_that_is_full_is_named(tmp_path, monkeypatch):
    """The file cannot be built anew; the session is deleted all the same."""
    storage = DiskCacheStateStorage(tmp_path)
    story = await _told(storage)

    def full(database):
        raise faults.fault("SQLITE_FULL", database.parent, "database or disk is full")

    monkeypatch.setattr("liman_nb.state.disk.storage.scrub", full)
    with pytest.raises(StorageError, match=r"is deleted, but bytes .* the disk is full: free some"):
        await storage.delete_session(str(story.root), secure=True)
    assert await storage.load_rows(str(story.root)) == []
    await storage.close()


_READS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM Cache").fetchall()
print("reads", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
"""


async def test_another_process_is_waited_for(tmp_path):
    """One that ends its reading in time is no error."""
    storage = DiskCacheStateStorage(tmp_path, timeout=60)
    story = await _told(storage)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _READS,
        tmp_path / "cache.db",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert await process.stdout.readline() == b"reads\n"
    deletion = asyncio.create_task(storage.delete_session(str(story.root), secure=True))
    await asyncio.sleep(0.3)
    assert not deletion.done()
    await process.communicate(b"\n")
    assert await deletion is True
    assert _left(tmp_path) == []
    await storage.close()


async def test_what_else_is_kept_stays_and_works(tmp_path):
    """The file is built anew: sessions, states and the format are what they were."""
    storage = DiskCacheStateStorage(tmp_path)
    gone, kept = await _told(storage), Story(text="kept")
    await tell(storage, kept, turns=100)
    await storage.save_executor_state("id", {"a": 1})
    await storage.delete_session(str(gone.root), secure=True)
    await tell(storage, kept, turns=1)
    await storage.close()
    again = DiskCacheStateStorage(tmp_path)
    assert await again.load_rows(str(kept.root)) == kept.rows
    assert await again.load_executor_state("id") == {"a": 1}
    await again.close()
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


async def test_a_store_that_is_not_there_is_not_made(tmp_path):
    """There is nothing to scrub."""
    storage = DiskCacheStateStorage(tmp_path / "none")
    assert await storage.delete_session("r", secure=True) is False
    assert not (tmp_path / "none").exists()


async def test_memory_has_no_files():
    """Nothing is left to do after the deletion."""
    storage = InMemoryStateStorage()
    story = await _told(storage)
    assert await storage.delete_session(str(story.root), secure=True) is True
    assert CANARY not in repr(vars(storage))


# ── storages of one's own ────────────────────────────────────────────────────────────────────────


class _Four(StateStorage):
    def __init__(self):
        self.kept = {}

    async def save_actor_state(self, execution_id, actor_id, state):
        self.kept[execution_id, actor_id] = json.dumps(state)

    async def load_actor_state(self, execution_id, actor_id):
        return json.loads(self.kept.get((execution_id, actor_id), "null"))

    async def save_executor_state(self, execution_id, state):
        self.kept[execution_id] = json.dumps(state)

    async def load_executor_state(self, execution_id):
        return json.loads(self.kept.get(execution_id, "null"))


class _Deletes(_Four):
    def delete_session(self, root):
        return self.kept.pop(root, None) is not None


class _DeletesSecurely(_Four):
    async def delete_session(self, root, **how):
        self.how = how
        return True


async def test_a_class_that_does_not_know_secure_works_without_it():
    """Its method is called as it was written, and nothing is deleted where it cannot be secure."""
    storage = _Deletes()
    await storage.save_executor_state("r", {})
    with pytest.raises(UsageError) as caught:
        await delete_from(storage, "r", secure=True)
    assert str(caught.value) == (
        "_Deletes cannot delete securely: its delete_session() takes no secure=; nothing was "
        "deleted"
    )
    assert await storage.load_executor_state("r") == {}
    assert await delete_from(storage, "r") is True
    assert await delete_from(storage, "r") is False


async def test_a_class_that_knows_secure_is_told():
    """Also by keyword arguments that it does not name."""
    storage = _DeletesSecurely()
    assert await delete_from(storage, "r", secure=True) is True
    assert storage.how == {"secure": True}


async def test_a_class_without_deletion_says_so():
    """The four methods cannot delete; nor can they prune."""
    for secure in (False, True):
        with pytest.raises(UsageError, match=r"does not implement delete_session\(\)"):
            await delete_from(_Four(), "r", secure=secure)
    with pytest.raises(UsageError, match=r"_Four cannot delete what expired: .* prune\(\)"):
        await _Four().prune()


# ── on a Redis server ────────────────────────────────────────────────────────────────────────────

redis_test = pytest.mark.redis


async def _gone(directory):
    """The server removes files that it wrote anew in a thread of its own."""
    for _ in range(200):
        if not (left := _left(directory)):
            return []
        await asyncio.sleep(0.02)
    return left


@redis_test
@pytest.mark.parametrize(
    "settings",
    [
        {"appendonly": "yes", "appendfsync": "always"},
        {"save": "3600 1"},
        {"appendonly": "yes", "appendfsync": "always", "save": "3600 1"},
    ],
    ids=["append-only file", "snapshots", "both"],
)
async def test_a_server_writes_its_files_anew(start_redis, settings):
    """What it appended and its snapshots have no byte of the session; the others are there."""
    server = start_redis(rdbcompression="no", **settings)
    async with storage_on(server) as storage:
        story, kept = await _told(storage), Story(text="kept")
        await tell(storage, kept, turns=2)
        with server.client() as client:
            if "save" in settings:
                client.save()
        assert _left(server.directory)
        assert await storage.delete_session(str(story.root), secure=True) is True
        assert await _gone(server.directory) == []
    server.kill()
    server.start()
    async with storage_on(server) as storage:
        assert await storage.load_rows(str(kept.root)) == kept.rows
        assert await storage.load_rows(str(story.root)) == []


@redis_test
async def test_a_server_without_files_has_none_afterwards(start_redis):
    """No snapshot is made where there was none."""
    server = start_redis()
    async with storage_on(server) as storage:
        story = await _told(storage)
        assert await storage.delete_session(str(story.root), secure=True) is True
    assert [path.name for path in server.directory.iterdir()] == ["said"]


@redis_test
async def test_a_server_that_may_not_be_told_to(start_redis):
    """The session is deleted, and the error says who has to do the rest."""
    server = start_redis(appendonly="yes")
    with server.client() as client:
        rights = ["~*", "+@all", "-config", "-bgrewriteaof"]
        client.execute_command("ACL", "SETUSER", "limited", "on", ">secret", *rights)
    storage = RedisStateStorage(server.url.replace("//", "//limited:secret@"))
    story = await _told(storage, turns=1)
    with pytest.raises(StorageError, match="may not have them written anew") as caught:
        await storage.delete_session(str(story.root), secure=True)
    assert re.search(f"session {story.root} is deleted .* can send BGREWRITEAOF", str(caught.value))
    assert "secret" not in str(caught.value)
    assert await storage.load_rows(str(story.root)) == []
    await storage.close()


@redis_test
async def test_a_server_that_has_no_such_command(start_redis):
    """As servers that others run; the session is deleted, and what is left to do is said."""
    server = start_redis(rename_command="CONFIG gone")
    async with storage_on(server) as storage:
        story = await _told(storage, turns=1)
        with pytest.raises(StorageError, match=r"is deleted .* could not be written anew .*CONFIG"):
            await storage.delete_session(str(story.root), secure=True)


@redis_test
async def test_a_file_that_cannot_be_written_anew(start_redis):
    """It is said, and that the log of the server knows why."""
    server = start_redis(save="3600 1")
    async with storage_on(server) as storage:
        story = await _told(storage, turns=1)
        (server.directory / "dump.rdb").mkdir()
        with pytest.raises(StorageError, match=r"BGSAVE did not succeed; the server's log says"):
            await storage.delete_session(str(story.root), secure=True)
        assert await storage.load_rows(str(story.root)) == []


@redis_test
async def test_replicas_are_named(start_redis):
    """What they keep is theirs to write anew."""
    primary = start_redis(repl_diskless_sync_delay="0")
    replica = start_redis(replicaof=f"127.0.0.1 {primary.port}")
    async with storage_on(primary) as storage:
        story = await _told(storage, turns=1)
        with replica.client() as client:
            for _ in range(500):
                if client.info()["master_link_status"] == "up":
                    break
                await asyncio.sleep(0.02)
        with pytest.raises(StorageError, match="it has replicas, which may keep files"):
            await storage.delete_session(str(story.root), secure=True)
