"""A turn is closed without finishing.

Part of `apply.py`, which says when; `loading.py` uses it for a cancellation that was cut off.
"""

from __future__ import annotations

from liman_nb.engine.messages import tool_results
from liman_nb.engine.tree import ENDED, Changes, Executor, Tree
from liman_nb.state.rows import CancelRow


def cancel(tree: Tree, row: CancelRow, changes: Changes) -> None:
    """Cancel everything of the latest turn that has not ended."""
    tree.turns[-1].cancelled = row.reason or "cancelled"
    root = tree.executors[tree.root]
    _close(root, row.at)
    close_below(tree, changes)
    changes.touched.append(root.id)


def close_below(tree: Tree, changes: Changes) -> None:
    """Cancel what is open below a root that is cancelled.

    Everything here follows from the root, so a cancellation of which no more was saved than the
    root ends as any other. A history is closed once: its last message tells whether it is.
    """
    at = tree.executors[tree.root].ended_at
    for executor in _open(tree, tree.turns[-1].executor):
        if executor.calls:
            messages = tree.actors[executor.node].messages
            if "tool_calls" in messages[-1]:
                messages += tool_results(tree, executor)
                executor.history = len(messages)
            changes.actors[executor.node] = executor.id
        _close(executor, at)
        changes.touched.append(executor.id)
    tree.idle.clear()
    tree.asking.clear()
    tree.held.clear()


def _open(tree: Tree, top: str) -> list[Executor]:
    """The executors at and below `top` that have not ended, children before parents."""
    found, stack = [], [top]
    while stack:
        executor = tree.executors[stack.pop()]
        stack.extend(executor.children)
        if executor.status not in ENDED:
            found.append(executor)
    return found[::-1]


def _close(executor: Executor, at: str) -> None:
    executor.status, executor.calls, executor.ended_at = "cancelled", (), at
    executor.question, executor.open_children = None, 0
