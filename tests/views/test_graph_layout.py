"""Drawn graphs: nothing overlaps, every edge is drawn, no edge runs through a foreign box."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise

import pytest
from drawn_graphs import CALL, HARD, model, tangle
from geometry_check import faults
from hypothesis import given, settings
from hypothesis import strategies as st

from liman_nb.errors import UsageError
from liman_nb.views import dot
from liman_nb.views.graph_model import GraphModel
from liman_nb.views.layout import WIDE, lay_out
from liman_nb.views.palette import STATUSES
from liman_nb.views.sizes import node_size

METHODS = [pytest.param(False, id="dot"), pytest.param(True, id="layers")]


@pytest.mark.parametrize("without_graphviz", METHODS)
@pytest.mark.parametrize("name", HARD)
def test_hard_graphs_are_drawn_without_a_fault(name: str, without_graphviz: bool):
    """Boxes are apart, edges complete and attached, curves keep out of boxes, by both methods."""
    graph = HARD[name]

    layout = lay_out(graph, without_graphviz=without_graphviz)

    assert faults(graph, layout) == []


def test_the_checker_finds_faults():
    """The checks of this file see an overlap, a missing edge and a trespassing one."""
    graph = HARD["cycles"]
    good = lay_out(graph)
    stacked = replace(good, nodes=(good.nodes[1], *good.nodes[1:]))
    without = replace(good, curves={n: c for n, c in good.curves.items() if n != 2})
    swapped = replace(good, curves={**good.curves, 0: good.curves[3], 3: good.curves[0]})

    assert "node 0 overlaps node 1" in faults(graph, stacked)
    assert "edge 2 is not drawn" in faults(graph, without)
    assert any("edge 0 runs through" in fault for fault in faults(graph, swapped))


@pytest.mark.parametrize("seed", range(4))
def test_tangled_graphs_are_drawn_without_a_fault(seed: int):
    """Thirty nodes, fifty edges and six self loops, thrown at random."""
    graph = tangle(30, 50, 6, seed)

    assert faults(graph, lay_out(graph)) == []
    assert faults(graph, lay_out(graph, without_graphviz=True)) == []


_names = st.integers(1, 7).map(lambda n: [f"n{i}" for i in range(n)])
_conditions = st.sampled_from(["", "a", "amount > 100 and tier == 'gold'", CALL])


@st.composite
def _graphs(draw: st.DrawFn) -> GraphModel:
    names = draw(_names)
    ends = st.sampled_from(names)
    edges = draw(st.lists(st.tuples(ends, ends, _conditions), max_size=14))
    proper = [e for e in edges if not (e[0] == e[1] and e[2] == CALL)]
    return model(names, proper)


@given(_graphs())
@settings(max_examples=150, deadline=None)
def test_any_graph_is_drawn_without_a_fault_by_layers(graph: GraphModel):
    """Our own method keeps its promises for every graph."""
    assert faults(graph, lay_out(graph, without_graphviz=True)) == []


@given(_graphs())
@settings(max_examples=25, deadline=None)
def test_any_graph_is_drawn_without_a_fault_by_dot(graph: GraphModel):
    """Graphviz, with labels as boxes and loops as stacks, keeps them too."""
    assert faults(graph, lay_out(graph)) == []


def test_dot_arranges_ordinary_graphs():
    """Where pygraphviz is installed, it is what arranges."""
    expected = "dot" if find_spec("pygraphviz") else "layers"

    assert lay_out(HARD["cycles"]).method == expected


def test_without_pygraphviz_our_own_method_arranges(monkeypatch: pytest.MonkeyPatch):
    """A missing package is no error: the child's failure means the other method."""
    monkeypatch.setattr(dot.sys, "executable", "/nowhere/python")

    assert lay_out(HARD["cycles"]).method == "layers"


