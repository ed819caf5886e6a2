"""A fork is its parent's first turns under other ids, out of a journal as out of states."""

import pytest
from four_methods import FourMethods, Killed, seen
from hypothesis import given, settings
from hypothesis import strategies as st
from played_sessions import GRAPH, ROOT, sessions
from session_rows import FUNCTION, ran, turn

from liman_nb.engine.apply import apply
from liman_nb.engine.decide import turn_row
from liman_nb.engine.forking import forked_rows, forked_tree, moved_rows
from liman_nb.engine.ids import root_id
from liman_nb.engine.loading import load_tree, tree_of
from liman_nb.engine.states import touched, whole
from liman_nb.engine.tree import Tree
from liman_nb.errors import UsageError
from liman_nb.state.rows import LineageRecord, TurnRow, dump_row
from liman_nb.state.storage import Commit

ELSEWHERE = root_id("", "test", "fork")


def done(work):
    """The result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


def stored(rows) -> FourMethods:
    """A storage without a journal after these rows."""
    storage, tree = FourMethods(), Tree("s", ROOT)
    for row in rows:
        first, changes = tree.seq, apply(tree, row)
        made = touched(tree, row, changes)
        commit = Commit(ROOT, first, (row,), lambda made=made: made, open=tree.is_open)
        done(storage.commit(commit))
    return storage


def taken(turns: int) -> LineageRecord:
    """The lineage of a fork."""
    return LineageRecord(session_id="s", root=ROOT, turns=turns)


def fork_of(rows, turns: int) -> Tree:
    """A fork, out of the journal."""
    moved = forked_rows(rows, tree_of(ROOT, rows), taken(turns), ELSEWHERE, "fork")
    return tree_of(ELSEWHERE, moved)


def cut(tree: Tree, turns: int) -> Tree:
    """A fork, out of the tree."""
    return forked_tree(tree, taken(turns), ELSEWHERE, "fork")


@settings(max_examples=200, deadline=None)
@given(sessions())
def test_a_fork_of_all_turns_is_the_same_session_under_other_ids(rows):
    """Executors, actors, joins, questions and what is still to run; only the lineage is new."""
    parent, turns = tree_of(ROOT, rows), sum(isinstance(row, TurnRow) for row in rows)
    fork = fork_of(rows, turns)

    assert seen(fork) == seen(parent)
    assert not set(fork.executors) & set(parent.executors)
    assert not {a.id for a in fork.actors.values()} & {a.id for a in parent.actors.values()}
    assert (fork.session_id, fork.root) == ("fork", ELSEWHERE)
    assert fork.lineage == taken(turns)


@settings(max_examples=200, deadline=None)
@given(sessions(), st.data())
def test_states_give_the_same_fork_as_the_journal(rows, data):
    """At every turn, actors included, also after the session was loaded from its states."""
    parent = done(load_tree(stored(rows), ROOT, "s"))
    before, turns = seen(parent), data.draw(st.integers(1, len(parent.turns)))
    fork = cut(parent, turns)
    expected = fork_of(rows, turns)

    assert seen(fork) == seen(expected)
    assert list(fork.executors) == list(expected.executors)
    assert fork.lineage == expected.lineage
    assert fork.executors == expected.executors
    assert seen(parent) == before


@settings(max_examples=100, deadline=None)
@given(sessions(), st.data())
def test_a_fork_is_stored_whole_as_states(rows, data):
    """What is saved of it loads as the fork; cut off anywhere, there is no fork at all."""
    parent = tree_of(ROOT, rows)
    fork = cut(parent, data.draw(st.integers(1, len(parent.turns))))
    storage = FourMethods()
    storage.left = data.draw(st.integers(0, 20))
    saves = len(fork.executors) + len(fork.actors)
    is_cut = storage.left < saves
    try:
        done(storage.commit(Commit(ELSEWHERE, 0, (), lambda: whole(fork), open=fork.is_open)))
    except Killed:
        assert is_cut
    loaded = done(load_tree(storage, ELSEWHERE, "fork"))

    assert seen(loaded) == seen(Tree("fork", ELSEWHERE) if is_cut else fork)
    assert loaded.lineage == (None if is_cut else fork.lineage)


@settings(max_examples=100, deadline=None)
@given(sessions())
def test_moving_a_session_there_and_back_gives_the_same_bytes(rows):
    """Under its own root and name every row is as it was."""
    there = moved_rows(rows, tree_of(ROOT, rows), ELSEWHERE, "other")
    back = moved_rows(there, tree_of(ELSEWHERE, there), ROOT, "s")

    assert [dump_row(row) for row in back] == [dump_row(row) for row in rows]
    assert ROOT.encode() not in b"".join(map(dump_row, there))


def test_messages_of_a_node_that_was_another_kind_since_cannot_be_forked_from_states():
    """They were given up when the node changed; the error says what can be done."""
    rows = [turn_row(GRAPH, Tree("s", ROOT), "chat", "hi", "2026-01-01T00:00:00Z")]
    tree = tree_of(ROOT, rows)
    apply(tree, ran(tree.turns[0].executor, "hello"))
    apply(tree, turn(2, node="chat", node_type=FUNCTION))
    apply(tree, ran(tree.turns[1].executor, "x"))

    assert "chat" in cut(tree, 2).actors
    with pytest.raises(UsageError, match="what chat remembered then is no longer stored"):
        cut(tree, 1)
