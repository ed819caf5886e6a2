"""Joins: nodes that wait for several branches of one fork. First example by example, then any."""

import itertools

import pytest
from four_methods import FourMethods
from hypothesis import given, settings
from join_rows import SLOW, Walk, walks
from session_rows import tree_of

from liman_nb import Agent, InMemoryStateStorage, ScriptedLLM, call
from liman_nb.engine.tree import ENDED, Join
from liman_nb.errors import TurnFailed
from liman_nb.specs.check import load_graph


def graph_of(text: str, entry: str = "fork"):
    """A graph of functions: a line for each node, `name -> targets`, `name (wait_for) -> …`."""
    documents = []
    for line in text.strip().splitlines():
        head, _, targets = line.partition("->")
        name, _, waits = head.strip().partition(" ")
        document = {"kind": "FunctionNode", "name": name, "func": "f"}
        document["edges"] = [target.strip() for target in targets.split(",") if target.strip()]
        if waits:
            document["wait_for"] = waits
        documents.append(document)
    return load_graph(documents, start_node=entry, supplied_functions=["f"], strict=False)


class Told(Walk):
    """A walk that is told by the names of nodes."""

    def go(self, node: str, *targets: str, fails: bool = False) -> None:
        """The first executor of a node that may run ends, and these edges fire."""
        self.run(self.at(node), *targets, fails=fails)
        self.compare()

    def at(self, node: str) -> str:
        """The id of the first executor of a node that may run."""
        return next(i for i in self.ready() if self.tree.executors[i].node == node)

    def waiting(self) -> list[str]:
        """The names of the nodes that may run."""
        return [self.tree.executors[i].node for i in self.ready()]

    def join(self, node: str, number: int = 0) -> Join:
        """The n-th join of a node in this turn."""
        return [j for key, j in self.tree.turns[-1].joins.items() if key[2] == node][number]

    def inputs(self, node: str) -> list:
        """What the executors of a node were given."""
        return [e.input for e in self.tree.executors.values() if e.node == node]


def walk(text: str, entry: str = "fork") -> Told:
    """A turn through a graph."""
    return Told(graph_of(text, entry))


THREE = """
fork -> a, b, c
a -> join
b -> join
c -> join
join (RULE) ->
"""


# ── when it starts ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", list(itertools.permutations("abc")))
@pytest.mark.parametrize(
    ("rule", "enough"),
    [
        ("a and b and c", [{"a", "b", "c"}]),
        ("a or b or c", [{"a"}, {"b"}, {"c"}]),
        ("a and (b or c)", [{"a", "b"}, {"a", "c"}]),
        ("(a and b) or c", [{"a", "b"}, {"c"}]),
        ("a? and b? and c?", [{"a", "b", "c"}]),
        ("a and (b? or c)", [{"a", "b"}, {"a", "c"}]),
    ],
)
def test_a_join_starts_with_the_arrival_that_is_enough(rule, enough, order):
    """Whatever the order; what arrives afterwards is on record as late."""
    turn, came = walk(THREE.replace("RULE", rule)), set()
    turn.go("fork", "a", "b", "c")
    for source in order:
        started = any(parts <= came for parts in enough)
        assert ("join" in turn.waiting()) == started
        turn.go(source, "join")
        came.add(source)
    assert "join" in turn.waiting()
    turn.go("join")
    assert len(turn.inputs("join")) == 1
    assert len(turn.join("join").late) == 3 - len(turn.inputs("join")[0])
    assert turn.tree.status == "completed"


def test_its_input_is_what_its_sources_put_out_in_the_order_of_wait_for():
    """By the sources' names; the order of arrival does not matter."""
    turn = walk(THREE.replace("RULE", "c and a and b"))
    turn.go("fork", "a", "b", "c")
    for source in "bca":
        turn.go(source, "join")
    (given_,) = turn.inputs("join")
    assert list(given_.items()) == [("c", "c"), ("a", "a"), ("b", "b")]


def test_a_join_that_starts_early_takes_what_has_arrived():
    """An `or` takes its first arrival alone."""
    turn = walk(THREE.replace("RULE", "a or b or c"))
    turn.go("fork", "a", "b", "c")
    turn.go("b", "join")
    assert turn.inputs("join") == [{"b": "b"}]


def test_it_is_a_child_of_its_fork_that_waits_for_it():
    """The branches end; the fork ends after the join."""
    turn = walk(THREE.replace("RULE", "a and b and c"))
    fork = turn.at("fork")
    turn.go("fork", "a", "b", "c")
    for source in "abc":
        turn.go(source, "join")
    join = turn.tree.executors[turn.at("join")]
    assert (join.parent, join.via, join.depth) == (fork, "join:join", 1)
    assert turn.tree.executors[fork].status == "suspended"
    turn.go("join")
    assert turn.tree.executors[fork].status == "completed"


