"""What a storage with only the four methods does by itself, and what it says it cannot."""

from __future__ import annotations

import re
from uuid import UUID, uuid4

import pytest

from liman_nb.errors import StorageError, UsageError
from liman_nb.state.states import ExecutorState, FunctionNodeState, LastRun, NodeActorState
from liman_nb.state.storage import Commit, StateStorage, Touched, load_actor, load_executor

ROOT = "6f0f8e0a-0000-4000-8000-000000000000"


class _Recording(StateStorage):
    """Remembers what it was asked to save, in order, and gives back what it is told to."""

    def __init__(self, gives=None):
        self.saved = []
        self.gives = gives

    async def save_actor_state(self, execution_id, actor_id, state):
        self.saved.append((execution_id, actor_id, state))

    async def load_actor_state(self, execution_id, actor_id):
        return self.gives

    async def save_executor_state(self, execution_id, state):
        self.saved.append((execution_id, state))

    async def load_executor_state(self, execution_id):
        return self.gives


def _executor(number):
    return ExecutorState(execution_id=UUID(int=number), node_actor_id=UUID(int=99))


def _actor(*executors):
    return NodeActorState(
        actor_id=UUID(int=99),
        node_id=UUID(int=98),
        node_name="n",
        node_type="FunctionNode",
        node_state=FunctionNodeState(extras={"seen": 1}),
        last_run=LastRun(executors=executors),
    )


async def test_a_commit_saves_in_the_order_that_survives_a_crash():
    """New children, then the actor with all that its run changed, the executor that ran last."""
    storage = _Recording()
    child, grandchild, parent, root, ran = (_executor(n) for n in range(1, 6))
    touched = Touched(
        new_executors=(grandchild, child),
        actors=(_actor(parent, root, ran),),
        executors=(parent, root),
        last=ran,
    )
    await storage.commit(Commit(ROOT, 3, (), lambda: touched, open=True))
    ids = [save[-2] for save in storage.saved]
    assert ids == [str(UUID(int=n)) for n in (2, 1, 99, 3, 4, 5)]
    session, _, actor = storage.saved[2]
    assert session == ROOT
    assert NodeActorState.model_validate(actor) == touched.actors[0]
    assert ExecutorState.model_validate(storage.saved[5][1]) == ran


async def test_the_root_of_a_cancelled_turn_is_saved_before_all_else():
    """Everything else of a cancellation follows from it."""
    storage = _Recording()
    root, ran = _executor(1), _executor(2)
    touched = Touched(first=root, actors=(_actor(ran, root),), executors=(ran,), last=root)
    await storage.commit(Commit(ROOT, 3, (), lambda: touched, open=True))
    assert [save[-2] for save in storage.saved] == [str(UUID(int=n)) for n in (1, 99, 2, 1)]


async def test_a_commit_that_touches_nothing_saves_nothing():
    """An empty commit is no error."""
    storage = _Recording()
    await storage.commit(Commit(ROOT, 0, (), Touched, open=True))
    assert storage.saved == []


async def test_states_are_saved_as_plain_json():
    """A back end never sees a UUID or an enum."""
    storage = _Recording()
    touched = Touched(actors=(_actor(_executor(1)),), last=_executor(1))
    await storage.commit(Commit(ROOT, 0, (), lambda: touched, open=True))

    def kinds(value):
        yield type(value)
        for item in value.values() if isinstance(value, dict) else ():
            yield from kinds(item)
        for item in value if isinstance(value, list) else ():
            yield from kinds(item)

    allowed = {dict, list, str, int, float, bool, type(None)}
    for save in storage.saved:
        assert set(kinds(save[-1])) <= allowed


async def test_it_keeps_no_journal():
    """That is how an engine knows that it has to load states."""
    assert await _Recording().load_rows(ROOT) is None


async def test_it_says_which_method_is_missing():
    """Listing and deleting cannot be built on the four."""
    with pytest.raises(UsageError) as caught:
        await _Recording().list_sessions()
    assert str(caught.value) == (
        "_Recording cannot list its sessions: its class does not implement list_sessions()"
    )
    with pytest.raises(UsageError, match=r"delete session 6f0f.*implement delete_session\(\)"):
        await _Recording().delete_session(ROOT)


async def test_it_can_be_attached_and_closed():
    """Both mean nothing to it."""
    storage = _Recording()
    assert storage.attach(lambda root, rows: None) is None
    assert await storage.close() is None


def test_the_four_methods_must_be_there():
    """A class without one of them cannot be used at all."""

    class Three(_Recording):
        load_actor_state = StateStorage.load_actor_state

    with pytest.raises(TypeError, match="load_actor_state"):
        Three()


async def test_nothing_saved_loads_as_none():
    """Where the back end has nothing, neither have we."""
    assert await load_executor(_Recording(), ROOT) is None
    assert await load_actor(_Recording(), ROOT, ROOT) is None


@pytest.mark.parametrize(
    ("gives", "fault"),
    [
        ({}, "execution_id: Field required"),
        (
            {"execution_id": "x", "node_actor_id": ROOT},
            "execution_id: Input should be a valid UUID",
        ),
        ([1], "the state: Input should be a valid dictionary"),
        ("{}", "the state: Input should be a valid dictionary"),
    ],
)
async def test_a_state_that_came_back_changed_is_reported(gives, fault):
    """The message names the storage, the state and the field, and repeats no value."""
    with pytest.raises(StorageError, match=re.escape(fault)) as caught:
        await load_executor(_Recording(gives), ROOT)
    assert str(caught.value).startswith(f"_Recording gave back a state of executor {ROOT}")


async def test_an_actor_that_came_back_changed_is_reported():
    """The session is named with it."""
    with pytest.raises(StorageError, match=f"a state of actor a of session {ROOT}"):
        await load_actor(_Recording({"node_state": {}}), ROOT, "a")


async def test_an_error_of_the_back_end_stays_its_own():
    """A user's exception reaches the user as it is."""

    class Down(_Recording):
        async def save_executor_state(self, execution_id, state):
            raise ConnectionError("server went away")

    touched = Touched(last=_executor(1))
    with pytest.raises(ConnectionError, match="server went away"):
        await Down().commit(Commit(str(uuid4()), 0, (), lambda: touched, open=True))
