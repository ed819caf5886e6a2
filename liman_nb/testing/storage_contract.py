"""What every storage has to keep, as tests that run on a class of yours.

    from liman_nb.testing import StorageContract

    class TestRedisStateStorage(StorageContract):
        async def storage(self):
            return RedisStateStorage("redis://localhost")

pytest collects the tests; no plugin is needed. Each runs in an event loop of its own, in which the
storage is made and closed. All ids are new, so a store that holds other sessions can be used too.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeVar
from uuid import uuid4

from liman_nb.errors import SessionConflict, UsageError
from liman_nb.state.rows import TurnRow
from liman_nb.state.states import ExecutorStatus
from liman_nb.state.storage import (
    Commit,
    Lease,
    StateStorage,
    Touched,
    load_actor,
    load_executor,
    settled,
)
from liman_nb.testing.story import Story

MEGABYTE = 1_000_000

ODD_TEXTS = (
    "",
    " ",
    "\x00 \x01 \x1f \x7f",
    "line\r\nline\u2028line\u2029",
    "'; DROP TABLE Cache; --",
    "日本語 العربية \U0001f469\u200d\U0001f52c",
    "é is not e\u0301",
    "\u202eright to left",
    '"quoted" \\ back/slash',
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "a" * 1000,
)

ODD_VALUES: tuple[dict[str, Any], ...] = (
    {},
    {"": ""},
    {"empty": [[], {}, "", None, False, 0, 0.0]},
    {"numbers": [0.1, -1.5e300, 5e-324, 2**53 + 1, -(2**63), 2**70, 1, 1.0, True]},
    {"texts": list(ODD_TEXTS)},
    {text: text for text in ODD_TEXTS},
    {"order": {"z": 1, "a": 2, "m": 3}},
    {"deep": {"a": [{"b": [{"c": [[[[["d"]]]]]}]}]}},
)

_Contract = TypeVar("_Contract", bound="StorageContract")


def _contract(
    test: Callable[[_Contract, StateStorage], Awaitable[None]],
) -> Callable[[_Contract], None]:
    """Makes a plain test of one that is a coroutine and takes the storage."""

    def run(self: _Contract) -> None:
        asyncio.run(_run(self, test))

    run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
    return run


async def _run(
    contract: _Contract, test: Callable[[_Contract, StateStorage], Awaitable[None]]
) -> None:
    storage = await contract.storage()
    try:
        await test(contract, storage)
    finally:
        await settled(storage.close())


class StorageContract(ABC):
    """Subclass it, implement `storage`, and let pytest find the subclass."""

    @abstractmethod
    async def storage(self) -> StateStorage:
        """A storage of the class under test."""

    async def reopened(self, storage: StateStorage) -> StateStorage:
        """A second object on the same data, as another process would make it.

        The default gives the same object back: right for a storage that lives in memory.
        """
        return storage

    # ── Liman's four methods ─────────────────────────────────────────────────────────────────────

    @_contract
    async def test_unknown_ids_load_as_none(self, storage: StateStorage) -> None:
        """Where nothing was saved, `None` comes back."""
        _expect(await _executor(storage, _new_id()) is None, "an unknown executor must be None")
        _expect(
            await _actor(storage, _new_id(), _new_id()) is None, "an unknown actor must be None"
        )

    @_contract
    async def test_states_come_back_equal(self, storage: StateStorage) -> None:
        """Empty values, odd texts, big numbers and the order of keys survive."""
        for value in ODD_VALUES:
            root, actor = _new_id(), _new_id()
            await settled(storage.save_executor_state(root, deepcopy(value)))
            await settled(storage.save_actor_state(root, actor, deepcopy(value)))
            _expect_same(await _executor(storage, root), value)
            _expect_same(await _actor(storage, root, actor), value)

    @_contract
    async def test_one_actor_id_in_two_sessions_is_two_actors(self, storage: StateStorage) -> None:
        """The session is part of what an actor is known by."""
        first, second, actor = _new_id(), _new_id(), _new_id()
        await settled(storage.save_actor_state(first, actor, {"of": "first"}))
        _expect(await _actor(storage, second, actor) is None, "the session's id was ignored")
        await settled(storage.save_actor_state(second, actor, {"of": "second"}))
        _expect_same(await _actor(storage, first, actor), {"of": "first"})

    @_contract
    async def test_the_state_saved_last_is_the_one_that_loads(self, storage: StateStorage) -> None:
        """A state replaces the one before, and leaves nothing of it."""
        root, actor = _new_id(), _new_id()
        for value in ({"a": 1, "long": "x" * 10_000}, {"b": 2}, {}):
            await settled(storage.save_executor_state(root, value))
            await settled(storage.save_actor_state(root, actor, value))
        _expect_same(await _executor(storage, root), {})
        _expect_same(await _actor(storage, root, actor), {})

    @_contract
    async def test_what_was_saved_cannot_be_changed_from_outside(
        self, storage: StateStorage
    ) -> None:
        """Changing a dictionary after it was saved, or one that was loaded, changes no state."""
        root, value = _new_id(), {"items": ["kept"]}
        await settled(storage.save_executor_state(root, value))
        value["items"].append("added after saving")
        loaded = await _executor(storage, root)
        _expect_same(loaded, {"items": ["kept"]})
        loaded["items"].append("added after loading")
        _expect_same(await _executor(storage, root), {"items": ["kept"]})

    @_contract
    async def test_a_state_of_a_megabyte_comes_back(self, storage: StateStorage) -> None:
        """Long messages are kept whole."""
        root, actor, value = _new_id(), _new_id(), {"content": "é" * MEGABYTE}
        await settled(storage.save_actor_state(root, actor, value))
        _expect_same(await _actor(storage, root, actor), value)

    @_contract
    async def test_saved_states_are_there_for_another_object(self, storage: StateStorage) -> None:
        """What one process saved, the next one loads."""
        root, actor = _new_id(), _new_id()
        await settled(storage.save_executor_state(root, {"of": "root"}))
        await settled(storage.save_actor_state(root, actor, {"of": "actor"}))
        async with _Closing(self, storage) as other:
            _expect_same(await _executor(other, root), {"of": "root"})
            _expect_same(await _actor(other, root, actor), {"of": "actor"})

    # ── commits ──────────────────────────────────────────────────────────────────────────────────

    @_contract
    async def test_a_session_that_is_not_there_has_no_rows(self, storage: StateStorage) -> None:
        """A journal of an unknown session is empty; a storage without journals has none."""
        rows = await settled(storage.load_rows(_new_id()))
        _expect(not rows, "an unknown session must have no rows")

    @_contract
    async def test_commits_come_back_in_order(self, storage: StateStorage) -> None:
        """After every commit the whole session is there, also for another object."""
        story = Story()
        for commit in story.tell(turns=3):
            await storage.commit(commit)
            async with _Closing(self, storage) as other:
                await _expect_told(other, story)

    @_contract
    async def test_odd_texts_in_commits_come_back(self, storage: StateStorage) -> None:
        """Session ids and messages may be any text."""
        for text in ODD_TEXTS:
            story = Story(session_id=text, text=text)
            await _tell(storage, story, turns=1)
            await _expect_told(storage, story)

    @_contract
    async def test_messages_of_a_megabyte_come_back(self, storage: StateStorage) -> None:
        """Long inputs and replies are kept whole."""
        story = Story(text="x" * MEGABYTE)
        await _tell(storage, story, turns=2)
        await _expect_told(storage, story)

    @_contract
    async def test_long_sessions_come_back(self, storage: StateStorage) -> None:
        """Thousands of rows where a journal is kept; hundreds of states rewritten elsewhere."""
        story = Story()
        turns = 1000 if await _keeps_journal(storage) else 50
        await _tell(storage, story, turns)
        await _expect_told(storage, story)

    @_contract
    async def test_sessions_at_the_same_time_do_not_mix(self, storage: StateStorage) -> None:
        """Many sessions commit concurrently through one object and through two."""
        async with _Closing(self, storage) as other:
            stories = [Story(session_id=f"s{i}", text=f"text {i}") for i in range(20)]
            used = [(storage, other)[i % 2] for i in range(20)]
            await asyncio.gather(
                *(_tell(s, story, 5) for s, story in zip(used, stories, strict=True))
            )
            for story in stories:
                await _expect_told(other, story)

    @_contract
    async def test_a_second_writer_is_refused(self, storage: StateStorage) -> None:
        """Where a journal is kept, of two commits with the same number one is stored, whole."""
        if not await _keeps_journal(storage):
            return
        story = Story()
        await _tell(storage, story, turns=2)
        async with _Closing(self, storage) as other:
            for late in _late_commits(story):
                await _expect_conflict(other, late)
        await _expect_told(storage, story)
        await _tell(storage, story, turns=1)
        await _expect_told(storage, story)

    @_contract
    async def test_several_rows_are_stored_whole(self, storage: StateStorage) -> None:
        """Where a journal is kept, one commit may have many rows."""
        if not await _keeps_journal(storage):
            return
        story = Story()
        commits = list(story.tell(turns=3))
        rows = tuple(row for commit in commits for row in commit.rows)
        await storage.commit(Commit(str(story.root), 0, rows, Touched, open=False))
        await _expect_told(storage, story)

    # ── leases ───────────────────────────────────────────────────────────────────────────────────

    @_contract
    async def test_a_lease_says_how_long_the_journal_is(self, storage: StateStorage) -> None:
        """Of an unknown session, too; a storage without journals says that it does not know."""
        story = Story()
        keeps_journal = await _keeps_journal(storage)
        for turns in (0, 2):
            await _tell(storage, story, turns)
            lease = await _lease(storage, story)
            known = len(story.rows) if keeps_journal else None
            _expect(lease.rows == known, f"{known} rows are stored, the lease says {lease.rows}")
            await settled(lease.release())

    @_contract
    async def test_a_second_lease_is_refused_till_the_first_is_released(
        self, storage: StateStorage
    ) -> None:
        """Also through another object; a session beside it is free. Others exclude nobody."""
        story, beside = Story(session_id="busy"), Story()
        async with _Closing(self, storage) as other:
            first = await _lease(storage, story)
            for second in (storage, other):
                refusal = await _refusal(second, story)
                _expect(
                    bool(refusal) or not await _keeps_journal(storage),
                    "a storage with journals must refuse a second lease",
                )
                _expect(not refusal or "'busy'" in refusal, "a refusal must name the session")
            await settled((await _lease(other, beside)).release())
            for _ in range(2):
                await settled(first.release())
            _expect(not await _refusal(other, story), "a released lease must be free")

    @_contract
    async def test_commits_are_taken_under_a_lease(self, storage: StateStorage) -> None:
        """From the first one on, and the next lease counts them."""
        story = Story()
        lease = await _lease(storage, story)
        for commit in story.tell(turns=2):
            await storage.commit(replace(commit, lease=lease))
        await settled(lease.release())
        await _expect_told(storage, story)

    @_contract
    async def test_a_commit_under_an_earlier_lease_is_refused(self, storage: StateStorage) -> None:
        """Where a journal is kept: whether or not somebody else has the lease by now."""
        if not await _keeps_journal(storage):
            return
        story = Story()
        async with _Closing(self, storage) as other:
            await _tell(storage, story, turns=1)
            earlier = await _lease(storage, story)
            await settled(earlier.release())
            late = next(replace(story).tell(turns=1))
            await _expect_conflict(storage, replace(late, lease=earlier))
            later = await _lease(other, story)
            await _expect_conflict(storage, replace(late, lease=earlier))
            await settled(earlier.release())
            _expect(bool(await _refusal(storage, story)), "an earlier lease released a later one")
            await other.commit(replace(late, lease=later))
            await settled(later.release())

    # ── listing and deleting ─────────────────────────────────────────────────────────────────────

    @_contract
    async def test_sessions_are_listed(self, storage: StateStorage) -> None:
        """A storage lists its sessions, last used first, or says that it cannot."""
        try:
            await storage.list_sessions()
        except UsageError as error:
            _expect("list_sessions" in str(error), "the error must name the missing method")
            return
        short, long = Story(session_id="short"), Story(session_id="long")
        await _tell(storage, long, turns=1)
        await _tell(storage, short, turns=1)
        await _tell(storage, long, turns=2)
        async with _Closing(self, storage) as other:
            ours = {str(short.root), str(long.root)}
            lines = [line for line in await other.list_sessions() if line.root in ours]
        _expect([line.session_id for line in lines] == ["long", "short"], f"wrong order: {lines}")
        _expect([line.turns for line in lines] == [3, 1], f"wrong number of turns: {lines}")
        _expect(lines[0].created_at == long.rows[0].at, "created_at is the first turn's time")
        _expect(lines[0].used_at == long.rows[4].at, "used_at is the latest turn's time")

    @_contract
    async def test_a_deleted_session_is_gone(self, storage: StateStorage) -> None:
        """A storage deletes a session and no other, or says that it cannot."""
        gone, kept = Story(session_id="gone"), Story(session_id="kept")
        await _tell(storage, gone, turns=2)
        await _tell(storage, kept, turns=2)
        try:
            deleted = await storage.delete_session(str(gone.root))
        except UsageError as error:
            _expect("delete_session" in str(error), "the error must name the missing method")
            return
        _expect(deleted, "deleting a session that is there must give True")
        async with _Closing(self, storage) as other:
            await _expect_gone(other, gone)
            await _expect_told(other, kept)
        again = await storage.delete_session(str(gone.root))
        _expect(again is False, "deleting a session that is not there must give False")

    @_contract
    async def test_a_deleted_session_is_not_continued(self, storage: StateStorage) -> None:
        """Where a journal is kept, a writer who missed the deletion is told, and leaves no rest."""
        if not await _keeps_journal(storage):
            return
        story = Story()
        await _tell(storage, story, turns=1)
        await storage.delete_session(str(story.root))
        await _expect_conflict(storage, next(story.tell(turns=1)))
        await _expect_gone(storage, story)


class _Closing:
    """A second object on a storage's data, closed at the end unless it is the same one."""

    def __init__(self, contract: StorageContract, storage: StateStorage) -> None:
        self._contract, self._first, self._second = contract, storage, storage

    async def __aenter__(self) -> StateStorage:
        self._second = await self._contract.reopened(self._first)
        return self._second

    async def __aexit__(self, *_: object) -> None:
        if self._second is not self._first:
            await settled(self._second.close())


