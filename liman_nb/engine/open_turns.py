"""A turn that has not ended: why no other may begin, and what it takes to go on with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from liman_nb.engine.run import Runtime
from liman_nb.engine.tree import Tree, Turn
from liman_nb.errors import ContextMissing, FunctionMissing, OpenTurn, Problem, SpecChanged


def still_open(tree: Tree) -> OpenTurn:
    """Why another turn may not begin: what is still to run, who is asked, and both ways on."""
    waiting = ", ".join(sorted({tree.executors[i].node for i in tree.idle}))
    asking = [tree.executors[i] for i in tree.asking]
    asked = "; ".join(f"{e.node}: {e.question.text}" for e in asking if e.question)
    state = [f"was interrupted with {waiting} still to run"] if waiting else []
    state += [f"waits for a person ({asked})"] if asked else []
    answer = "answer" if asked else ""
    return OpenTurn(
        f"session {tree.session_id!r}: turn {len(tree.turns)} {' and '.join(state)}. Go on "
        f"with it: await agent.resume({answer}); or give it up: await agent.abandon()"
    )


def check_resumable(runtime: Runtime, tree: Tree, context: Mapping[str, Any]) -> None:
    """Whether the last turn can be gone on with.

    Raises:
        OpenTurn: it has ended.
        ContextMissing: context keys that it was begun with are not supplied.
        FunctionMissing: functions that were attached to its nodes are not now.
        SpecChanged: it was begun with another graph.
    """
    session_id = tree.session_id
    if not tree.is_open:
        raise OpenTurn(f"session {session_id!r} has no open turn to resume; use agent.step()")
    turn = tree.turns[-1]
    check_context(session_id, turn, context, "resume")
    gone = [name for name in turn.attached if name not in runtime.callables.attached]
    if gone:
        raise FunctionMissing(
            f"session {session_id!r}: turn {turn.number} was begun with functions attached to "
            f"its nodes that are missing now: {', '.join(gone)}. Attach them again "
            f"(@agent.pre_compose(…), @agent.intelligence(…)), or give it up: "
            f"await agent.abandon()"
        )
    if turn.graph != runtime.graph.fingerprint:
        raise SpecChanged(
            [
                Problem(
                    f"turn {turn.number} of session {session_id!r} was begun with other specs",
                    hint="load those again to resume it, or give it up: await agent.abandon()",
                )
            ]
        )


def check_context(session_id: str, turn: Turn, context: Mapping[str, Any], method: str) -> None:
    """Whether a turn can be run with this context.

    Raises:
        ContextMissing: keys are missing that the turn was begun with.
    """
    missing = [key for key in turn.context_keys if key not in context]
    if missing:
        raise ContextMissing(
            f"session {session_id!r}: turn {turn.number} was begun with the context keys "
            f"{', '.join(turn.context_keys)}. Context is never stored, so pass "
            f"{', '.join(missing)} again: await agent.{method}(context={{…}})"
        )
