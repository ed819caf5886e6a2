"""Every storage passes the same suite: the built-in ones, and those that users write."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.state.memory import InMemoryStateStorage
from liman_nb.state.rows import TurnRow
from liman_nb.state.storage import StateStorage
from liman_nb.testing import StorageContract


class _FourMethodStorage(StateStorage):
    """Coroutines over two dictionaries of JSON text, which outlive the object."""

    def __init__(self, kept=None):
        self.kept = {} if kept is None else kept

    async def save_actor_state(self, execution_id, actor_id, state):
        self.kept[execution_id, actor_id] = json.dumps(state)

    async def load_actor_state(self, execution_id, actor_id):
        text = self.kept.get((execution_id, actor_id))
        return None if text is None else json.loads(text)

    async def save_executor_state(self, execution_id, state):
        self.kept[execution_id] = json.dumps(state)

    async def load_executor_state(self, execution_id):
        text = self.kept.get(execution_id)
        return None if text is None else json.loads(text)


class _PlainFunctionStorage(StateStorage):
    """The same four as plain functions."""

    def __init__(self):
        self.kept = {}

    def save_actor_state(self, execution_id, actor_id, state):
        self.kept[execution_id, actor_id] = json.dumps(state)

    def load_actor_state(self, execution_id, actor_id):
        return json.loads(self.kept.get((execution_id, actor_id), "null"))

    def save_executor_state(self, execution_id, state):
        self.kept[execution_id] = json.dumps(state)

    def load_executor_state(self, execution_id):
        return json.loads(self.kept.get(execution_id, "null"))


class _WrappingStorage(StateStorage):
    """Passes the four methods on to a built-in storage, as one that encrypts would."""

    def __init__(self, inner):
        self.inner = inner

    async def save_actor_state(self, execution_id, actor_id, state):
        await self.inner.save_actor_state(execution_id, actor_id, state)

    async def load_actor_state(self, execution_id, actor_id):
        return await self.inner.load_actor_state(execution_id, actor_id)

    async def save_executor_state(self, execution_id, state):
        await self.inner.save_executor_state(execution_id, state)

    async def load_executor_state(self, execution_id):
        return await self.inner.load_executor_state(execution_id)

    async def close(self):
        await self.inner.close()


class TestInMemory(StorageContract):
    async def storage(self):
        """Empty."""
        return InMemoryStateStorage()

    async def expiring(self, session_ttl, clock):
        """Empty."""
        return InMemoryStateStorage(session_ttl=session_ttl, clock=clock)

    async def kept(self, storage):
        """Journals, lines and states."""
        kept = {**storage._states, **storage._journals}
        lines = {("line", key): line.model_dump_json() for key, line in storage._sessions.items()}
        return {repr(key): repr(value).encode() for key, value in {**kept, **lines}.items()}


class TestDiskCache(StorageContract):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path):
        self.directory = tmp_path / "store"

    async def storage(self):
        """A directory of the test's."""
        return DiskCacheStateStorage(self.directory)

    async def reopened(self, storage):
        """A directory of the test's."""
        return DiskCacheStateStorage(self.directory)

    async def expiring(self, session_ttl, clock):
        """A directory of the test's."""
        return DiskCacheStateStorage(self.directory, session_ttl=session_ttl, clock=clock)

    async def kept(self, storage):
        """The rows of the database."""
        if not self.directory.exists():
            return {}
        with closing(sqlite3.connect(self.directory / "cache.db")) as connection:
            return dict(connection.execute("SELECT hex(key), value FROM Cache"))

    async def files(self, storage):
        """Of the directory."""
        return b"".join(path.read_bytes() for path in self.directory.iterdir())


class TestFourMethods(StorageContract):
    async def storage(self):
        """Empty."""
        return _FourMethodStorage()

    async def reopened(self, storage):
        """On the same dictionary."""
        return _FourMethodStorage(storage.kept)


class TestPlainFunctions(StorageContract):
    async def storage(self):
        """Empty."""
        return _PlainFunctionStorage()


class TestWrappedInMemory(StorageContract):
    async def storage(self):
        """Around an empty one."""
        return _WrappingStorage(InMemoryStateStorage())


class TestWrappedDiskCache(TestDiskCache):
    async def expiring(self, session_ttl, clock):
        """A wrapped storage has no time-to-live."""
        return

    async def kept(self, storage):
        """It deletes nothing."""
        return

    async def storage(self):
        """Around one on the test's directory."""
        return _WrappingStorage(DiskCacheStateStorage(self.directory))

    async def reopened(self, storage):
        """Around one on the test's directory."""
        return _WrappingStorage(DiskCacheStateStorage(self.directory))