def test_the_first_arrival_of_a_source_counts():
    """A branch that comes by again is late, and the join gets what came first."""
    turn = walk("fork -> a, b\na -> a, join\nb -> join\njoin (a and b) ->")
    turn.go("fork", "a", "b")
    first = turn.at("a")
    turn.go("a", "a", "join")
    second = turn.at("a")
    turn.go("a", "join")
    assert turn.join("join").arrived == {"a": first}
    assert turn.join("join").late == [second]
    turn.go("b", "join")
    turn.go("join")
    assert turn.tree.status == "completed"


# ── branches that do not arrive ──────────────────────────────────────────────────────────────────

TWO = "fork -> a, b\na -> join\nb -> join\njoin (RULE) ->"


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(
    ("rule", "starts"),
    [("a and b", False), ("a and b?", True), ("a or b", True), ("a? and b?", True)],
)
def test_a_branch_that_ends_elsewhere_is_gone(rule, starts, fails, first):
    """Its condition was false, or its node failed: optional sources are done without."""
    turn = walk(TWO.replace("RULE", rule))
    turn.go("fork", "a", "b")
    if first == "a":
        turn.go("a", "join")
        turn.go("b", fails=fails)
    else:
        turn.go("b", fails=fails)
        turn.go("a", "join")
    assert turn.join("join").outcome == ("started" if starts else "halted")
    if starts:
        assert turn.inputs("join") == [{"a": "a"}]
        turn.go("join")
    assert turn.tree.status == ("failed" if fails else "completed")


def test_a_branch_that_was_never_begun_is_gone():
    """The fork's own condition was false."""
    turn = walk(TWO.replace("RULE", "a and b?"))
    turn.go("fork", "a")
    turn.go("a", "join")
    assert turn.inputs("join") == [{"a": "a"}]


def test_no_arrival_makes_no_join():
    """A join exists from its first arrival on."""
    turn = walk(TWO.replace("RULE", "a? and b?"))
    turn.go("fork", "a", "b")
    turn.go("a")
    turn.go("b")
    assert turn.tree.turns[-1].joins == {}
    assert turn.tree.status == "completed"


def test_a_source_that_fails_and_handles_it_by_its_edge_to_the_join_arrives():
    """The join gets type and message, and the failure is none of the turn's."""
    turn = walk(TWO.replace("RULE", "a and b"))
    turn.go("fork", "a", "b")
    turn.go("a", "join")
    turn.go("b", "join", fails=True)
    assert turn.inputs("join") == [{"a": "a", "b": {"type": "ValueError", "message": "boom"}}]
    turn.go("join")
    assert turn.tree.status == "completed"


def test_a_branch_is_open_while_anything_in_it_can_still_lead_to_the_source():
    """Only what can reach it counts: a long side branch does not keep the join waiting."""
    turn = walk("fork -> a, x, y\nx -> b\ny ->\na -> join\nb -> join\njoin (a and b?) ->")
    turn.go("fork", "a", "x", "y")
    turn.go("a", "join")
    assert turn.join("join").outcome == "waits"
    turn.go("x")
    assert turn.join("join").outcome == "started"
    assert "y" in turn.waiting()


def test_a_failing_join_fails_the_turn_as_any_node_does():
    """And its fork with it."""
    turn = walk(TWO.replace("RULE", "a and b"))
    turn.go("fork", "a", "b")
    turn.go("a", "join")
    turn.go("b", "join")
    turn.go("join", fails=True)
    assert turn.tree.status == "failed"


# ── loops ────────────────────────────────────────────────────────────────────────────────────────


def test_each_round_of_a_loop_has_its_own_join():
    """The join leads back to the fork; the rounds do not know of each other."""
    turn = walk("fork -> a, b\na -> join\nb -> join\njoin (a and b) -> fork")
    for _ in range(3):
        turn.go("fork", "a", "b")
        turn.go("b", "join")
        turn.go("a", "join")
        turn.go("join", "fork")
    turn.go("fork")
    assert len(turn.inputs("join")) == 3
    assert len(turn.tree.turns[-1].joins) == 3
    assert turn.tree.status == "completed"


def test_a_loop_inside_a_branch_holds_the_join_until_it_is_left():
    """A node that tries again may still arrive."""
    turn = walk("fork -> a, b\na -> a, join\nb -> join\njoin (a and b) ->")
    turn.go("fork", "a", "b")
    turn.go("b", "join")
    turn.go("a", "a")
    turn.go("a", "a")
    assert turn.join("join").outcome == "waits"
    turn.go("a", "join")
    assert turn.waiting() == ["join"]


