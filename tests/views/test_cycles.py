"""Edges that close a cycle are found, and without them there is none."""

from __future__ import annotations

from graphlib import TopologicalSorter

from hypothesis import given
from hypothesis import strategies as st

from liman_nb.views.cycles import closing_edges

_edges = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=25)


def test_the_way_from_the_first_node_runs_downwards():
    """What leads back is what was reached on the way."""
    assert closing_edges([0, 1, 2], [(0, 1), (1, 2), (2, 0)]) == {2}
    assert closing_edges([1, 0, 2], [(0, 1), (1, 2), (2, 0)]) == {0}
    assert closing_edges([0, 1], [(0, 1), (1, 0), (0, 0)]) == {1, 2}


@given(_edges)
def test_turned_round_they_leave_no_cycle(edges: list[tuple[int, int]]):
    """Whatever the graph: the rest, with the closing ones reversed, can be sorted."""
    closing = closing_edges(range(7), edges)
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for number, (source, target) in enumerate(edges):
        if source != target:
            sorter.add(*((source, target) if number in closing else (target, source)))

    assert sorter.prepare() is None


@given(_edges)
def test_nothing_else_is_turned_round(edges: list[tuple[int, int]]):
    """A graph without a cycle has no closing edge."""
    downwards = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]

    assert closing_edges(range(7), downwards) == frozenset()


def test_a_long_chain_needs_no_deep_stack():
    """Thousands of nodes in a row."""
    edges = [(n, n + 1) for n in range(20_000)]

    assert closing_edges(range(20_001), [*edges, (20_000, 0)]) == {20_000}
