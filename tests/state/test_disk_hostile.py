"""Rows that somebody else put into the database: nothing of them is run, read or deleted."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
from contextlib import closing

import diskcache
import pytest

from liman_nb.errors import StorageError
from liman_nb.state.disk.inline import InlineDisk
from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.state.disk.table import short_id
from liman_nb.testing.story import Story

RAW, BINARY, TEXT, PICKLE = 1, 2, 3, 4
REFUSED = "which liman_nb never writes; it was refused. Do not trust this store"


class Payload:
    """A pickle that leaves a file when it is read."""

    def __init__(self, trace):
        self.trace = str(trace)

    def __reduce__(self):
        return os.mkdir, (self.trace,)


@pytest.fixture
def directory(tmp_path):
    """Where the store is; beside it, a file of the user's."""
    (tmp_path / "store").mkdir()
    (tmp_path / "precious.json").write_text('{"kind": "run"}')
    return tmp_path / "store"


@pytest.fixture
async def story(directory):
    """A session of two rows."""
    storage = DiskCacheStateStorage(directory)
    story = Story()
    for commit in story.tell(turns=1):
        await storage.commit(commit)
    await storage.close()
    return story


def _put(directory, key, *columns):
    statement = "INSERT OR REPLACE INTO Cache (key, raw, mode, filename, value) VALUES (?,?,?,?,?)"
    with closing(sqlite3.connect(directory / "cache.db", isolation_level=None)) as connection:
        connection.execute(statement, (key, *columns))


def _row(story, number):
    return b"r" + short_id(str(story.root)) + number.to_bytes(4, "big")


def _columns(directory):
    """Bad ways to fill raw, mode, filename, value, and what is said of each."""
    pickled = pickle.dumps(Payload(directory.parent / "trace"))
    named = "../precious.json"
    absolute = str(directory.parent / "precious.json")
    return [
        ((0, RAW, None, b"{}"), "a key that is not plain bytes"),
        ((1, PICKLE, None, pickled), "a value that is not plain bytes (a pickle, perhaps)"),
        ((1, PICKLE, named, None), "the name of a file"),
        ((1, TEXT, named, None), "the name of a file"),
        ((1, BINARY, absolute, None), "the name of a file"),
        ((1, RAW, named, b"{}"), "the name of a file"),
        ((1, RAW, None, "{}"), "a value that is not plain bytes"),
        ((1, RAW, None, 5), "a value that is not plain bytes"),
        ((1, RAW, None, None), "a value that is not plain bytes"),
        ((1, 0, None, b"{}"), "a value that is not plain bytes"),
    ]


CASES = range(10)


