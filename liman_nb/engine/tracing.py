"""Spans of turns and node runs, for whoever has set OpenTelemetry up.

How long something took belongs here and never to the state storage; what was said, given or asked
belongs to the storage and never here. So a span has names, kinds, statuses, error types and counts,
and no message, input, output, yield, session id or value of the context.

Nothing happens, and nothing is loaded, unless the program has imported ``opentelemetry.trace``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from liman_nb.engine.decide import RunResult
from liman_nb.engine.tree import Executor, Tree

_NAME = "liman_nb"


@contextmanager
def turn_span(tree: Tree) -> Iterator[None]:
    """The span of a turn, from its beginning or resumption to its end or suspension."""
    number = len(tree.turns)
    with _span(f"turn {number}", {"execution_id": tree.root, "turn": number}) as note:
        yield
        note({"status": tree.status})


@contextmanager
def run_span(executor: Executor) -> Iterator[Callable[[RunResult], None]]:
    """The span of a node run; gives what takes the run's result."""
    known = {"node": executor.node, "kind": executor.node_type, "executor": executor.id}
    with _span(f"node {executor.node}", known) as note:
        yield lambda result: note(_outcome(result))


def _outcome(result: RunResult) -> dict[str, Any]:
    tokens = result.tokens
    return {
        "error.type": result.error.type if result.error else None,
        "asks": result.question.kind if result.question else None,
        "tool_calls": len(result.calls) or None,
        "attempts": len(result.attempts) or None,
        "input_tokens": tokens.input_tokens if tokens else None,
        "output_tokens": tokens.output_tokens if tokens else None,
        "fired": [t.edge for t in result.transitions if t.outcome == "fired"] or None,
    }


@contextmanager
def _span(
    name: str, attributes: Mapping[str, Any]
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A span, if somebody wants any; gives what takes more of its attributes."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield lambda _: None
        return
    # An exception's message may hold anything, so it is not recorded.
    with trace.get_tracer(_NAME).start_as_current_span(
        name, record_exception=False, set_status_on_exception=False
    ) as span:

        def note(more: Mapping[str, Any]) -> None:
            span.set_attributes({f"{_NAME}.{k}": v for k, v in more.items() if v is not None})

        note(attributes)
        yield note
