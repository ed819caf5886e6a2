"""The executor tree: Liman's drawing in a terminal, aligned rows that open in a notebook."""

from __future__ import annotations

import time

import pytest
from html_check import problems, text_of
from view_examples import Play, refund_asked, refund_done, refund_play

from liman_nb.engine.tree import Executor, Tree, Turn
from liman_nb.specs import load_graph
from liman_nb.views import TreeView

DRAWING = """\
Root Executor (01a1dd9a-9374-44e7-b8a8-7fc891b29de0) - SUSPENDED
  ├── Child Executor 1 (child1) - SUSPENDED
  ├── Child Executor 2 (cda81fa7-75f1-4800-bc2b-3aae70aa0e60) - SUSPENDED
  │     ├── Sub Executor 3 (f1e2d3c4-5678-90ab-cdef-1234567890ab) - COMPLETED
  │     └── Sub Executor 4 (a1b2c3d4-5678-90ab-cdef-1234567890ab) - RUNNING
  └── Child Executor 3 (b1c2d3e4-5678-90ab-cdef-1234567890ab) - RUNNING"""
"""The drawing on Liman's page on state."""

ROOT = "01a1dd9a-9374-44e7-b8a8-7fc891b29de0"
SECOND = "cda81fa7-75f1-4800-bc2b-3aae70aa0e60"
THIRD = "b1c2d3e4-5678-90ab-cdef-1234567890ab"
SUB_DONE = "f1e2d3c4-5678-90ab-cdef-1234567890ab"
SUB_RUNNING = "a1b2c3d4-5678-90ab-cdef-1234567890ab"


def drawn_tree(node: str = "") -> Tree:
    """The tree of the drawing."""
    root = Executor(ROOT, node, "LLMNode", status="suspended", children=["child1", SECOND, THIRD])
    executors = [
        root,
        Executor("child1", node, "LLMNode", parent=ROOT, turn=1, status="suspended"),
        Executor(SECOND, node, "LLMNode", parent=ROOT, turn=2, status="suspended"),
        Executor(SUB_DONE, node, "ToolNode", parent=SECOND, turn=2, status="completed"),
        Executor(SUB_RUNNING, node, "ToolNode", parent=SECOND, turn=2),
        Executor(THIRD, node, "LLMNode", parent=ROOT, turn=3),
    ]
    executors[2].children = [SUB_DONE, SUB_RUNNING]
    turns = [Turn(n + 1, identity) for n, identity in enumerate(root.children)]
    return Tree("s", ROOT, executors={e.id: e for e in executors}, turns=turns)


def chain(length: int) -> Tree:
    """One turn of a function that leads to itself."""
    specs = "kind: FunctionNode\nname: again\nfunc: f\nnodes: [again]\n"
    play = Play(load_graph(specs, supplied_functions=["f"])).turn("go")
    for _ in range(length):
        play.run("again", "on", ("again", "fired", {}, ""))
    return play.tree


def turns(count: int) -> Tree:
    """Many turns of one node."""
    play = Play(load_graph("kind: FunctionNode\nname: echo\nfunc: f\n", supplied_functions=["f"]))
    for number in range(count):
        play.turn(f"say {number}").run("echo", f"said {number}")
    return play.tree


def test_the_text_is_the_drawing_of_liman_s_page():
    """Guides, words, numbers, ids and statuses, to the character."""
    assert str(TreeView(drawn_tree(), running={SUB_RUNNING, THIRD})) == DRAWING


def test_a_node_s_name_follows_its_number():
    """Liman's words stay first, the drawing keeps its form."""
    lines = str(TreeView(drawn_tree("chat"), running={SUB_RUNNING})).splitlines()

    assert lines[0] == DRAWING.splitlines()[0]
    assert lines[2] == f"  ├── Child Executor 2: chat ({SECOND}) - SUSPENDED"
    assert lines[5] == f"  └── Child Executor 3: chat ({THIRD}) - IDLE"


def test_deeper_levels_are_drawn_under_their_parents():
    """Every level has its guide, open where siblings follow."""
    lines = [line.split(" (")[0] for line in str(TreeView(refund_done().tree)).splitlines()]

    assert lines == [
        "Root Executor",
        "  └── Child Executor 1: intake",
        "        └── Sub Executor 2: triage",
        "              ├── Sub Executor 3: get_order",
        "              ├── Sub Executor 4: policy",
        "              └── Sub Executor 5: research",
        "                    └── Sub Executor 6: merge",
        "                          └── Sub Executor 7: draft",
        "                                └── Sub Executor 8: approve",
        "                                      └── Sub Executor 9: send",
    ]


