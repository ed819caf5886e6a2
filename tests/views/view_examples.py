"""Graphs and sessions to show: a refund desk of eight nodes, and sessions made row by row."""

from __future__ import annotations

from typing import Any

from liman_nb.engine.apply import apply
from liman_nb.engine.ids import root_id
from liman_nb.engine.tree import Tree
from liman_nb.specs import load_graph
from liman_nb.specs.graph import Graph
from liman_nb.specs.shapes import SchemaStyle, schema_of
from liman_nb.state.rows import (
    AnswerRow,
    AskRow,
    CallRecord,
    CancelRow,
    ChildRecord,
    ErrorRecord,
    Outcome,
    QuestionRecord,
    RunRow,
    TokenRecord,
    TransitionRecord,
    TurnRow,
)

REFUND = """
kind: FunctionNode
name: intake
func: intake
nodes: [triage]
---
kind: LLMNode
name: triage
tools: [get_order]
yields: {intent: string, confidence: number, resolved: boolean}
nodes:
  - {target: policy, when: "intent == 'refund'"}
  - {target: research, when: confidence < 0.8 and not resolved}
  - {target: draft, when: "intent == 'smalltalk'"}
---
kind: ToolNode
name: get_order
description: Look an order up.
func: get_order
arguments: [{name: order, type: string, description: the order's number}]
---
kind: LLMNode
name: policy
yields: {rule: string}
nodes:
  - {target: merge, when: "rule == 'none'"}
---
kind: LLMNode
name: research
yields: {sources: [string]}
nodes:
  - {target: research, when: $len(sources) < 3}
  - {target: merge, when: $len(sources) >= 3}
---
kind: FunctionNode
name: merge
func: merge
nodes: [draft]
---
kind: LLMNode
name: draft
yields: {amount: number, text: string, customer: object}
nodes:
  - {target: approve, when: amount > 100}
  - {target: approve, when: "customer.tier == 'new' or risk != 'low'"}
  - {target: send, when: "amount <= 100 and risk == 'low'"}
---
kind: HumanNode
name: approve
question: Refund {amount} EUR?
yields: {approved: boolean}
nodes:
  - {target: send, when: approved}
  - {target: draft, when: not approved}
---
kind: FunctionNode
name: send
func: send
"""


def refund_graph() -> Graph:
    """The refund desk's graph."""
    functions = {"supplied_functions": ["intake", "merge", "send", "get_order"]}
    return load_graph(REFUND, start_node="intake", **functions)


