"""Joins as they are shown: in the tree, in the graph, and with each branch that came to one."""

from __future__ import annotations

import re
from typing import Any

from html_check import alts_of, problems, text_of
from joining_agent import joining_agent

from liman_nb import Agent
from liman_nb.views import TreeView
from liman_nb.views.joins import ShownJoin, listed


def tree_lines(agent: Agent) -> list[str]:
    """The drawing without ids."""
    return [re.sub(r" \([0-9a-f-]{36}\)", "", line) for line in str(agent.tree()).splitlines()]


async def half_way(intent: str = "refund") -> Agent:
    """The refund was approved; one branch has arrived, the other asks a person."""
    agent = joining_agent(intent)
    await agent.step("My jar arrived broken.")
    await agent.resume(True)
    return agent


def line_of(view: object, start: str) -> str:
    """The line of a graph's text that follows that of a node."""
    lines = str(view).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith(start))
    return lines[at + 2]


async def test_a_join_that_waits_is_told_at_its_fork():
    """What arrived and what is still open; who asks is told in its own line."""
    agent = await half_way()

    asks = "asks: Which archives should be searched?"
    assert tree_lines(agent) == [
        "Root Executor - SUSPENDED",
        "  └── Child Executor 1: triage - SUSPENDED, merge waits for research (policy arrived)",
        "        ├── Sub Executor 2: refund - COMPLETED",
        "        ├── Sub Executor 3: policy - COMPLETED",
        f"        └── Sub Executor 4: research - SUSPENDED, {asks}",
    ]
    html = agent.tree().html()
    assert problems(html) == []
    assert "merge waits for research (policy arrived)" in text_of(html)
    assert "research◆ needs youfunction" in text_of(html)
    assert text_of(html).startswith("Executors◆ needs you")


async def test_without_the_graph_what_is_missing_is_not_known():
    """A tree alone tells what arrived."""
    agent = await half_way()
    alone = agent._read(None, TreeView)

    assert "SUSPENDED, merge waits for more (policy arrived)" in str(alone)


async def test_a_join_that_started_tells_what_it_joined_and_one_that_halted_why():
    """The first in the line of its executor, the other at its fork."""
    agent = await half_way()
    await agent.resume(["2024"])
    lines = tree_lines(agent)

    assert lines[1].endswith("triage - SUSPENDED, report halted: audit is gone (research arrived)")
    assert lines[5].endswith("merge - SUSPENDED, joins policy and research")


async def test_each_branch_that_came_to_a_join_tells_what_became_of_it():
    """It waits; it was joined; it started the join; the join halted."""
    agent = await half_way()
    first = {(t.source, t.target): t.join for t in agent.transitions()}
    await agent.resume(["2024"])
    view = agent.transitions()
    second = {(t.source, t.target): t.join for t in view}

    assert first["policy", "merge"] == "waits for research"
    assert first["triage", "policy"] == ""
    assert second["policy", "merge"] == "joined with research"
    assert second["research", "merge"] == "started the join of policy and research"
    assert second["research", "report"] == "the join halted: audit is gone"
    assert "               ⤷ joined with research" in str(view).splitlines()
    assert problems(view.html()) == []
    assert "⤷ the join halted: audit is gone" in text_of(view.html())


async def test_a_turn_that_was_given_up_waited():
    """Nothing waits after its end."""
    agent = await half_way()
    await agent.abandon()

    assert "CANCELLED, merge waited for research (policy arrived)" in tree_lines(agent)[1]
    became = {t.source: t.join for t in agent.transitions()}
    assert became["policy"] == "waited for research"


LATE = """
kind: FunctionNode
name: fork
func: same
nodes: [one, two]
---
kind: FunctionNode
name: one
func: same
nodes: [either]
---
kind: FunctionNode
name: two
func: same
nodes: [three]
---
kind: FunctionNode
name: three
func: same
nodes: [either]
---
kind: FunctionNode
name: either
wait_for: one or three
func: same
"""


def same(given: Any) -> Any:
    """Passes on what it got."""
    return given


async def test_a_branch_that_comes_too_late_is_told_so():
    """The join had started with another one."""
    agent = Agent(LATE, functions=[same], state_storage=joining_agent().state_storage)
    await agent.step("hi")
    became = {t.source: t.join for t in agent.transitions() if t.target == "either"}

    assert became["one"] == "started the join of one"
    assert became["three"].startswith("came too late: either had ")
    assert any("either - COMPLETED, joins one" in line for line in tree_lines(agent))


async def test_the_graph_tells_what_a_join_waits_for():
    """In the list, in the alternative text and in the drawing's titles, beside its status."""
    agent = await half_way()

    assert "merge (function) waiting" in str(agent.graph)
    assert line_of(agent.graph, "merge (function)") == "  waits for research (policy arrived)"
    assert "waits for research (policy arrived)" in alts_of(agent.graph.html())[0]
    assert "waits for research (policy arrived)</title>" in agent.graph.to_svg()
    assert "research (function) needs you" in str(agent.graph)


async def test_a_join_that_halted_is_skipped_in_the_graph():
    """Also while the turn goes on: it will not run any more."""
    agent = await half_way()
    await agent.resume(["2024"])

    assert "report (function) skipped" in str(agent.graph)
    assert line_of(agent.graph, "report (function)") == "  halted: audit is gone (research arrived)"
    assert line_of(agent.graph, "merge (function)") == "  started: policy and research arrived"


def test_many_branches_are_counted():
    """A thousand names do not stand in a line."""
    names = tuple(f"n{number}" for number in range(1_000))
    join = ShownJoin("j", "f", "e", 1, False, "waits", names, names[:1], False, names)

    assert listed(names[:1]) == "n0"
    assert listed(names[:3]) == "n0, n1 and n2"
    assert listed(names) == "n0, n1, n2, n3, n4, n5, n6, n7 and 992 more"
    assert len(join.state) < 200
    assert "n0 is gone)" in join.state