def _new_id() -> str:
    return str(uuid4())


async def _executor(storage: StateStorage, execution_id: str) -> Any:
    return await settled(storage.load_executor_state(execution_id))


async def _actor(storage: StateStorage, execution_id: str, actor_id: str) -> Any:
    return await settled(storage.load_actor_state(execution_id, actor_id))


async def _keeps_journal(storage: StateStorage) -> bool:
    return await settled(storage.load_rows(_new_id())) is not None


async def _tell(storage: StateStorage, story: Story, turns: int) -> None:
    for commit in story.tell(turns):
        await storage.commit(commit)


def _late_commits(story: Story) -> list[Commit]:
    """Commits of writers that do not know the session's latest rows, or rows that never were."""
    root, count = str(story.root), len(story.rows)
    turn = TurnRow(
        kind="turn",
        at="2031-01-01T00:00:00.000Z",
        session_id=story.session_id,
        turn=99,
        node="late",
        node_type="LLMNode",
    )
    numbers = (0, count - 1, count + 1)
    return [
        Commit(root, first, rows, Touched, open=True)
        for first in numbers
        for rows in ((turn,), (turn, turn))
    ]


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _expect_same(found: Any, expected: Any) -> None:
    """Equal, with keys in the same order and ``1`` apart from ``1.0`` and ``True``."""
    _expect(repr(found) == repr(expected), f"saved {expected!r:.500}, loaded {found!r:.500}")


