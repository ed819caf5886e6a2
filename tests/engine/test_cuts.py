"""A storage with only the four methods is cut off anywhere: nothing is lost, nothing done twice."""

import asyncio
import json

import pytest
from four_methods import FourMethods, Journal, Killed, seen
from hypothesis import given, settings
from hypothesis import strategies as st
from join_rows import SLOW, Walk
from session_rows import ROOT, histories

from liman_nb import Agent, Suspend
from liman_nb.engine.apply import apply
from liman_nb.engine.loading import load_tree
from liman_nb.engine.states import touched
from liman_nb.engine.tree import ENDED, Tree
from liman_nb.errors import StorageError, TurnFailed
from liman_nb.models.llm import Reply, ToolCall
from liman_nb.specs.check import load_graph
from liman_nb.state.storage import Commit

# ── rows ─────────────────────────────────────────────────────────────────────────────────────────


def done(work):
    """The result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


def commit(storage: FourMethods, tree: Tree, row) -> None:
    """Apply and store a row as a session does."""
    first, changes = tree.seq, apply(tree, row)
    done(storage.commit(Commit(ROOT, first, (row,), lambda: touched(tree, row, changes), True)))


def loaded(storage: FourMethods) -> Tree:
    """The session as it is stored."""
    return done(load_tree(storage, ROOT, "s"))


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(histories(), st.data())
def test_a_cut_leaves_what_was_before_the_row_or_what_is_after_it(history, data):
    """And from there the session goes on to the same end, through further cuts as well."""
    live, rows = history
    storage, tree, stored = FourMethods(), Tree("s", ROOT), 0
    cuts = 12
    while stored < len(rows):
        before = seen(tree)
        if cuts and data.draw(st.booleans()):
            cuts -= 1
            storage.left = data.draw(st.integers(0, 8))
        try:
            commit(storage, tree, rows[stored])
        except Killed:
            after, tree = seen(tree), loaded(storage)
            assert seen(tree) in (before, after)
            stored += seen(tree) == after
        else:
            stored += 1
        storage.left = None
    assert seen(tree) == seen(live)
    assert seen(loaded(storage)) == seen(live)


def joining() -> list:
    """A join that starts while a sibling asks, and a call of a tool that is unknown."""
    documents = [
        {"kind": "FunctionNode", "name": "fork", "func": "f", "edges": ["a", "b", "chat"]},
        {"kind": "FunctionNode", "name": "a", "func": "f", "edges": ["join"]},
        {"kind": "FunctionNode", "name": "b", "func": "f", "edges": ["join"]},
        {"kind": "FunctionNode", "name": "join", "func": "f", "wait_for": "a or b"},
        {"kind": "LLMNode", "name": "chat"},
    ]
    walk = Walk(load_graph(documents, start_node="fork", supplied_functions=["f"]))

    def at(node: str) -> str:
        return next(e.id for e in walk.tree.executors.values() if e.node == node and not e.runs)

    walk.run(at("fork"), "a", "b", "chat")
    walk.run(at("chat"), calls=("a",))
    walk.run(walk.ready()[-1])
    asking = at("b")
    walk.ask(asking, None)
    walk.run(at("a"), "join")
    walk.answer(asking)
    walk.run(asking, "join")
    walk.run(at("join"))
    walk.run(walk.ready()[-1])
    assert walk.tree.status == "completed"
    return walk.rows


@pytest.mark.parametrize("second", range(8))
@pytest.mark.parametrize("first", range(8))
def test_two_cuts_one_after_the_other_lose_nothing(first, second):
    """What the first one left unsaved is saved with the next row, of which a cut takes a part."""
    rows = joining()
    for cut_at in range(len(rows)):
        storage, tree, stored, cuts = FourMethods(), Tree("s", ROOT), 0, [second, first]
        while stored < len(rows):
            if stored >= cut_at and cuts:
                storage.left = cuts.pop()
            before = seen(tree)
            try:
                commit(storage, tree, rows[stored])
            except Killed:
                after, tree = seen(tree), loaded(storage)
                assert seen(tree) in (before, after)
                stored += seen(tree) == after
            else:
                stored += 1
            storage.left = None
        assert seen(loaded(storage)) == seen(tree)
        assert tree.status == "completed"


# ── turns ────────────────────────────────────────────────────────────────────────────────────────

CHAT = "{kind: LLMNode, name: chat}"

TOOLS = """
kind: LLMNode
name: chat
tools: [add]
edges: [after]
---
{kind: ToolNode, name: add, edges: [deep]}
---
{kind: FunctionNode, name: deep, func: count}
---
{kind: FunctionNode, name: after, func: echo}
"""

FAN_OUT = """
{kind: FunctionNode, name: start, func: echo, edges: [a, b, c]}
---
{kind: FunctionNode, name: a, func: echo, edges: [last]}
---
{kind: FunctionNode, name: b, func: boom}
---
{kind: FunctionNode, name: c, func: count, edges: [last]}
---
{kind: FunctionNode, name: last, func: count}
"""

LOOP = """
kind: FunctionNode
name: start
func: count
yields: {n: integer}
edges: [{target: start, when: n % 3 != 0}]
"""

HANDLED = """
kind: FunctionNode
name: start
func: boom
edges: [{target: mend, when: "$is_error('ValueError')"}]
---
{kind: FunctionNode, name: mend, func: echo}
"""

JOIN = """
{kind: FunctionNode, name: start, func: echo, edges: [a, b, c]}
---
{kind: FunctionNode, name: a, func: count, edges: [join, any]}
---
{kind: FunctionNode, name: b, func: boom, edges: [join]}
---
{kind: FunctionNode, name: c, func: echo, edges: [join, any]}
---
{kind: FunctionNode, name: join, func: echo, wait_for: a and b? and c, edges: [last]}
---
{kind: FunctionNode, name: any, func: count, wait_for: a or c}
---
{kind: FunctionNode, name: last, func: count}
"""

ROUNDS = """
{kind: FunctionNode, name: enter, func: echo, edges: [start]}
---
{kind: FunctionNode, name: start, func: count, edges: [a, b]}
---
{kind: FunctionNode, name: a, func: echo, edges: [join]}
---
{kind: FunctionNode, name: b, func: echo, edges: [join]}
---
kind: FunctionNode
name: join
func: total
wait_for: a and b
yields: {n: integer}
edges: [{target: start, when: n % 3 != 0}]
"""

QUESTIONS = """
{kind: FunctionNode, name: start, func: echo, edges: [ann, ask, chat, after]}
---
{kind: HumanNode, name: ann, question: "ann?", edges: [join]}
---
{kind: FunctionNode, name: ask, func: ask, edges: [join]}
---
{kind: LLMNode, name: chat, tools: [add]}
---
{kind: ToolNode, name: add, approval: true}
---
{kind: FunctionNode, name: after, func: echo, edges: [join]}
---
{kind: FunctionNode, name: join, func: echo, wait_for: ann and ask and after}
"""

CALLS = [
    ToolCall("c0", "add", '{"a": 1, "b": 2}'),
    ToolCall("c1", "unknown", "{}"),
    ToolCall("c2", "add", '{"a": 3, "b": 4}'),
]


SHAPES = ["chat", "tools", "fan-out", "loop", "handled", "join", "rounds", "questions"]


def model(request) -> Reply:
    """Answers by what it is shown: in turn 1 after two rounds of calls, with what it remembers."""
    roles = [message["role"] for message in request.messages]
    if request.tools and roles.count("user") == 1 and roles.count("assistant") < 2:
        return Reply(text="hm", tool_calls=CALLS if len(roles) == 1 else CALLS[:1])
    return Reply(text=f"{len(roles)} messages")


def echo(value):
    """Hands on its input."""
    return value


def boom(value):
    """Fails."""
    raise ValueError("broke")


def count(value, state: dict):
    """Counts its runs."""
    state["n"] = state.get("n", 0) + 1
    return {"n": state["n"]}


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def total(value: dict):
    """Looks at what both branches brought."""
    assert value["a"] == value["b"]
    return value["a"]


def ask(value, state: dict, answer: str | None = None):
    """Asks two things, and notes what it heard."""
    state["heard"] = [*state.get("heard", []), answer]
    if len(state["heard"]) % 3:
        raise Suspend("What?", schema=str)
    return state["heard"]


def agent_of(specs: str, storage: FourMethods | Journal) -> Agent:
    """An agent; two of them over one storage are two processes."""
    functions = [add, echo, boom, count, total, ask]
    return Agent(specs, llm=model, functions=functions, state_storage=storage, name="n")


def tree_of(agent: Agent) -> Tree:
    """The session's tree."""
    return agent._read(None, lambda tree, running: tree)


