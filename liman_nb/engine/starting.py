"""New executors: where they stand and what they are given.

Part of `apply.py`, which says when.
"""

from __future__ import annotations

from typing import Any

from liman_nb.engine.ids import call_position, child_id, join_via, turn_id
from liman_nb.engine.tree import Changes, Executor, Join, Tree
from liman_nb.errors import EngineError
from liman_nb.specs.json_text import JsonProblem, read_json
from liman_nb.state.rows import ChildRecord, JoinRecord, RunRow, TurnRow


def add(tree: Tree, parent: Executor, executor: Executor, changes: Changes) -> None:
    """Hang an executor under another one; it may run.

    Raises:
        EngineError: it is there already.
    """
    if executor.id in tree.executors:
        raise EngineError(f"executor {executor.id} would start twice")
    executor.started_row = tree.seq
    tree.executors[executor.id] = executor
    tree.idle[executor.id] = None
    parent.children.append(executor.id)
    changes.created.append(executor.id)


def entering(tree: Tree, row: TurnRow) -> Executor:
    """The executor of a turn, a child of the session's root."""
    return Executor(
        turn_id(tree.root, row.turn),
        row.node,
        row.node_type,
        parent=tree.root,
        via=f"turn:{row.turn}",
        parent_run=row.turn,
        turn=row.turn,
        input=row.input,
        started_at=row.at,
    )


def child_of(parent: Executor, child: ChildRecord, row: RunRow) -> Executor:
    """The executor that an edge that fired, or a tool call, starts."""
    return Executor(
        child_id(parent.id, parent.runs, child.via),
        child.node,
        child.node_type,
        parent=parent.id,
        via=child.via,
        parent_run=parent.runs,
        called=bool(row.calls),
        turn=parent.turn,
        depth=parent.depth + 1,
        input=_call_input(row, child.via) if row.calls else handed_on(parent),
        started_at=row.at,
    )


def _call_input(row: RunRow, via: str) -> Any:
    """The arguments of a call as a mapping, or the text that is none."""
    text = row.calls[call_position(via)].arguments
    try:
        value = read_json(text) if text.strip() else {}
    except JsonProblem:
        return text
    return value if isinstance(value, dict) else text


def handed_on(executor: Executor) -> Any:
    """What an executor that has run gives the nodes that its edges lead to.

    Its output; a failure, to what reacts to it; and of a person, the answer together with what the
    person was asked about, so that asking somebody loses nothing.
    """
    if executor.error is not None:
        return {"type": executor.error.type, "message": executor.error.message}
    if executor.node_type != "HumanNode":
        return executor.output
    return {**_named("message", executor.input), **_named("answer", executor.output)}


def _named(name: str, value: Any) -> dict[str, Any]:
    """A mapping as it is, anything else under a name; nothing for nothing."""
    if isinstance(value, dict):
        return value
    return {} if value is None else {name: value}


def joining(tree: Tree, fork: Executor, join: Join, record: JoinRecord, at: str) -> Executor:
    """The executor of a join: its input are the outputs of its sources, by name."""
    via = join_via(record.node)
    sources = {name: tree.executors[join.arrived[name]] for name in record.takes}
    return Executor(
        child_id(fork.id, record.run, via),
        record.node,
        record.node_type,
        parent=fork.id,
        via=via,
        parent_run=record.run,
        turn=fork.turn,
        depth=fork.depth + 1,
        input={name: handed_on(source) for name, source in sources.items()},
        started_at=at,
    )