async def _lease(storage: StateStorage, story: Story) -> Lease:
    lease: Lease = await settled(storage.lease(str(story.root), story.session_id))
    return lease


async def _refusal(storage: StateStorage, story: Story) -> str:
    """What a storage says when it refuses a lease; empty if it gives one, which is released."""
    try:
        lease = await _lease(storage, story)
    except SessionConflict as error:
        return str(error)
    await settled(lease.release())
    return ""


async def _expect_conflict(storage: StateStorage, commit: Commit) -> None:
    try:
        await storage.commit(commit)
    except SessionConflict:
        return
    raise AssertionError(f"row {commit.first} was stored although the journal has another length")


async def _expect_told(storage: StateStorage, story: Story) -> None:
    """The storage knows all that was told: as rows, or as the states after them."""
    rows = await settled(storage.load_rows(str(story.root)))
    if rows is not None:
        _expect(rows == story.rows, f"{len(story.rows)} rows were stored, {len(rows)} loaded")
        return
    answered = len(story.rows) % 2 == 0
    status = ExecutorStatus.COMPLETED if answered else ExecutorStatus.IDLE
    root, executor = story.root_executor(status), story.executor(status)
    _expect_same(await load_executor(storage, str(root.execution_id)), root)
    _expect_same(await load_executor(storage, str(executor.execution_id)), executor)
    actor = await load_actor(storage, str(root.execution_id), str(story.actor_id))
    if answered:
        _expect_same(actor, story.actor(executor, root))


async def _expect_gone(storage: StateStorage, story: Story) -> None:
    _expect(not await settled(storage.load_rows(str(story.root))), "rows of it are left")
    roots = [line.root for line in await storage.list_sessions()]
    _expect(str(story.root) not in roots, "it is still listed")