class Play:
    """Makes a session row by row, a second apart, by the engine's own rules.

    Attributes:
        tree: the session so far.
    """

    def __init__(self, graph: Graph, session_id: str = "case-1042") -> None:
        self.graph = graph
        self.tree = Tree(session_id, root_id("test", "refund-desk", session_id))
        self._seconds = 0

    def turn(self, value: Any, node: str | None = None) -> Play:
        """A turn starts."""
        name = node or self.graph.entry
        number = len(self.tree.turns) + 1
        kind = self._kind(name)
        self._apply(
            TurnRow(
                kind="turn",
                at=self._now(),
                session_id=self.tree.session_id,
                turn=number,
                node=name,
                node_type=kind,
                input=value,
            )
        )
        return self

    def calls(
        self, node: str, says: str | None, *calls: tuple[str, str, str], tokens: int = 0
    ) -> Play:
        """A model's reply with tool calls: id, tool, arguments."""
        records = tuple(CallRecord(id=i, name=name, arguments=text) for i, name, text in calls)
        children = tuple(
            ChildRecord(
                via=f"{position}:{call.id}", node=call.name, node_type=self._kind(call.name)
            )
            for position, call in enumerate(records)
        )
        return self._run(node, says=says, calls=records, children=children, tokens=tokens)

    def run(
        self,
        node: str,
        output: Any = None,
        *edges: tuple[str, Outcome, dict[str, Any], str],
        tokens: int = 0,
        says: str | None = None,
        error: tuple[str, str] | None = None,
    ) -> Play:
        """A node run with its considered edges: target, outcome, values read, reason."""
        records = tuple(self._transition(node, position, *e) for position, e in enumerate(edges))
        children = tuple(
            ChildRecord(via=t.edge, node=t.target, node_type=self._kind(t.target))
            for t in records
            if t.outcome == "fired"
        )
        failure = ErrorRecord(type=error[0], message=error[1], where="desk.py:7") if error else None
        return self._run(
            node,
            output=output,
            says=says,
            transitions=records,
            children=children,
            tokens=tokens,
            error=failure,
        )

    def ask(self, node: str, text: str, form: Any = None, **more: Any) -> Play:
        """A node that may run asks a person instead; a person's node by its yields."""
        yields, kind = self.graph.nodes[node].yields, more.pop("kind", "human")
        if form is None:
            form = schema_of(yields.shape, SchemaStyle()) if yields else {}
        question = QuestionRecord(kind=kind, text=text, form=form, **more)
        row = AskRow(kind="ask", at=self._now(), executor=self._idle(node), question=question)
        self._apply(row)
        return self

    def answer(self, node: str, value: Any, **more: Any) -> Play:
        """The question of a node is answered; the node may run again."""
        executors = self.tree.executors
        asking = next(i for i in self.tree.asking if executors[i].node == node)
        row = AnswerRow(kind="answer", at=self._now(), executor=asking, value=value, **more)
        self._apply(row)
        return self

    def cancel(self, reason: str) -> Play:
        """The open turn is closed."""
        self._apply(CancelRow(kind="cancel", at=self._now(), reason=reason))
        return self

    def _transition(
        self, node: str, position: int, target: str, outcome: Outcome, values: Any, reason: str
    ) -> TransitionRecord:
        edge = self.graph.nodes[node].edges[position]
        assert edge.target == target
        names = tuple(name for name, value in values.items() if value is ...)
        return TransitionRecord(
            edge=edge.id,
            target=target,
            condition=edge.condition.text if edge.condition else "",
            outcome=outcome,
            values={name: value for name, value in values.items() if value is not ...},
            from_context=names,
            reason=reason,
        )

    def _run(self, node: str, *, tokens: int, **fields: Any) -> Play:
        executor = self._idle(node)
        used = TokenRecord(input_tokens=tokens, output_tokens=tokens // 8) if tokens else None
        self._apply(RunRow(kind="run", at=self._now(), executor=executor, tokens=used, **fields))
        return self

    def _idle(self, node: str) -> str:
        executors = self.tree.executors
        return next(i for i in self.tree.idle if executors[i].node == node)

    def _apply(self, row: Any) -> None:
        apply(self.tree, row)

    def _kind(self, node: str) -> str:
        return self.graph.nodes[node].kind if node in self.graph.nodes else "UnknownTool"

    def _now(self) -> str:
        self._seconds += 1
        return f"2026-11-30T14:{self._seconds // 60:02}:{self._seconds % 60:02}Z"


ANSWER = (
    "Hello, thank you for writing. I am sorry that order A-1042 arrived with a cracked lid. Our "
    "policy covers damage in transit for 30 days, and your order is 9 days old, so you get "
    "a full refund of 148.00 EUR."
)


def refund_play() -> Play:
    """A turn of the refund desk, right before a person is asked."""
    play = Play(refund_graph()).turn("My jar arrived broken (order A-1042). I want my money back.")
    always = ("", "fired", {}, "")
    play.run("intake", {"text": "My jar arrived broken", "lang": "en"}, ("triage", *always[1:]))
    play.calls("triage", None, ("c1", "get_order", '{"order": "A-1042"}'), tokens=412)
    play.run("get_order", {"order": "A-1042", "amount": 148.0, "age_days": 9})
    triage = {"intent": "refund", "confidence": 0.71, "resolved": False}
    play.run(
        "triage",
        triage,
        ("policy", "fired", {"intent": "refund"}, "'refund' == 'refund'"),
        ("research", "fired", {"confidence": 0.71, "resolved": False}, "both sides are true"),
        ("draft", "not fired", {"intent": "refund"}, "'refund' is not 'smalltalk'"),
        tokens=230,
        says='{"intent": "refund", "confidence": 0.71, "resolved": false}',
    )
    play.run(
        "policy",
        {"rule": "4.2"},
        ("merge", "not fired", {"rule": "4.2"}, "'4.2' is not 'none'"),
        tokens=201,
    )
    play.run(
        "research",
        {"sources": ["A-0981", "A-0777", "A-1003"]},
        ("research", "not fired", {"sources": ["A-0981", "A-0777", "A-1003"]}, "3 is not < 3"),
        ("merge", "fired", {"sources": ["A-0981", "A-0777", "A-1003"]}, "3 >= 3"),
        tokens=300,
    )
    play.run("merge", {"rule": "4.2", "cases": 3}, ("draft", *always[1:]))
    play.run(
        "draft",
        {"amount": 148.0, "text": ANSWER, "customer": {"tier": "new"}},
        ("approve", "fired", {"amount": 148.0}, "148.0 > 100"),
        ("approve", "undecided", {"customer.tier": "new"}, "risk is missing"),
        ("send", "not fired", {"amount": 148.0, "customer.risk": ...}, "148.0 is not <= 100"),
        tokens=240,
    )
    return play


def refund_asked() -> Play:
    """The same turn, a person being asked."""
    return refund_play().ask("approve", "Refund 148.0 EUR?")


def refund_done() -> Play:
    """The same turn to its end."""
    play = refund_asked().answer("approve", {"approved": True})
    play.run(
        "approve",
        {"approved": True},
        ("send", "fired", {"approved": True}, ""),
        ("draft", "not fired", {"approved": True}, ""),
    )
    return play.run("send", "Sent, 148.00 EUR refunded.")