def test_a_branch_that_goes_back_to_the_fork_is_lost_to_its_round():
    """What the second round brings belongs to the second round, also while the first waits."""
    turn = walk("fork -> a, b, c\na -> join\nb -> fork, join\nc -> join\njoin (a and b? and c) ->")
    turn.go("fork", "a", "b", "c")
    turn.go("a", "join")
    turn.go("b", "fork")
    turn.go("fork", "a", "b", "c")
    turn.go("c", "join")
    assert turn.join("join").outcome == "started"
    assert turn.inputs("join") == [{"a": "a", "c": "c"}]
    assert turn.waiting().count("b") == 1


# ── more than one join ───────────────────────────────────────────────────────────────────────────


def test_forks_inside_each_other_have_their_own_joins():
    """The inner join is a source of the outer one."""
    turn = walk(
        "fork -> x, inner\nx -> outer_join\ninner -> a, b\na -> join\nb -> join\n"
        "join (a and b) -> outer_join\nouter_join (x and join) ->"
    )
    turn.go("fork", "x", "inner")
    turn.go("x", "outer_join")
    turn.go("inner", "a", "b")
    turn.go("a", "join")
    turn.go("b", "join")
    turn.go("join", "outer_join")
    assert turn.inputs("outer_join") == [{"x": "x", "join": "join"}]


def test_an_inner_join_that_halts_halts_the_outer_one():
    """Nothing else can bring what it waits for."""
    turn = walk(
        "fork -> x, inner\nx -> outer_join\ninner -> a, b\na -> join\nb -> join\n"
        "join (a and b) -> outer_join\nouter_join (x and join) ->"
    )
    turn.go("fork", "x", "inner")
    turn.go("x", "outer_join")
    turn.go("inner", "a", "b")
    turn.go("a", "join")
    turn.go("b")
    assert turn.join("join").outcome == turn.join("outer_join").outcome == "halted"
    assert turn.tree.status == "completed"


def test_two_joins_at_one_fork_do_not_touch_each_other():
    """Each has its own sources and its own rule."""
    turn = walk("fork -> a, b\na -> both, any\nb -> both, any\nboth (a and b) ->\nany (a or b) ->")
    turn.go("fork", "a", "b")
    turn.go("a", "both", "any")
    assert turn.waiting() == ["b", "any"]
    turn.go("b", "both", "any")
    assert turn.waiting() == ["any", "both"]


CIRCLE = "fork -> a, b\na -> p\nb -> q\np (a and QQ) -> q\nq (b and PP) -> p"


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_joins_that_require_each_other_halt(order):
    """Neither can be first; the turn ends."""
    turn = walk(CIRCLE.replace("QQ", "q").replace("PP", "p"))
    turn.go("fork", "a", "b")
    for source in order:
        turn.go(source, {"a": "p", "b": "q"}[source])
    assert turn.join("p").outcome == turn.join("q").outcome == "halted"
    assert turn.tree.status == "completed"


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_of_joins_that_wait_for_each_other_one_that_can_do_without_starts(order):
    """Then the other one has what it waits for."""
    turn = walk(CIRCLE.replace("QQ", "q?").replace("PP", "p"))
    turn.go("fork", "a", "b")
    for source in order:
        turn.go(source, {"a": "p", "b": "q"}[source])
    assert turn.waiting() == ["p"]
    turn.go("p", "q")
    assert turn.inputs("q") == [{"b": "b", "p": "p"}]


def test_a_turn_that_enters_in_the_middle_has_its_own_forks():
    """A source that no way leads to from there is gone."""
    text = TWO.replace("RULE", "a and b?")
    turn = walk(text, entry="a")
    turn.go("a", "join")
    assert turn.inputs("join") == [{"a": "a"}]
    assert turn.tree.executors[turn.at("join")].parent == turn.tree.turns[-1].executor


# ── whole turns ──────────────────────────────────────────────────────────────────────────────────

SEARCH = """
kind: LLMNode
name: chat
tools: [maps, web]
---
{kind: ToolNode, name: maps, func: look, edges: [merge]}
---
{kind: ToolNode, name: web, func: look, edges: [merge]}
---
{kind: FunctionNode, name: merge, func: merged, wait_for: maps and web}
"""


async def test_tools_whose_branches_join_are_answered_after_the_join():
    """The model waits for the whole branch; each of its runs is a fork of its own."""
    seen = []

    def look(place: str) -> str:
        return f"saw {place}"

    def merged(value: dict) -> str:
        seen.append(value)
        return "merged"

    both = [call("maps", place="Oslo"), call("web", place="Rome")]
    llm = ScriptedLLM([both, both[:1], "done"])
    agent = Agent(SEARCH, llm=llm, functions=[look, merged], state_storage=InMemoryStateStorage())
    result = await agent.step("go")
    assert result.output == "done"
    assert seen == [{"maps": "saw Oslo", "web": "saw Rome"}]
    joins = agent._read(None, lambda tree, _: tree.turns[-1].joins)
    assert {key[1]: join.outcome for key, join in joins.items()} == {1: "started", 2: "halted"}


