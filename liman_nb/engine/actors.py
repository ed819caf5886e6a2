"""What nodes know after their runs: messages of LLMs, last calls of tools, extras of functions.

Part of `apply.py`, which says when.
"""

from __future__ import annotations

from typing import Any

from liman_nb.engine.ids import call_position
from liman_nb.engine.messages import as_text, heard, said
from liman_nb.engine.tree import Executor, NodeActor, Tree
from liman_nb.state.rows import RunRow
from liman_nb.state.states import LastCall


def remember(tree: Tree, executor: Executor, row: RunRow) -> None:
    """What the node's actor knows after this run. Called before the executor changes."""
    actor = actor_for(tree, executor)
    if actor.node_type == "LLMNode":
        actor.messages += heard(tree, executor)
        if row.error is None:
            text = row.says if row.calls or row.says is not None else as_text(row.output)
            actor.messages += said(text, row.calls)
    elif actor.node_type == "ToolNode":
        _last_call(tree, actor, executor, row)
    if row.state is not None:
        leave(tree, executor, row.state)
    actor.runs += 1
    actor.has_error = row.error is not None
    executor.history = len(actor.messages)


def leave(tree: Tree, executor: Executor, extras: dict[str, Any]) -> None:
    """The executor leaves its node these extras."""
    actor_for(tree, executor).extras = executor.left = extras
    executor.left_row = tree.seq + 1


def actor_for(tree: Tree, executor: Executor) -> NodeActor:
    """The actor that runs an executor; a new one before its node's first run."""
    actor = tree.actors.get(executor.node)
    if actor is None:
        actor = NodeActor.create_or_restore(tree.root, executor.node, executor.node_type, None)
        tree.actors[executor.node] = actor
    if actor.node_type != executor.node_type:
        _become(actor, executor.node_type)
    return actor


def _become(actor: NodeActor, node_type: str) -> None:
    """The specs made another kind of the node: it keeps what every kind has, its extras."""
    actor.node_type, actor.messages, actor.last_call = node_type, [], None


def _last_call(tree: Tree, actor: NodeActor, executor: Executor, row: RunRow) -> None:
    """Keep the last call; of the calls of one reply, that with the highest position."""
    earlier = tree.executors.get(actor.last_call.executor) if actor.last_call else None
    if earlier is None or not is_later_call(earlier, executor):
        actor.last_call = LastCall(
            executor=executor.id, input=executor.input, output=row.output, error=row.error
        )


def is_later_call(one: Executor, other: Executor) -> bool:
    """Whether `one` answers a later call of the very reply that `other` answers a call of."""
    same_reply = (one.parent, one.parent_run) == (other.parent, other.parent_run)
    if not (one.called and other.called and same_reply):
        return False
    return call_position(one.via) > call_position(other.via)
