"""Liman's four methods on the built-in storages: beside a journal, and out of one."""

from __future__ import annotations

import math
from uuid import UUID, uuid4, uuid5

import pytest

from liman_nb.errors import NotStorable, SessionConflict, StorageError, UsageError
from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.state.memory import InMemoryStateStorage
from liman_nb.state.rows import ErrorRecord, RunRow, TurnRow
from liman_nb.state.states import ExecutorState, LLMNodeState, NodeActorState
from liman_nb.state.storage import Commit, Projection, Touched
from liman_nb.testing.story import Story

ODD_IDS = [
    "", "A", "a", ":", "a:b", "a:", "b:a", "%", "*", "\x00", "é", "e\u0301", "\ud800", "x" * 1000,
    "../../etc/passwd", "'; DROP TABLE Cache; --", "00000000-0000-0000-0000-000000000000",
    "{00000000-0000-0000-0000-000000000000}", "00000000000000000000000000000000",
    "urn:uuid:00000000-0000-0000-0000-000000000000", "\x00" * 16,
]  # fmt: skip


@pytest.fixture(params=["memory", "disk"])
async def storage(request, tmp_path):
    """Each of the built-in storages."""
    made = InMemoryStateStorage() if request.param == "memory" else DiskCacheStateStorage(tmp_path)
    yield made
    await made.close()


class _Projector:
    """Stands in for the engine's: one executor per turn and one actor; counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, root, rows):
        self.calls += 1
        actor = uuid5(UUID(root), "chat")
        turns = [row for row in rows if isinstance(row, TurnRow)]
        ids = [uuid5(UUID(root), str(row.turn)) for row in turns]
        executors = [
            ExecutorState(execution_id=UUID(root), node_actor_id=actor, child_executor_ids=ids),
            *(ExecutorState(execution_id=i, node_actor_id=actor, runs=len(rows)) for i in ids),
        ]
        memory = LLMNodeState(messages=tuple({"content": row.input} for row in turns))
        state = NodeActorState(
            actor_id=actor, node_id=actor, node_name="chat", node_type="LLMNode", node_state=memory
        )
        return Projection({str(e.execution_id): e for e in executors}, {str(actor): state})


async def _told(storage, turns=2, **fields):
    story = Story(**fields)
    for commit in story.tell(turns):
        await storage.commit(commit)
    return story


async def test_a_session_of_an_agent_reads_as_states(storage):
    """Code that knows only Liman's methods finds root, children and actors."""
    storage.attach(_Projector())
    story = await _told(storage, text="hi")
    root = await storage.load_executor_state(str(story.root))
    assert root["child_executor_ids"] == [str(turn.executor_id) for turn in story.turns]
    for child in root["child_executor_ids"]:
        assert (await storage.load_executor_state(child))["runs"] == 4
    actor = await storage.load_actor_state(str(story.root), root["node_actor_id"])
    assert actor["node_state"]["messages"] == [{"content": "hi"}, {"content": "hi"}]


async def test_ids_may_be_uuids(storage):
    """A caller who has parsed a state has UUIDs in hand."""
    storage.attach(_Projector())
    story = await _told(storage)
    assert await storage.load_executor_state(story.root) is not None
    assert await storage.load_executor_state(story.turns[0].executor_id) is not None
    assert await storage.load_actor_state(story.root, story.actor_id) is not None


async def test_a_child_is_found_without_its_root(storage):
    """Its session is looked for among all of them."""
    storage.attach(_Projector())
    stories = [await _told(storage, session_id=f"s{i}") for i in range(5)]
    child = str(stories[2].turns[1].executor_id)
    assert (await storage.load_executor_state(child))["execution_id"] == child
    assert await storage.load_executor_state(str(uuid4())) is None


async def test_walking_down_a_session_reads_it_once(storage):
    """The latest session is kept as states, until it grows."""
    projector = _Projector()
    storage.attach(projector)
    story = await _told(storage, turns=5)
    for turn in story.turns:
        await storage.load_executor_state(str(story.root))
        await storage.load_executor_state(str(turn.executor_id))
    assert projector.calls == 1
    for commit in story.tell(turns=1):
        await storage.commit(commit)
    assert len((await storage.load_executor_state(str(story.root)))["child_executor_ids"]) == 6
    assert projector.calls == 2


async def test_a_loaded_state_is_a_copy(storage):
    """Changing it changes nothing that is kept."""
    storage.attach(_Projector())
    story = await _told(storage, text="hi")
    for _ in range(2):
        actor = await storage.load_actor_state(str(story.root), str(story.actor_id))
        assert actor["node_state"]["messages"][0] == {"content": "hi"}
        actor["node_state"]["messages"][0]["content"] = "changed"


async def test_without_an_agent_a_journal_cannot_be_read_as_states(storage):
    """The message says what to do."""
    story = await _told(storage)
    with pytest.raises(UsageError, match="is kept as a journal: make an Agent with this storage"):
        await storage.load_executor_state(str(story.root))
    with pytest.raises(UsageError, match="make an Agent"):
        await storage.load_actor_state(str(story.root), str(story.actor_id))