async def go_on(agent: Agent) -> None:
    """Answer the first question by name; where none is open, what was under way goes on."""
    asking = {question.node: question for question in agent.pending()}
    if not asking or tree_of(agent).idle:
        await agent.resume()
        return
    first = asking[min(asking)]
    await agent.resume(True if first.kind == "approval" else "yes", question=first)


async def take(agent: Agent, turns: range) -> None:
    """Take the turns that are not taken yet, as a user does after a restart."""
    for number in turns:
        begun = len(tree_of(agent).turns)
        try:
            if begun < number:
                await agent.step(f"turn {number}")
            while tree_of(agent).status not in ENDED:
                await go_on(agent)
        except TurnFailed:
            continue


@pytest.mark.parametrize("make", [FourMethods, Journal])
@pytest.mark.parametrize(
    "specs", [CHAT, TOOLS, FAN_OUT, LOOP, HANDLED, JOIN, ROUNDS, QUESTIONS], ids=SHAPES
)
async def test_after_a_cut_at_any_save_another_process_comes_to_the_same_end(specs, make):
    """And a third one reads the same; so nothing is left that would run again in a later turn."""
    storage = make()
    dying, next_one, reader = (agent_of(specs, storage) for _ in range(3))
    dying.new_session("whole")
    await take(dying, range(1, 3))
    whole = seen(tree_of(dying))
    for cut in range(storage.saves):
        storage.left = cut
        dying.new_session(f"cut at {cut}")
        with pytest.raises(Killed):
            await take(dying, range(1, 3))
        next_one.new_session(f"cut at {cut}")
        await take(next_one, range(1, 3))
        assert seen(tree_of(next_one)) == whole
        reader.new_session(f"cut at {cut}")
        assert seen(tree_of(reader)) == whole
        if isinstance(storage, FourMethods):
            storage.kept.clear()


