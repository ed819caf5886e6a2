"""What the parts of the storage contract share: how a test is run, and what it may expect."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import uuid4

from liman_nb.errors import SessionConflict
from liman_nb.state.rows import TurnRow
from liman_nb.state.states import ExecutorStatus
from liman_nb.state.storage import Commit, StateStorage, Touched, load_actor, load_executor, settled
from liman_nb.testing.story import Story

_Contract = TypeVar("_Contract", bound="Contract")


def contract(
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


class Contract(ABC):
    """How the storage under test is made."""

    @abstractmethod
    async def storage(self) -> StateStorage:
        """A storage of the class under test."""

    async def reopened(self, storage: StateStorage) -> StateStorage:
        """A second object on the same data, as another process would make it.

        The default gives the same object back: right for a storage that lives in memory.
        """
        return storage

    async def expiring(self, session_ttl: float, clock: Callable[[], float]) -> StateStorage | None:  # noqa: ARG002  # for overriding
        """A new, empty storage whose sessions expire; ``None``, the default, if there is none.

        Args:
            session_ttl: seconds that an unused session is kept.
            clock: what it shall take for the time, in seconds.
        """
        return None

    async def kept(self, storage: StateStorage) -> dict[str, bytes] | None:  # noqa: ARG002  # for overriding
        """All that a storage keeps at this moment, by key; ``None``, the default, if unknown."""
        return None

    async def files(self, storage: StateStorage) -> bytes | None:  # noqa: ARG002  # for overriding
        """All bytes of a storage's files; ``None``, the default, if there are none, or unknown."""
        return None


class Reopened:
    """A second object on a storage's data, closed at the end unless it is the same one."""

    def __init__(self, contract: Contract, storage: StateStorage) -> None:
        self._contract, self._first, self._second = contract, storage, storage

    async def __aenter__(self) -> StateStorage:
        self._second = await self._contract.reopened(self._first)
        return self._second

    async def __aexit__(self, *_: object) -> None:
        if self._second is not self._first:
            await settled(self._second.close())


def new_id() -> str:
    """An id that nothing has yet."""
    return str(uuid4())


async def loaded_executor(storage: StateStorage, execution_id: str) -> Any:
    """An executor's state as it comes back."""
    return await settled(storage.load_executor_state(execution_id))


async def loaded_actor(storage: StateStorage, execution_id: str, actor_id: str) -> Any:
    """An actor's state as it comes back."""
    return await settled(storage.load_actor_state(execution_id, actor_id))


async def keeps_journal(storage: StateStorage) -> bool:
    """Whether a storage keeps the rows of sessions."""
    return await settled(storage.load_rows(new_id())) is not None


async def tell(storage: StateStorage, story: Story, turns: int) -> None:
    """Stores the commits of some more turns."""
    for commit in story.tell(turns):
        await storage.commit(commit)


def late_commits(story: Story) -> list[Commit]:
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
        Commit(root, first, rows, Touched) for first in numbers for rows in ((turn,), (turn, turn))
    ]


def expect(condition: bool, message: str) -> None:
    """A check that says what is wrong, without a test framework."""
    if not condition:
        raise AssertionError(message)


def expect_same(found: Any, expected: Any) -> None:
    """Equal, with keys in the same order and ``1`` apart from ``1.0`` and ``True``."""
    expect(repr(found) == repr(expected), f"saved {expected!r:.500}, loaded {found!r:.500}")


async def expect_conflict(storage: StateStorage, commit: Commit) -> None:
    """A commit is refused because the journal has another length."""
    try:
        await storage.commit(commit)
    except SessionConflict:
        return
    raise AssertionError(f"row {commit.first} was stored although the journal has another length")


async def expect_told(storage: StateStorage, story: Story) -> None:
    """The storage knows all that was told: as rows, or as the states after them."""
    rows = await settled(storage.load_rows(str(story.root)))
    if rows is not None:
        expect(rows == story.rows, f"{len(story.rows)} rows were stored, {len(rows)} loaded")
        return
    answered = len(story.rows) % 2 == 0
    status = ExecutorStatus.COMPLETED if answered else ExecutorStatus.IDLE
    root, executor = story.root_executor(status), story.executor(status)
    expect_same(await load_executor(storage, str(root.execution_id)), root)
    expect_same(await load_executor(storage, str(executor.execution_id)), executor)
    actor = await load_actor(storage, str(root.execution_id), str(story.actor_id))
    if answered:
        expect_same(actor, story.actor(executor, root))


async def expect_nothing(storage: StateStorage, story: Story) -> None:
    """Nothing of a session is loaded that was refused."""
    rows = await settled(storage.load_rows(str(story.root)))
    expect(not rows, "rows of what was refused are stored")
    expect(
        rows is not None or await loaded_executor(storage, str(story.root)) is None,
        "a state of what was refused is stored",
    )


async def expect_gone(storage: StateStorage, story: Story) -> None:
    """A session is neither loaded nor listed."""
    expect(not await settled(storage.load_rows(str(story.root))), "rows of it are left")
    roots = [line.root for line in await storage.list_sessions()]
    expect(str(story.root) not in roots, "it is still listed")