def _untouched(directory):
    """Nothing ran, and the user's file is there with its content."""
    return (
        sorted(path.name for path in directory.parent.iterdir()) == ["precious.json", "store"]
        and (directory.parent / "precious.json").read_text() == '{"kind": "run"}'
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("number", [0, 1, 2])
async def test_a_hostile_row_of_a_journal_is_refused(directory, story, case, number):
    """First, last or added: the session is not read at all, rather than in part."""
    columns, what = _columns(directory)[case]
    _put(directory, _row(story, number), *columns)
    storage = DiskCacheStateStorage(directory)
    with pytest.raises(StorageError) as caught:
        await storage.load_rows(str(story.root))
    assert what in str(caught.value)
    assert REFUSED in str(caught.value)
    assert _untouched(directory)
    await storage.close()


@pytest.mark.parametrize("case", CASES)
async def test_a_hostile_session_can_be_deleted(directory, story, case):
    """Its rows go; a file that one of them names stays."""
    columns, _ = _columns(directory)[case]
    _put(directory, _row(story, 1), *columns)
    storage = DiskCacheStateStorage(directory)
    assert await storage.delete_session(str(story.root)) is True
    assert await storage.load_rows(str(story.root)) == []
    assert _untouched(directory)
    await storage.close()


@pytest.mark.parametrize("case", CASES)
async def test_a_hostile_line_in_the_list_is_refused(directory, story, case):
    """The list is not shown in part; nor is the session, whose time-to-live the line tells."""
    columns, _ = _columns(directory)[case]
    _put(directory, b"s" + short_id(str(story.root)), *columns)
    storage = DiskCacheStateStorage(directory)
    with pytest.raises(StorageError, match=REFUSED):
        await storage.list_sessions()
    with pytest.raises(StorageError, match=REFUSED):
        await storage.load_rows(str(story.root))
    assert await storage.delete_session(str(story.root)) is True
    assert _untouched(directory)
    await storage.close()


@pytest.mark.parametrize("case", CASES)
async def test_a_hostile_state_is_refused_and_can_be_replaced(directory, story, case):
    """A state saved over it leaves a file that it named alone."""
    columns, _ = _columns(directory)[case]
    _put(directory, b"x" + short_id("id"), *columns)
    storage = DiskCacheStateStorage(directory)
    with pytest.raises(StorageError, match=REFUSED):
        await storage.load_executor_state("id")
    if columns[0]:
        await storage.save_executor_state("id", {"mine": 1})
        assert await storage.load_executor_state("id") == {"mine": 1}
    assert _untouched(directory)
    await storage.close()


async def test_a_missing_row_is_reported(directory, story):
    """A journal with a hole is damaged, not shorter."""
    storage = DiskCacheStateStorage(directory)
    for commit in story.tell(turns=1):
        await storage.commit(commit)
    storage._opened.connections.here().execute("DELETE FROM Cache WHERE key = ?", (_row(story, 2),))
    with pytest.raises(StorageError, match=f"row 2 of session {story.root} is missing"):
        await storage.load_rows(str(story.root))
    await storage.close()


async def test_a_row_with_a_longer_key_is_reported(directory, story):
    """A key that only begins like one of the session's is none of its rows."""
    _put(directory, _row(story, 2) + b"x", 1, RAW, None, b"{}")
    storage = DiskCacheStateStorage(directory)
    with pytest.raises(StorageError, match=r"row 2 of .* is missing: the store is damaged"):
        await storage.load_rows(str(story.root))
    await storage.close()


@pytest.mark.parametrize("value", [b"{}", b"null", b"[", b'{"root":1}', "{}".encode("utf-16")])
async def test_a_line_of_the_list_that_makes_no_sense_is_reported(directory, story, value):
    """Its content is not repeated."""
    _put(directory, b"s" + short_id("other"), 1, RAW, None, value)
    storage = DiskCacheStateStorage(directory)
    with pytest.raises(StorageError, match="the list of sessions cannot be read"):
        await storage.list_sessions()
    await storage.close()


@pytest.mark.parametrize("value", [b"[1]", b"null", b'"text"', b"{", b"\xff"])
async def test_a_state_that_makes_no_sense_is_reported(directory, story, value):
    """A saved state is a mapping."""
    _put(directory, b"x" + short_id("id"), 1, RAW, None, value)
    storage = DiskCacheStateStorage(directory)
    with pytest.raises(StorageError, match="the store is damaged"):
        await storage.load_executor_state("id")
    await storage.close()


async def test_a_conflict_does_not_reveal_the_other_row(directory, story):
    """A taken number is a conflict, whatever lies there."""
    _put(directory, _row(story, 2), 1, TEXT, "../precious.json", None)
    storage = DiskCacheStateStorage(directory)
    with pytest.raises(StorageError, match="another kernel or program wrote to it"):
        await storage.commit(next(story.tell(turns=1)))
    assert _untouched(directory)
    await storage.close()


# ── diskcache itself, with our disk ──────────────────────────────────────────────────────────────


@pytest.fixture
def cache(directory):
    """What a program gets that opens a store with diskcache and our disk."""
    with diskcache.Cache(str(directory), disk=InlineDisk) as opened:
        yield opened


def test_bytes_of_any_size_stay_in_the_database(cache, directory):
    """No other file appears."""
    cache[b"key"] = b"x" * 3_000_000
    assert cache[b"key"] == b"x" * 3_000_000
    assert list(cache) == [b"key"]
    assert {path.suffix for path in directory.iterdir()} <= {".db", ".db-wal", ".db-shm"}


@pytest.mark.parametrize("key", ["text", 1, 1.5, None, (1, 2)])
def test_other_keys_are_refused(cache, key):
    """Most of them would be pickled."""
    with pytest.raises(StorageError, match="a key is bytes here, not"):
        cache[key] = b""


@pytest.mark.parametrize("value", ["text", 1, None, {"a": 1}, bytearray(b"x")])
def test_other_values_are_refused(cache, value):
    """Most of them would be pickled."""
    with pytest.raises(StorageError, match="a value is bytes here, not"):
        cache[b"key"] = value


def test_a_file_is_not_stored(cache, directory):
    """Nor is it read."""
    with (directory.parent / "precious.json").open("rb") as file:
        with pytest.raises(StorageError, match="a value is bytes here"):
            cache.set(b"key", file, read=True)
        assert file.tell() == 0


@pytest.mark.parametrize("how", ["get", "read", "delete", "set", "pop", "clear", "expire", "evict"])
def test_a_file_that_a_row_names_is_neither_read_nor_deleted(cache, directory, how):
    """Whatever is done with the row."""
    cache[b"key"] = b"x"
    with cache.transact():
        cache._sql(
            "UPDATE Cache SET mode = 3, filename = '../precious.json', value = NULL, tag = 't',"
            " expire_time = ?",
            (1.0 if how == "expire" else None,),
        )
    calls = {
        "get": lambda: cache[b"key"],
        "read": lambda: cache.read(b"key"),
        "delete": lambda: cache.delete(b"key"),
        "set": lambda: cache.set(b"key", b"y"),
        "pop": lambda: cache.pop(b"key"),
        "clear": cache.clear,
        "expire": cache.expire,
        "evict": lambda: cache.evict("t"),
    }
    with pytest.raises(StorageError, match="the name of a file"):
        calls[how]()
    assert _untouched(directory)


def test_a_pickled_key_is_not_read(cache, directory):
    """Listing the keys runs nothing."""
    payload = pickle.dumps(Payload(directory.parent / "trace"))
    _put(directory, payload, 0, RAW, None, b"x")
    with pytest.raises(StorageError, match="a key that is not plain bytes"):
        list(cache)
    assert _untouched(directory)


def test_a_plain_diskcache_would_have_done_all_that(tmp_path):
    """The attack works where our disk is not used: the tests above test something."""
    victim = tmp_path / "victim.json"
    victim.write_text(json.dumps("secret"))
    with diskcache.Cache(str(tmp_path / "store")) as cache:
        _put(tmp_path / "store", "file", 1, TEXT, "../victim.json", None)
        _put(tmp_path / "store", "pickle", 1, PICKLE, None, pickle.dumps(Payload(tmp_path / "t")))
        assert cache["file"] == '"secret"'
        assert cache["pickle"] is None
        assert (tmp_path / "t").is_dir()
        del cache["file"]
        assert not victim.exists()