BRANCHES = """
{kind: FunctionNode, name: fork, func: echo, edges: [left, right]}
---
{kind: FunctionNode, name: left, func: echo, edges: [join]}
---
{kind: FunctionNode, name: right, func: fail, edges: [join]}
---
{kind: FunctionNode, name: join, func: echo, wait_for: left and right}
"""


def echo(value):
    """Hands on its input."""
    return value


def fail(value):
    """Fails."""
    raise ValueError(f"no {value}")


async def test_a_halt_is_on_record_and_what_came_so_far_is_an_output_of_the_turn():
    """Nothing is lost silently."""
    agent = Agent(BRANCHES, functions=[echo, fail], state_storage=InMemoryStateStorage())
    with pytest.raises(TurnFailed) as failed:
        await agent.step("x")
    assert failed.value.result.outputs == (("left", "x"),)
    (join,) = agent._read(None, lambda tree, _: list(tree.turns[-1].joins.values()))
    assert (join.outcome, join.gone) == ("halted", ("right",))


PERSON = """
{kind: FunctionNode, name: fork, func: echo, edges: [ask, work]}
---
{kind: HumanNode, name: ask, question: "Really {input}?", edges: [join]}
---
{kind: FunctionNode, name: work, func: echo, edges: [join]}
---
{kind: FunctionNode, name: join, func: echo, wait_for: ask and work}
"""


@pytest.mark.parametrize("make", [InMemoryStateStorage, FourMethods])
async def test_a_join_waits_for_a_person_across_restarts(make):
    """Another process, which knows the storage alone, finds the other branch arrived."""
    storage = make()

    def agent() -> Agent:
        return Agent(PERSON, functions=[echo], state_storage=storage, name="n", session_id="s")

    result = await agent().step("go")
    assert result.status == "suspended"
    assert result.outputs == ()
    result = await agent().resume("yes")
    assert result.outputs == (("join", {"ask": {"message": "go", "answer": "yes"}, "work": "go"}),)


async def test_a_cancelled_turn_leaves_its_join_and_the_next_one_has_its_own():
    """A join belongs to one turn."""
    agent = Agent(PERSON, functions=[echo], state_storage=InMemoryStateStorage())
    await agent.step("one")
    await agent.abandon()
    await agent.step("two")
    result = await agent.resume("yes")
    assert result.outputs == (
        ("join", {"ask": {"message": "two", "answer": "yes"}, "work": "two"}),
    )
    turns = agent._read(None, lambda tree, _: [list(t.joins.values()) for t in tree.turns])
    assert [[join.outcome for join in joins] for joins in turns] == [["waits"], ["started"]]


async def test_a_join_that_a_turn_enters_at_runs_at_once():
    """`mesh_call` gives it its input; there is nothing to wait for."""
    agent = Agent(PERSON, functions=[echo], state_storage=InMemoryStateStorage())
    result = await agent.mesh_call("join", {"ask": 1})
    assert result.outputs == (("join", {"ask": 1}),)


async def test_a_hundred_branches_join_once():
    """The input is every output by name."""
    names = [f"n{i}" for i in range(100)]
    documents = [{"kind": "FunctionNode", "name": "fork", "func": "echo", "edges": names}]
    documents += [
        {"kind": "FunctionNode", "name": n, "func": "echo", "edges": ["join"]} for n in names
    ]
    rule = " and ".join(names)
    documents.append({"kind": "FunctionNode", "name": "join", "func": "echo", "wait_for": rule})
    agent = Agent(documents, functions=[echo], state_storage=InMemoryStateStorage())
    result = await agent.step("x")
    assert result.outputs == (("join", dict.fromkeys(names, "x")),)


# ── in general ───────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(walks())
def test_joins_do_what_the_rules_say_in_any_graph_and_any_order_of_completion(walk):
    """After every run a naive reading of the rules has the same executors and the same joins."""
    assert tree_of(*walk.rows) == walk.tree


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(walks())
def test_every_turn_ends_and_no_join_is_left_undecided(walk):
    """A join starts or halts, once, and never silently; only a cancellation leaves one waiting."""
    tree = walk.tree
    assert all(executor.status in ENDED for executor in tree.executors.values())
    outcomes = [join.outcome for join in tree.turns[-1].joins.values()]
    assert tree.status == "cancelled" or "waits" not in outcomes
    joined = [e.via.startswith("join:") for e in tree.executors.values()]
    assert sum(joined) == outcomes.count("started")