async def test_after_a_fault_at_any_save_the_same_agent_comes_to_the_same_end():
    """The error is the storage's own; what is shown afterwards is what is stored."""
    storage = FourMethods(OSError)
    agent, reader = agent_of(FAN_OUT, storage), agent_of(FAN_OUT, storage)
    agent.new_session("whole")
    await take(agent, range(1, 3))
    whole = seen(tree_of(agent))
    for cut in range(storage.saves):
        storage.left = cut
        agent.new_session(f"fault at {cut}")
        reader.new_session(f"fault at {cut}")
        with pytest.raises(OSError):  # noqa: PT011 - the storage's, without a text
            await take(agent, range(1, 3))
        assert seen(tree_of(agent)) == seen(tree_of(reader))
        await take(agent, range(1, 3))
        assert seen(tree_of(agent)) == whole
        storage.kept.clear()


# ── a cancellation ───────────────────────────────────────────────────────────────────────────────

TWO_MODELS = """
{kind: FunctionNode, name: start, func: echo, edges: [a, b, c]}
---
{kind: LLMNode, name: a, tools: [quick, hang]}
---
{kind: LLMNode, name: b, tools: [quick, hang]}
---
{kind: FunctionNode, name: c, func: boom}
"""


class Hanging:
    """An agent whose two models each wait for a tool that does not end."""

    def __init__(self, storage: FourMethods) -> None:
        self.ended, self.nothing_else_runs = 0, asyncio.Event()
        self.agent = Agent(
            TWO_MODELS,
            llm=self._model,
            tools=[self.quick, self.hang],
            functions=[echo, boom],
            state_storage=storage,
            name="n",
        )
        self.agent.listen(self._count)

    def _count(self, event) -> None:
        self.ended += event.kind == "node_ended"
        if self.ended == 8:  # start, a, b, c, and of each model a quick tool and an unknown one
            self.nothing_else_runs.set()

    def _model(self, request) -> Reply:
        if request.messages[-1]["content"] == "again":
            return Reply(text=f"{len(request.messages)} messages")
        names = ("quick", "hang", "unknown")
        return Reply(tool_calls=[ToolCall(name, name) for name in names])

    async def quick(self) -> str:
        """Returns."""
        return "quick"

    async def hang(self) -> str:
        """Hangs."""
        await asyncio.sleep(60)
        return "never"

    async def cancel_turn(self, storage: FourMethods, cut: int | None) -> int:
        """Begin a turn, cancel it when everything waits; the number of saves of that."""
        self.ended = 0
        self.nothing_else_runs.clear()
        turn = asyncio.create_task(self.agent.step("go"))
        await self.nothing_else_runs.wait()
        before, storage.left = storage.saves, cut
        turn.cancel()
        with pytest.raises((asyncio.CancelledError, Killed)):
            await turn
        storage.left = None
        return storage.saves - before