def test_a_graph_beyond_the_bound_is_not_given_to_dot(monkeypatch: pytest.MonkeyPatch):
    """The size decides before any process is started."""
    monkeypatch.setattr(dot.subprocess, "run", _never)
    names = [f"n{i}" for i in range(dot.SIZE_LIMIT)]

    assert lay_out(model(names, [(names[0], name, "") for name in names[1:]])).method == "layers"


def test_dot_is_stopped_at_its_time_limit():
    """Running out of time is no error either."""
    plan_size = tangle(60, 90, 0, seed=1)
    seen = []
    original = dot.arrange

    def hurried(problem):
        seen.append(original(problem, seconds=0.001))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dot, "arrange", hurried)
        layout = lay_out(plan_size)

    assert set(seen) == {None}
    assert layout.method == "layers"


def test_a_graph_too_large_to_draw_says_what_to_use_instead():
    """A drawing of thousands of lines helps nobody; the error names the other ways."""
    names = [f"n{i}" for i in range(400)]
    chain = [(a, b, "") for a, b in pairwise(names)]
    across = [(names[i], names[-1 - i], "") for i in range(150)]

    with pytest.raises(UsageError, match=r"too large to draw; use \.to_mermaid\(\)"):
        lay_out(model(names, chain + across))


@pytest.mark.parametrize("without_graphviz", METHODS)
def test_a_wide_graph_is_drawn_from_left_to_right(without_graphviz: bool):
    """Fourteen ways from one node are a column, not a row that nobody can read."""
    wide = lay_out(HARD["fourteen edges out of one node"], without_graphviz=without_graphviz)
    narrow = lay_out(HARD["cycles"], without_graphviz=without_graphviz)

    assert wide.width < WIDE
    assert wide.start.right < wide.nodes[0].left
    assert wide.nodes[0].right < min(leaf.left for leaf in wide.nodes[1:])
    assert narrow.start.bottom < narrow.nodes[0].top


def test_an_edge_that_leads_back_is_an_upward_one():
    """Its label stands between the two nodes, like those of the way down."""
    graph = model(["a", "b"], [("a", "b", "on"), ("b", "a", "back")])

    for layout in (lay_out(graph), lay_out(graph, without_graphviz=True)):
        on, back = (layout.labels[number].box for number in (0, 1))
        assert on.y == pytest.approx(back.y)
        assert layout.nodes[0].bottom < back.top < back.bottom < layout.nodes[1].top
        tip = layout.curves[1][-1].tip
        assert tip is not None
        assert tip[1] == pytest.approx(layout.nodes[0].bottom, abs=2)


def test_the_layout_is_the_same_for_every_status():
    """Recolouring never moves anything: a node is as wide as its widest status."""
    sizes = {node_size(model(["chat"], statuses=[status]).nodes[0]) for status in STATUSES}

    assert len(sizes) == 1


def test_a_graph_alone_needs_less_room():
    """Without a session no room is kept for a status."""
    alone, live = (model(["chat"], statuses=statuses).nodes[0] for statuses in ([], ["done"]))

    assert node_size(alone)[0] < node_size(live)[0]


def test_what_a_node_waits_for_is_a_third_line():
    """It makes the node taller, and wider only up to a bound."""
    plain = node_size(model(["chat"]).nodes[0])
    short, long, endless = (
        node_size(model(["chat"], waits={"chat": "waits for " + names}).nodes[0])
        for names in ("a", "a and (b or c?)", "x" * 10_000)
    )

    assert plain[1] + 14 == short[1] == long[1] == endless[1]
    assert plain[0] < long[0] < endless[0] < 400


def test_the_start_is_marked_above_the_entry():
    """An arrow leads from a mark to the entry node, which stands below it."""
    layout = lay_out(HARD["cycles"])

    assert layout.start_curve is not None
    assert layout.start.bottom < layout.nodes[0].top


def test_an_empty_graph_is_drawn_as_nothing():
    """No node, no edge, no start, no failure."""
    layout = lay_out(model([]))

    assert layout.nodes == ()
    assert layout.start_curve is None


def _never(*_args: object, **_kwargs: object) -> None:
    raise AssertionError("a process was started")
