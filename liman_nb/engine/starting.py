"""New executors: where they stand and what they are given.

Part of `apply.py`, which says when.
"""

from __future__ import annotations

from typing import Any

from liman_nb.engine.ids import call_position, child_id, join_via, turn_id
from liman_nb.engine.tree import Changes, Executor, Join, Tree
from liman_nb.errors import EngineError
from liman_nb.specs.json_text import JsonProblem, read_json
from liman_nb.state.rows import ChildRecord, ErrorRecord, JoinRecord, RunRow, TurnRow


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
        input=_call_input(row, child.via) if row.calls else _edge_input(row),
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


def _edge_input(row: RunRow) -> Any:
    return row.output if row.error is None else _error_value(row.error)


def _error_value(error: ErrorRecord) -> dict[str, str]:
    """A failure as the input of the node that reacts to it."""
    return {"type": error.type, "message": error.message}


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
        input={
            name: source.output if source.error is None else _error_value(source.error)
            for name, source in sources.items()
        },
        started_at=at,
    )
