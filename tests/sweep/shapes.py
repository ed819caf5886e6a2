"""What a session is like that a process finds when it begins: the shapes of a restart."""

from __future__ import annotations

from liman_nb.engine.tree import ENDED, Executor, Tree

SHAPES = {
    "nothing",
    "between turns",
    "chat",
    "tool loop",
    "parallel tools half done",
    "fan-out half done",
    "join half done",
    "suspended",
    "answered",
    "call cut short",
    "failed",
    "cancelled",
    "in a loop",
}


def shapes(tree: Tree) -> list[str]:
    """The shapes that a tree has, those of its latest turn."""
    if not tree.turns:
        return ["nothing"]
    turn = tree.turns[-1]
    members = [e for e in tree.executors.values() if e.turn == turn.number and e.id != tree.root]
    found = {"failed", "cancelled"} & {tree.status}
    found |= {"between turns"} if tree.status in ENDED else _open(tree, members)
    return sorted(found)


def _open(tree: Tree, members: list[Executor]) -> set[str]:
    found = set()
    idle = [tree.executors[identity] for identity in tree.idle]
    kinds = {e.question.kind for e in members if e.question is not None}
    if kinds - {"crash"}:
        found.add("suspended")
    if "crash" in kinds:
        found.add("call cut short")
    if any(e.answers for e in idle):
        found.add("answered")
    if any(e.node_type == "LLMNode" and not e.calls for e in idle):
        found.add("chat")
    if any(e.node_type == "LLMNode" and e.calls for e in idle):
        found.add("tool loop")
    for parent in members:
        children = [tree.executors[c] for c in parent.children]
        ended = [c.status in ENDED for c in children if c.parent_run == parent.runs]
        if any(ended) and not all(ended):
            found.add("parallel tools half done" if parent.calls else "fan-out half done")
    if any(join.outcome == "waits" and join.arrived for join in tree.turns[-1].joins.values()):
        found.add("join half done")
    if any(e.node in _above(tree, e) for e in members):
        found.add("in a loop")
    return found


def _above(tree: Tree, executor: Executor) -> set[str]:
    """The nodes between an executor and its session's root."""
    nodes = set()
    while executor.parent not in (None, tree.root):
        executor = tree.executors[executor.parent or ""]
        nodes.add(executor.node)
    return nodes
