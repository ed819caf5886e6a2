"""A session as lines of JSON: the same session elsewhere, or nothing at all."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis_server import storage_on, tell

from liman_nb.engine.loading import ends_open, tree_of
from liman_nb.errors import SessionConflict, StorageError, UnknownSession, UsageError
from liman_nb.state.disk.storage import DiskCacheStateStorage
from liman_nb.state.memory import InMemoryStateStorage
from liman_nb.state.portable import Imported, export_session, import_session
from liman_nb.state.rows import RunRow
from liman_nb.state.storage import Commit, StateStorage, Touched
from liman_nb.testing.story import Story

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


class _Session(Story):
    """A story whose executors have the ids that the engine gives them."""

    def _answer(self):
        commit = super()._answer()
        tree = tree_of(commit.root, self.rows[:-1])
        row = commit.rows[0].model_copy(update={"executor": next(iter(tree.idle))})
        self.rows[-1] = row
        return replace(commit, rows=(row,))


async def _kept(storage, turns=2, **more):
    story = _Session(**more)
    await tell(storage, story, turns)
    return story


async def _lines(turns=2, **more):
    storage = InMemoryStateStorage()
    story = await _kept(storage, turns, **more)
    return story, await export_session(storage, str(story.root))


_check = ends_open


# ── there and back ───────────────────────────────────────────────────────────────────────────────


async def test_the_lines():
    """A header, then a row a line, as it is stored."""
    story, lines = await _lines(turns=1, session_id="älice")
    assert json.loads(lines[0]) == {
        "format": "liman_nb session",
        "version": 1,
        "session_id": "älice",
        "root": str(story.root),
        "rows": 2,
    }
    assert [json.loads(line)["kind"] for line in lines[1:]] == ["turn", "run"]


@pytest.mark.redis
async def test_from_disk_to_redis_and_back(tmp_path, redis_server, agency):
    """The same rows, and the same line in the list."""
    first, last = DiskCacheStateStorage(tmp_path / "a"), DiskCacheStateStorage(tmp_path / "b")
    story = await _kept(first, turns=3)
    async with storage_on(redis_server, agency=agency) as between:
        await import_session(between, await export_session(first, str(story.root)), _check)
        lines = await export_session(between, str(story.root))
        assert await between.list_sessions() == await first.list_sessions()
    done = await import_session(last, lines, _check)
    assert done == Imported(str(story.root), "alice", rows=6, added=6)
    assert await last.load_rows(str(story.root)) == story.rows
    assert await last.list_sessions() == await first.list_sessions()
    await first.close()
    await last.close()


@settings(deadline=None, max_examples=50)
@given(session_id=texts, value=values)
async def test_any_session_comes_back(session_id, value):
    """Its lines are ASCII, without anything that ends a line or moves a cursor."""
    story, lines = await _lines(turns=1, session_id=session_id, text=value)
    assert all(line.isascii() and line.isprintable() for line in lines)
    storage = InMemoryStateStorage()
    await import_session(storage, "\r\n".join(lines).splitlines(keepends=True), _check)
    assert await storage.load_rows(str(story.root)) == story.rows


async def test_the_rest_of_a_session_is_added():
    """A storage that has its beginning gets what is missing, in one commit."""
    story, lines = await _lines(turns=1)
    storage = InMemoryStateStorage()
    assert (await import_session(storage, lines, _check)).added == 2
    elsewhere = InMemoryStateStorage()
    await import_session(elsewhere, lines, _check)
    await tell(elsewhere, story, turns=2)
    done = await import_session(storage, await export_session(elsewhere, str(story.root)), _check)
    assert (done.rows, done.added) == (6, 4)
    assert await storage.load_rows(str(story.root)) == story.rows


@pytest.mark.parametrize("length", [3, 4], ids=["open", "ended"])
async def test_an_open_session_is_open_where_it_is_imported(length, tmp_path):
    """It waits there for as long as it takes; one whose last turn has ended expires."""
    now = [1e9]
    given = InMemoryStateStorage()
    story = _Session()
    for commit in [*story.tell(turns=2)][:length]:
        await given.commit(commit)
    lines = await export_session(given, str(story.root))
    times = {"session_ttl": 100, "clock": lambda: now[0]}
    for storage in (InMemoryStateStorage(**times), DiskCacheStateStorage(tmp_path, **times)):
        await import_session(storage, lines, _check)
        now[0] += 1000
        rows = story.rows[:length] if length == 3 else []
        assert await storage.peek_rows(str(story.root)) == rows
        await storage.close()


async def test_a_session_in_use_is_not_imported_over():
    """The import is refused, and the turn under way goes on."""
    story, lines = await _lines(turns=2)
    storage = InMemoryStateStorage()
    await import_session(storage, [lines[0].replace('"rows":4', '"rows":2'), *lines[1:3]], _check)
    lease = await storage.lease(str(story.root), story.session_id)
    with pytest.raises(SessionConflict, match="'alice'"):
        await import_session(storage, lines, _check)
    assert await storage.load_rows(str(story.root)) == story.rows[:2]
    await lease.release()
    assert (await import_session(storage, lines, _check)).added == 2


async def test_importing_twice_changes_nothing():
    """It is there already."""
    story, lines = await _lines()
    storage = InMemoryStateStorage()
    await import_session(storage, lines, _check)
    assert (await import_session(storage, lines, _check)).added == 0
    assert await storage.load_rows(str(story.root)) == story.rows


async def test_looking_at_a_session_does_not_make_it_live_longer():
    """An export is no use of it."""
    now = [0.0]
    storage = InMemoryStateStorage(session_ttl=100, clock=lambda: now[0])
    story = await _kept(storage)
    now[0] = 60
    await export_session(storage, str(story.root))
    now[0] = 101
    with pytest.raises(UnknownSession):
        await export_session(storage, str(story.root))


# ── what is refused ──────────────────────────────────────────────────────────────────────────────


async def _refused(lines, match, storage=None):
    """The import is refused, and nothing is stored of it."""
    storage = storage or InMemoryStateStorage()
    before = {
        line.root: await storage.load_rows(line.root) for line in await storage.list_sessions()
    }
    with pytest.raises(UsageError, match=match):
        await import_session(storage, lines, _check)
    after = {
        line.root: await storage.load_rows(line.root) for line in await storage.list_sessions()
    }
    assert after == before


async def test_another_session_of_the_same_id_is_not_replaced():
    """Nor is a later state of the same one."""
    story, lines = await _lines(turns=1)
    storage = InMemoryStateStorage()
    await _kept(storage, root=story.root, text="another")
    await _refused(lines, r"another content \(4 rows, 2 in what is imported\)", storage)
    storage = InMemoryStateStorage()
    await import_session(storage, lines, _check)
    await tell(storage, story, turns=1)
    await _refused(lines, r"another content \(4 rows, 2 in what is imported\)", storage)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda lines: [], "there is nothing to import"),
        (lambda lines: ["", "\n"], "there is nothing to import"),
        (lambda lines: lines[1:], "line 1: format: Field required"),
        (lambda lines: ["{", *lines[1:]], "line 1 is no JSON"),
        (lambda lines: ["\ud800", *lines[1:]], "line 1 is no JSON"),
        (lambda lines: ["[]", *lines[1:]], "line 1: Input should be"),
        (lambda lines: lines[:-1], "4 rows follow, and there are 3"),
        (lambda lines: [*lines, lines[-1]], "4 rows follow, and there are 5"),
        (lambda lines: [*lines[:2], "", *lines[3:]], "line 3 is no row"),
        (lambda lines: [*lines[:2], lines[2][:-9], *lines[3:]], "line 3 is no row"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "line 2: a session begins"),
        (lambda lines: [*lines[:2], lines[4], lines[3], lines[2]], "do not make a session"),
        (lambda lines: [*lines[:3], lines[1], lines[4]], "turn 1 of session 'alice' stands where"),
        (lambda lines: [*lines[:2], lines[2], lines[2], lines[4]], "do not make a session"),
    ],
)
async def test_lines_that_are_no_session(change, match):
    """Cut, swapped, doubled or something else: one sentence says what, and where."""
    _, lines = await _lines()
    await _refused(change(lines), match)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        (
            {"version": 2},
            "format version 2 is newer than this liman_nb, which reads 1: pip install",
        ),
        ({"version": 0}, "line 1: version, root or rows is wrong"),
        ({"version": "1"}, "line 1: version: Input should be a valid integer"),
        ({"format": "sessions"}, "line 1: format: Input should be 'liman_nb session'"),
        ({"rows": 0}, "line 1: version, root or rows is wrong"),
        ({"root": "../../x"}, "line 1: version, root or rows is wrong"),
        ({"session_id": "bob"}, "of session 'alice' stands where turn 1 of session 'bob' belongs"),
        ({"mood": "good"}, "line 1: mood: Extra inputs are not permitted"),
    ],
)
async def test_a_header_that_is_wrong(changed, match):
    """Nothing of the rest is believed either."""
    _, lines = await _lines()
    await _refused([json.dumps({**json.loads(lines[0]), **changed}), *lines[1:]], match)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ('{"kind": "mood"}', "line 3 is no row of a session: .*newer liman_nb"),
        ('{"kind": "run", "at": "", "executor": "x", "mood": 1}', "line 3 .*Extra inputs"),
        ('{"kind": "run", "at": "", "executor": "x", "output": NaN}', "line 3.output cannot be"),
        ('{"kind": "run", "at": "", "executor": "x"}', "a row of executor x is stored"),
        (f'{{"kind": "run", "output": {"[" * 150}{"]" * 150}}}', "nested deeper than 100"),
        (f'{{"kind": "run", "output": {"[" * 999}{"]" * 999}}}', "line 3 is no row"),
        ("\ud800", "line 3 is no row"),
    ],
)
async def test_a_row_that_is_wrong(changed, match):
    """A file may come from anywhere."""
    _, lines = await _lines()
    await _refused([*lines[:2], changed, *lines[3:]], match)


async def test_a_session_that_is_not_there():
    """It is said with the storage that was looked into."""
    with pytest.raises(UnknownSession, match="no session with execution_id r in <InMemory"):
        await export_session(InMemoryStateStorage(), "r")


async def test_a_storage_without_a_journal():
    """It cannot take in rows, nor give any."""

    class Four(StateStorage):
        def _nothing(self, *_):
            return None

        save_actor_state = load_actor_state = _nothing
        save_executor_state = load_executor_state = _nothing

    story, lines = await _lines()
    with pytest.raises(UsageError, match="Four keeps no journal, which exporting and importing"):
        await export_session(Four(), str(story.root))
    with pytest.raises(UsageError, match="Four keeps no journal"):
        await import_session(Four(), lines, _check)


async def test_a_journal_that_does_not_begin_with_a_turn():
    """Nothing is exported that could not be imported."""
    storage = InMemoryStateStorage()
    row = RunRow(kind="run", at="", executor="x")
    await storage.commit(Commit("r", 0, (row,), Touched, open=True))
    with pytest.raises(StorageError, match="does not begin with a turn"):
        await export_session(storage, "r")
