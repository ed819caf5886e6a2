"""Ids are derived from what they stand for."""

from uuid import UUID, uuid5

from hypothesis import given
from hypothesis import strategies as st

from liman_nb.engine import ids

ROOT = ids.root_id("", "hello", "alice")


def test_the_same_session_has_the_same_id_in_every_process():
    """An id depends on agency, agent and session only."""
    assert str(uuid5(ids.NAMESPACE, '["", "hello", "alice"]')) == ROOT
    assert UUID(ROOT).version == 5


def test_parts_of_a_root_id_cannot_run_into_each_other():
    """An agent named ``a/b`` and an agency named ``a`` never share sessions."""
    assert ids.root_id("a", "b", "c") != ids.root_id("", "a", "b/c")
    assert ids.root_id("a", "bc", "") != ids.root_id("a", "b", "c")


@given(st.integers(1, 10**6), st.text(st.characters(exclude_categories=["Cs"])))
def test_a_child_id_is_a_version_5_uuid_of_its_parent(run: int, via: str):
    """The short-cut gives what the standard library's uuid5 gives."""
    assert ids.child_id(ROOT, run, via) == str(uuid5(UUID(ROOT), f"{run}/{via}"))


def test_a_call_keeps_its_position():
    """A call's position comes back from its `via`, whatever the model's id looks like."""
    assert ids.call_position(ids.call_via(12, "call:3:x")) == 12