class _Forgets(_FourMethodStorage):
    async def save_actor_state(self, execution_id, actor_id, state):
        state.get("node_state", {}).pop("messages", None)
        await super().save_actor_state(execution_id, actor_id, state)


class _Aliases(_FourMethodStorage):
    async def save_executor_state(self, execution_id, state):
        self.kept[execution_id] = state

    async def load_executor_state(self, execution_id):
        return self.kept.get(execution_id)


class _Truncates(_FourMethodStorage):
    async def load_executor_state(self, execution_id):
        text = self.kept.get(execution_id)
        return (
            None
            if text is None or len(text) > 5000
            else await super().load_executor_state(execution_id)
        )


class _IgnoresTheSession(_FourMethodStorage):
    async def save_actor_state(self, execution_id, actor_id, state):
        await super().save_actor_state("", actor_id, state)

    async def load_actor_state(self, execution_id, actor_id):
        return await super().load_actor_state("", actor_id)


class _TwoWriters(InMemoryStateStorage):
    async def _append(self, root, first, rows, turns):
        return await super()._append(root, min(first, (await self._tail(root))[0]), rows, turns)


class _Converts(_FourMethodStorage):
    async def commit(self, commit):
        for row in commit.rows:
            self.kept[commit.root] = json.loads(json.dumps({"input": row.input}, default=str))

    async def load_rows(self, root):
        kept = self.kept.get(root)
        return [] if kept is None else [TurnRow.model_construct(kind="turn", **kept)]


class _LeavesKeys(InMemoryStateStorage):
    async def _delete(self, root, executors):
        line = self._sessions.get(root)
        found = await super()._delete(root, executors)
        if line is not None:
            self._sessions[root] = line
        return found


class _NeverExpires(InMemoryStateStorage):
    def _expired(self, root):
        return False


class _ExpiresOpenTurns(InMemoryStateStorage):
    def _expired(self, root):
        line = self._sessions.get(root)
        return line is not None and self._lifetime.is_over(line.expires_at)


class _NeverPutsOff(InMemoryStateStorage):
    def _put_off(self, root):
        pass


class _LeavesFiles(DiskCacheStateStorage):
    async def _scrub(self, root):
        pass


@pytest.mark.parametrize(
    ("broken", "test", "message"),
    [
        (_Converts, "test_what_json_would_change_is_refused_or_kept", "saved .*, loaded "),
        (_LeavesKeys, "test_a_deleted_session_leaves_no_key", "saved "),
        (_NeverExpires, "test_an_unused_session_expires", "rows of it are left"),
        (_ExpiresOpenTurns, "test_an_open_turn_does_not_expire", "loaded "),
        (_NeverPutsOff, "test_use_puts_the_end_off", "loaded "),
        (_LeavesFiles, "test_a_secure_deletion_leaves_no_byte", "bytes of it are left"),
        (_Forgets, "test_commits_come_back_in_order", "loaded NodeActorState"),
        (_Aliases, "test_what_was_saved_cannot_be_changed_from_outside", "added after saving"),
        (_Truncates, "test_messages_of_ten_megabytes_come_back", "loaded None"),
        (
            _IgnoresTheSession,
            "test_one_actor_id_in_two_sessions_is_two_actors",
            "the session's id was ignored",
        ),
        (_TwoWriters, "test_a_second_writer_is_refused", r"row \d was stored although"),
    ],
)
def test_the_suite_finds_a_broken_storage(broken, test, message, tmp_path):
    """Each fault makes the test that is about it fail with a sentence."""
    kind = TestDiskCache if issubclass(broken, DiskCacheStateStorage) else TestInMemory

    class Contract(kind):
        directory = tmp_path

        async def storage(self):
            return broken(tmp_path) if kind is TestDiskCache else broken()

        async def expiring(self, session_ttl, clock):
            return broken(session_ttl=session_ttl, clock=clock)

    with pytest.raises(AssertionError, match=message):
        getattr(Contract(), test)()


def test_the_suite_closes_the_storage_it_opened():
    """Also when a test fails."""
    closed = []

    class Contract(StorageContract):
        async def storage(self):
            storage = _Aliases()

            async def close():
                closed.append(asyncio.get_running_loop())

            storage.close = close
            return storage

    Contract().test_unknown_ids_load_as_none()
    with pytest.raises(AssertionError):
        Contract().test_what_was_saved_cannot_be_changed_from_outside()
    assert len(closed) == 2


def test_the_suite_needs_no_pytest():
    """Importing it loads no test framework and no back end."""
    code = (
        "import sys, liman_nb.testing, liman_nb.state.disk.storage; "
        "print([m for m in ('pytest', 'diskcache', 'openai', 'networkx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