def test_a_failure_is_named_in_its_line():
    """What went wrong is seen without opening anything."""
    specs = "kind: FunctionNode\nname: echo\nfunc: f\n"
    play = Play(load_graph(specs, supplied_functions=["f"]))
    play.turn("x").run("echo", error=("ValueError", "no such order\nsecond line"))

    last = str(TreeView(play.tree)).splitlines()[-1]

    assert last.endswith("- FAILED: ValueError: no such order")


def test_before_the_first_turn_there_is_no_tree():
    """An empty session is said to be one."""
    view = TreeView(Tree("s", "r"))

    assert str(view) == "No turn yet"
    assert "no turn yet" in text_of(view.html())


def test_many_turns_show_the_latest():
    """Old turns are counted, the numbers stay."""
    view = TreeView(turns(2_000))
    lines = str(view).splitlines()

    assert lines[1] == "  ├── … 1,000 earlier"
    assert lines[2].startswith("  ├── Child Executor 1001: echo (")
    assert lines[-1].startswith("  └── Child Executor 2000: echo (")
    assert "… 1,850 earlier turns" in text_of(view.html())
    assert view.total == 2_001


def test_a_long_turn_is_cut_and_counted():
    """Thousands of executors do not make a page of megabytes."""
    view = TreeView(chain(1_200))

    assert str(view).splitlines()[-1] == "  … 201 more executors"
    assert "… 1,051 more executors" in text_of(view.html())
    assert len(view.html()) < 600_000


def test_five_thousand_executors_are_shown_at_once():
    """Only what is shown is worked on."""
    tree = turns(5_000)
    start = time.perf_counter()

    TreeView(tree)._repr_mimebundle_()

    assert time.perf_counter() - start < 1


def test_a_row_has_aligned_columns_and_opens_on_its_values():
    """Name, status in icon, word and colour, kind, tokens, seconds; input and output under it."""
    html = TreeView(refund_done().tree).html()
    text = text_of(html)

    assert problems(html) == []
    assert "Turn 1 (9)" in text
    assert "triage✓ doneLLM721" in text
    assert '"intent": "refund"' in text
    assert html.count("grid-template-columns") == 10


def test_a_running_executor_is_shown_running():
    """Nothing stored says so: whoever runs it does."""
    play = refund_play()
    waiting = next(iter(play.tree.idle))

    assert "approve○ waiting" in text_of(TreeView(play.tree).html())
    assert "approve◐ running" in text_of(TreeView(play.tree, running={waiting}).html())


def test_what_is_asked_follows_the_word_of_the_drawing():
    """Who asks is suspended, as in Liman's words, and needs you in a notebook's."""
    play = refund_asked()
    (asking,) = play.tree.asking
    html = TreeView(play.tree).html()

    last = str(TreeView(play.tree)).splitlines()[-1]
    assert last.endswith(f"Sub Executor 8: approve ({asking}) - SUSPENDED, asks: Refund 148.0 EUR?")
    assert str(TreeView(play.tree, {asking})).splitlines()[-1].endswith("- RUNNING")
    assert problems(html) == []
    assert "approve◆ needs youperson" in text_of(html)
    assert "asks: Refund 148.0 EUR?" in text_of(html)
    assert text_of(html).startswith("Executors◆ needs you")


def test_only_the_latest_turn_is_shown_when_asked_for():
    """For the record of one result."""
    view = TreeView(turns(3), latest_only=True)

    assert [line.split(":")[0] for line in str(view).splitlines()[1:]] == [
        "  ├── … 2 earlier",
        "  └── Child Executor 3",
    ]
    assert view.total == 1


@pytest.mark.parametrize("change", ["run", "cancel"])
def test_a_view_is_a_snapshot(change: str):
    """What happens later does not change an output."""
    play = refund_play()
    view = TreeView(play.tree)
    before = str(view), view.html()

    if change == "run":
        play.run(
            "approve", {"approved": True}, ("send", "fired", {}, ""), ("draft", "not fired", {}, "")
        )
    else:
        play.cancel("enough")

    assert (str(view), view.html()) == before
    assert str(TreeView(play.tree)) != before[0]
