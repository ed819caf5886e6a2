"""Joins: nodes that wait for several branches of one fork."""

from hypothesis import given, settings
from join_rows import walks
from session_rows import tree_of

from liman_nb.engine.tree import ENDED

# ── in general ───────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=150, deadline=None)
@given(walks())
def test_joins_do_what_the_rules_say_in_any_graph_and_any_order_of_completion(walk):
    """After every run a naive reading of the rules has the same executors and the same joins."""
    assert tree_of(*walk.rows) == walk.tree


@settings(max_examples=150, deadline=None)
@given(walks())
def test_every_turn_ends_and_no_join_is_left_undecided(walk):
    """A join starts or halts, once, and never silently; only a cancellation leaves one waiting."""
    tree = walk.tree
    assert all(executor.status in ENDED for executor in tree.executors.values())
    outcomes = [join.outcome for join in tree.turns[-1].joins.values()]
    assert tree.status == "cancelled" or "waits" not in outcomes
    joined = [e.via.startswith("join:") for e in tree.executors.values()]
    assert sum(joined) == outcomes.count("started")