async def again(agent: Agent) -> None:
    """Give up what is open, and take another turn."""
    await agent.abandon()
    with pytest.raises(TurnFailed, match="broke"):
        await agent.step("again")


async def test_a_cancellation_that_is_cut_off_anywhere_is_one():
    """Every open call of both histories is answered once, and the next turn is as any other."""
    storage = FourMethods()
    dying, next_one = Hanging(storage), Hanging(storage)
    dying.agent.new_session("whole")
    saves = await dying.cancel_turn(storage, None)
    cancelled = seen(tree_of(dying.agent))
    await again(dying.agent)
    end = seen(tree_of(dying.agent))
    assert [m["role"] for m in end["actors"]["a"]["messages"]] == [
        *("user", "assistant", "tool", "tool", "tool"),
        *("user", "assistant"),
    ]
    for cut in range(saves):
        dying.agent.new_session(f"cut at {cut}")
        await dying.cancel_turn(storage, cut)
        next_one.agent.new_session(f"cut at {cut}")
        assert (tree_of(next_one.agent).status == "cancelled") == (cut > 0)
        assert cut == 0 or seen(tree_of(next_one.agent)) == cancelled
        await again(next_one.agent)
        assert seen(tree_of(next_one.agent)) == end


# ── states that do not fit ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("field", "value"),
    [("turn", 7), ("turn", 0), ("parent_id", "00000000-0000-0000-0000-000000000001")],
)
async def test_states_that_do_not_fit_each_other_are_an_error_of_the_storage(field, value):
    """It was damaged, or written by something else; nothing runs on it."""
    storage = FourMethods()
    agent = agent_of(CHAT, storage)
    agent.new_session("s")
    await agent.step("x")
    (turn,) = tree_of(agent).executors[agent._reception.opened.root].children
    storage.kept[turn] = json.dumps({**json.loads(storage.kept[turn]), field: value})
    with pytest.raises(StorageError, match=r"the states of session 's' do not fit each other"):
        await agent_of(CHAT, storage).open("s")


async def test_a_child_that_is_there_twice_is_an_error_of_the_storage():
    """It would count for two."""
    storage = FourMethods()
    agent = agent_of(CHAT, storage)
    agent.new_session("s")
    await agent.step("x")
    root = agent._reception.opened.root
    state = json.loads(storage.kept[root])
    state["child_executor_ids"] *= 2
    storage.kept[root] = json.dumps(state)
    with pytest.raises(StorageError, match="has a child twice"):
        await agent_of(CHAT, storage).open("s")
