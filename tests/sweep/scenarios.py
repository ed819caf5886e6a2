"""What is played: graphs, what their models say, what the caller says, and what people answer.

A session has as many turns as its scenario has inputs. What a node run does depends on its input
and the session alone, so an uninterrupted run is the same every time. Runs that end without a call
(a question of a person, a call of an unknown tool) wait for nobody; they come before those that do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Round = tuple[tuple[str, dict[str, Any]], ...]


@dataclass(frozen=True)
class Scenario:
    """One conversation with one graph.

    Attributes:
        name: its name.
        start: the node that a turn enters at.
        specs: the graph.
        inputs: what the caller says, turn by turn.
        rounds: what a model with tools calls before it answers, in each turn.
        answers: what a person answers, by node.
        abandons: turns that the caller gives up once they wait for a person.
        at_once: turns in which runs that start together end together. In all others each one waits
            until those that started before it have been stored, with all that followed.
        fails: whether its turns fail.
    """

    name: str
    start: str
    specs: str
    inputs: tuple[Any, ...]
    rounds: tuple[Round, ...] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)
    abandons: frozenset[int] = frozenset()
    at_once: frozenset[int] = frozenset()
    fails: bool = False


def _call(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return name, arguments


CHAT = Scenario(
    "chat",
    "chat",
    "{kind: LLMNode, name: chat, prompts: {system: 'Be kind to {context.user}.'}}",
    tuple(f"hello {number}" for number in range(5)),
)

TOOLS = Scenario(
    "tools",
    "chat",
    """
    {kind: LLMNode, name: chat, tools: [add, multiply], edges: [after]}
    ---
    {kind: ToolNode, name: add}
    ---
    {kind: ToolNode, name: multiply, edges: [deep]}
    ---
    {kind: FunctionNode, name: deep, func: count}
    ---
    {kind: FunctionNode, name: after, func: echo}
    """,
    ("go", "once more"),
    rounds=(
        (_call("add", a=1, b=2), _call("multiply", a=3, b=4), _call("add", a=5, b=6)),
        (_call("add", a=7, b=8), _call("unknown"), _call("multiply", a=9, b=10)),
    ),
)

_WORKERS = [f"w{number}" for number in range(8)]

FAN_OUT = Scenario(
    "fan-out",
    "start",
    f"""
    {{kind: FunctionNode, name: start, func: echo, edges: [{", ".join(_WORKERS)}]}}
    ---
    {{kind: FunctionNode, name: join, func: count, edges: [end], wait_for: [{", ".join(_WORKERS)}]}}
    ---
    {{kind: FunctionNode, name: end, func: echo}}
    """
    + "".join(
        f"---\n    {{kind: FunctionNode, name: {name}, func: echo, edges: [join]}}\n    "
        for name in _WORKERS
    ),
    ("one after the other", "at once"),
    at_once=frozenset({2}),
)

LOOP = Scenario(
    "loop",
    "first",
    """
    {kind: FunctionNode, name: first, func: count, yields: {n: integer}, edges: [second]}
    ---
    kind: FunctionNode
    name: second
    func: echo
    yields: {n: integer}
    edges: [{target: first, when: n % 4 != 0}, {target: end, when: n % 4 == 0}]
    ---
    {kind: FunctionNode, name: end, func: echo}
    """,
    ("round", "round again"),
)

PERSON = Scenario(
    "person",
    "start",
    """
    {kind: FunctionNode, name: start, func: echo, edges: [side, human, chat]}
    ---
    {kind: FunctionNode, name: side, func: count, edges: [join]}
    ---
    kind: HumanNode
    name: human
    question: Is {input} right?
    yields: {right: boolean}
    edges: [{target: join, when: right}]
    ---
    {kind: LLMNode, name: chat, tools: [add, consult, wire], edges: [join]}
    ---
    {kind: ToolNode, name: add}
    ---
    {kind: ToolNode, name: consult}
    ---
    {kind: ToolNode, name: wire, approval: true}
    ---
    {kind: FunctionNode, name: join, func: echo, wait_for: side and human and chat}
    """,
    ("it", "that"),
    rounds=((_call("wire", amount=5), _call("consult", about="tea"), _call("add", a=1, b=1)),),
    answers={"human": {"right": True}, "consult": "green", "wire": {"approved": True}},
)

JOINS = Scenario(
    "joins in a loop",
    "start",
    """
    kind: FunctionNode
    name: start
    func: count
    yields: {n: integer}
    edges: [a, {target: b, when: n != 2}, c, d]
    ---
    {kind: FunctionNode, name: a, func: echo, yields: {n: integer}, edges: [join]}
    ---
    {kind: FunctionNode, name: b, func: echo, edges: [join]}
    ---
    kind: FunctionNode
    name: c
    func: echo
    yields: {n: integer}
    edges: [{target: join, when: n == 1}]
    ---
    {kind: FunctionNode, name: d, func: echo, edges: [late, never]}
    ---
    {kind: FunctionNode, name: late, func: echo, edges: [join]}
    ---
    {kind: FunctionNode, name: gone, func: echo, edges: [never]}
    ---
    {kind: FunctionNode, name: never, func: echo, wait_for: d and gone}
    ---
    kind: FunctionNode
    name: join
    func: least
    wait_for: a and (b or c or late) and b? and c?
    yields: {n: integer}
    edges: [{target: start, when: n % 3 != 0}, {target: end, when: n % 3 == 0}]
    ---
    {kind: FunctionNode, name: end, func: echo}
    """,
    ("round", "round again"),
)

FAILURES = Scenario(
    "failures",
    "start",
    """
    {kind: FunctionNode, name: start, func: echo, edges: [bad, chat, worse, good]}
    ---
    kind: FunctionNode
    name: bad
    func: boom
    edges: [{target: mend, when: "$is_error('ValueError')"}]
    ---
    {kind: FunctionNode, name: mend, func: echo}
    ---
    {kind: LLMNode, name: chat, tools: [add, broken]}
    ---
    {kind: ToolNode, name: add}
    ---
    {kind: ToolNode, name: broken}
    ---
    {kind: FunctionNode, name: worse, func: boom, edges: [join]}
    ---
    {kind: FunctionNode, name: good, func: count, edges: [join]}
    ---
    {kind: FunctionNode, name: join, func: echo, wait_for: worse and good}
    """,
    ("go", "once more"),
    rounds=((_call("add", a=1, b=2), _call("add", a="x"), _call("broken", why="rust")),),
    fails=True,
)

_PAY = """
    {kind: LLMNode, name: chat, tools: [add, pay], edges: [after]}
    ---
    {kind: ToolNode, name: add}
    ---
    {kind: ToolNode, name: pay, on_crash: ask}
    ---
    {kind: FunctionNode, name: after, func: count}
    """
_PAYS = ((_call("add", a=1, b=2), _call("pay", amount=3)), (_call("pay", amount=4),))

ASK = Scenario(
    "on crash, a result",
    "chat",
    _PAY,
    ("go", "once more"),
    rounds=_PAYS,
    answers={"pay": {"action": "use this result", "result": "paid"}},
)

AGAIN = Scenario(
    "on crash, again",
    "chat",
    _PAY,
    ("go", "once more"),
    rounds=_PAYS,
    answers={"pay": {"action": "call again"}},
)

CANCELLED = Scenario(
    "cancelled",
    "chat",
    """
    {kind: LLMNode, name: chat, tools: [add, consult], edges: [human]}
    ---
    {kind: ToolNode, name: add}
    ---
    {kind: ToolNode, name: consult}
    ---
    {kind: HumanNode, name: human, question: "{input}?"}
    """,
    ("go", "once more", "and again"),
    rounds=((_call("add", a=1, b=2), _call("unknown"), _call("consult", about="tea")),),
    answers={"consult": "green", "human": "yes"},
    abandons=frozenset({1, 3}),
)

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        CHAT,
        TOOLS,
        FAN_OUT,
        LOOP,
        PERSON,
        JOINS,
        FAILURES,
        ASK,
        AGAIN,
        CANCELLED,
    )
}