async def test_a_state_beside_a_journal_is_refused(storage):
    """It would never be read, so it is not taken."""
    story = await _told(storage)
    with pytest.raises(UsageError, match="a saved state would never be read: change the session"):
        await storage.save_actor_state(str(story.root), str(story.actor_id), {})
    with pytest.raises(UsageError, match="through its agent"):
        await storage.save_executor_state(str(story.root), {})


async def test_any_text_is_an_id(storage):
    """No two ids are confused, whatever they look like."""
    for number, name in enumerate(ODD_IDS):
        await storage.save_executor_state(name, {"number": number})
        await storage.save_actor_state(name, ODD_IDS[-number], {"actor": number})
    for number, name in enumerate(ODD_IDS):
        assert await storage.load_executor_state(name) == {"number": number}
        assert await storage.load_actor_state(name, ODD_IDS[-number]) == {"actor": number}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [math.nan]}, "state.a[0]"),
        ({"a": (1,)}, "state.a"),
        ({1: "a"}, "state[1]"),
        ({"a": {"b": b"x"}}, "state.a.b"),
        ({"a": "\ud800"}, "state.a"),
        ({"a": {1, 2}}, "state.a"),
    ],
)
async def test_a_state_that_json_would_change_is_refused(storage, value, path):
    """Nothing is stored of it."""
    for save in (storage.save_executor_state, lambda i, s: storage.save_actor_state(i, i, s)):
        with pytest.raises(NotStorable) as caught:
            await save("id", value)
        assert caught.value.path == path
    assert await storage.load_executor_state("id") is None
    assert await storage.load_actor_state("id", "id") is None


async def test_deleting_takes_saved_states_along(storage):
    """Of the root, its descendants and its actors; a cycle among them does no harm."""
    ids = [str(uuid4()) for _ in range(4)]
    for parent, child in zip(ids, ids[1:] + ids[:1], strict=True):
        await storage.save_executor_state(parent, {"child_executor_ids": [child]})
        await storage.save_actor_state(ids[0], parent, {"of": parent})
    kept = str(uuid4())
    await storage.save_executor_state(kept, {"child_executor_ids": None})
    await storage.save_actor_state(kept, ids[0], {})
    assert await storage.delete_session(ids[0]) is True
    for execution_id in ids:
        assert await storage.load_executor_state(execution_id) is None
        assert await storage.load_actor_state(ids[0], execution_id) is None
    assert await storage.load_executor_state(kept) == {"child_executor_ids": None}
    assert await storage.load_actor_state(kept, ids[0]) == {}
    assert await storage.delete_session(ids[0]) is False


async def test_a_lost_turn_says_that_its_input_is_not_stored(storage):
    """The person is told what to repeat."""
    story = await _told(storage, turns=1)
    turn = next(Story(root=story.root).tell(turns=1))
    with pytest.raises(SessionConflict) as caught:
        await storage.commit(turn)
    assert str(caught.value) == (
        "session 'alice': another kernel or program wrote to it, or deleted it, or it expired, "
        "since it was opened here (row 0); the input of this turn was not stored. Open the session "
        "again to see what it is now, then repeat"
    )


async def test_a_lost_run_says_that_its_input_is_stored(storage):
    """The turn had begun; only what the node made of it is lost."""
    story = await _told(storage, turns=1)
    late = Commit(str(story.root), 1, (story.rows[1],), Touched)
    with pytest.raises(SessionConflict, match="the input of this turn is stored, the result of"):
        await storage.commit(late)


async def test_a_row_that_is_no_json_is_not_stored(storage):
    """A text of a model or an error may hold half a character; the error names the row."""
    story = await _told(storage, turns=1)
    error = ErrorRecord(type="ValueError", message="\ud800")
    row = RunRow(kind="run", at="", executor=str(story.root), error=error)
    with pytest.raises(NotStorable, match=r"row 2.error.message cannot be stored"):
        await storage.commit(Commit(str(story.root), 2, (row,), Touched))
    assert await storage.load_rows(str(story.root)) == story.rows


async def test_a_journaled_commit_never_asks_for_states(storage):
    """Making them would cost time in proportion to the session."""
    calls = []
    commit = next(Story().tell(turns=1))
    await storage.commit(Commit(commit.root, 0, commit.rows, lambda: calls.append(1)))
    assert calls == []


async def test_a_row_of_a_newer_version_is_reported(storage):
    """A field that this version does not know is not dropped."""
    root = str(uuid4())
    await storage._append(root, 0, [b'{"kind":"run","at":"","executor":"e","mood":"good"}'], [])
    with pytest.raises(StorageError, match=f"row 0 of session {root} .* newer liman_nb"):
        await storage.load_rows(root)


async def test_a_damaged_row_is_reported(storage):
    """With its number, and without its content."""
    story = await _told(storage, turns=1)
    await storage._append(str(story.root), 2, [b'{"kind":"run","secr'], [])
    with pytest.raises(StorageError, match="row 2 of session") as caught:
        await storage.load_rows(str(story.root))
    assert "secr" not in str(caught.value)


async def test_reprs_are_short_and_touch_nothing(tmp_path):
    """They say what and where."""
    storage = InMemoryStateStorage()
    assert repr(storage) == "<InMemoryStateStorage: 0 sessions>"
    await _told(storage)
    assert repr(storage) == "<InMemoryStateStorage: 1 session>"
    assert repr(DiskCacheStateStorage("notes")) == "DiskCacheStateStorage('notes')"
