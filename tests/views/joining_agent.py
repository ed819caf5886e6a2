"""A refund desk that really runs: an approval, a function and a person that ask, and two joins."""

from __future__ import annotations

from typing import Any

from liman_nb import Agent, InMemoryStateStorage, ScriptedLLM, Suspend, call

SPECS = """
kind: LLMNode
name: triage
tools: [refund]
yields: {intent: string}
nodes:
  - policy
  - research
  - {target: audit, when: "intent == 'audit'"}
---
kind: ToolNode
name: refund
description: Refund money.
func: refund
approval: true
arguments: [{name: amount, type: number}]
---
kind: FunctionNode
name: policy
func: policy
nodes: [merge]
---
kind: FunctionNode
name: research
func: research
nodes: [merge, report]
---
kind: FunctionNode
name: audit
func: audit
nodes: [report]
---
kind: FunctionNode
name: merge
wait_for: policy and research
func: merge
nodes: [approve]
---
kind: FunctionNode
name: report
wait_for: audit and research
func: merge
---
kind: HumanNode
name: approve
question: "Send the letter about rule {policy}?"
yields:
  approved: boolean
  tone: {type: string, enum: [friendly, formal], description: how it should sound}
  note?: {type: string, description: for the customer}
nodes: [{target: send, when: approved}]
---
kind: FunctionNode
name: send
func: send
"""

ARCHIVES = {"type": "array", "items": {"enum": ["2024", "2025"]}}


def refund(amount: float) -> str:
    """Refund money."""
    return f"{amount} EUR refunded"


def policy(given: Any) -> str:
    """The rule that applies."""
    return "4.2"


def research(given: Any, answer: Any) -> Any:
    """Cases like this one, of the archives that a person names."""
    if answer is None:
        raise Suspend("Which archives should be searched?", schema=ARCHIVES)
    return {"cases": answer}


def audit(given: Any) -> str:
    """A check of the books."""
    return "fine"


def merge(given: Any) -> Any:
    """Everything that is known."""
    return given


def send(given: Any) -> str:
    """Sends the letter."""
    return "Sent."


def joining_agent(intent: str = "refund", **more: Any) -> Agent:
    """The desk, before its first turn."""
    replies = [[call("refund", amount=148.0)], {"intent": intent}]
    return Agent(
        SPECS,
        name="refund-desk",
        session_id="case-1042",
        start_node="triage",
        state_storage=InMemoryStateStorage(),
        functions=[refund, policy, research, audit, merge, send],
        llm=ScriptedLLM(replies),
        **more,
    )
