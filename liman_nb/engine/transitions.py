"""Which edges fire after a node run: each considered once, with the values it read and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from graphlib import TopologicalSorter

from liman_nb.engine.decide import RunResult
from liman_nb.engine.run import NodeRun
from liman_nb.specs.conditions import Condition, ErrorView, Evaluation, View
from liman_nb.specs.conditions.tree import Call, walk
from liman_nb.specs.graph import Edge
from liman_nb.state.json_values import copied
from liman_nb.state.rows import TransitionRecord
from liman_nb.tools.calling import call_function
from liman_nb.tools.suspend import Suspend


async def consider(
    run: NodeRun, result: RunResult, error: BaseException | None
) -> tuple[TransitionRecord, ...]:
    """Consider the node's edges in spec order, those that `depends` names before those they name.

    After a failure only the edges whose condition asks for an error (``$is_error``) are
    considered.
    """
    edges = run.node.edges
    if not edges:
        return ()
    if error is not None:
        edges = tuple(e for e in edges if _asks_for_error(e))
    view = _view(run, result, error)
    return tuple([await _consider(run, edge, view) for edge in ordered(edges)])


def _asks_for_error(edge: Edge) -> bool:
    """Whether the edge's condition has an ``$is_error(…)``."""
    if edge.condition is None:
        return False
    return any(
        isinstance(t, Call) and t.function == "is_error" for t, _ in walk(edge.condition.tree)
    )


def ordered(edges: tuple[Edge, ...]) -> list[Edge]:
    """The edges in spec order, except that an edge stands after those it depends on."""
    if not any(edge.depends for edge in edges):
        return list(edges)
    by_id = {edge.id: edge for edge in edges}
    sorter = TopologicalSorter({edge.id: [d for d in edge.depends if d in by_id] for edge in edges})
    return [by_id[i] for i in sorter.static_order()]


def _view(run: NodeRun, result: RunResult, error: BaseException | None) -> View:
    output = result.output
    return View(
        yields=output if isinstance(output, Mapping) else None,
        output=output,
        input=run.executor.input,
        state=run.extras,
        context=run.call_time.context,
        session=run.session,
        error=None if error is None else ErrorView.of(error, _message(result)),
        now=run.runtime.now,
    )


def _message(result: RunResult) -> str:
    return "" if result.error is None else result.error.message


async def _consider(run: NodeRun, edge: Edge, view: View) -> TransitionRecord:
    if edge.condition is None:
        return TransitionRecord(edge=edge.id, target=edge.target)
    if edge.function is not None:
        outcome = await _function_outcome(run, edge.function, view)
    else:
        outcome = edge.condition.evaluate(view)
    return _record(edge, edge.condition, outcome)


def _record(edge: Edge, condition: Condition, outcome: Evaluation) -> TransitionRecord:
    return TransitionRecord(
        edge=edge.id,
        target=edge.target,
        condition=condition.text,
        outcome=outcome.outcome,
        values=outcome.values,
        from_context=outcome.from_context,
        reason=outcome.reason,
    )


async def _function_outcome(run: NodeRun, name: str, view: View) -> Evaluation:
    """Call a condition that is a function; an exception makes the edge undecided."""
    function = run.runtime.callables.conditions[name]
    own = View(**{f.name: copied(getattr(view, f.name)) for f in fields(view)})
    try:
        value = await call_function(partial(function, own), {})
    except Suspend:
        return Evaluation("undecided", reason=f"{name} raised Suspend, which a condition cannot")
    except Exception as error:  # noqa: BLE001 - user code may raise anything; it is recorded
        record = run.error_record(error)
        return Evaluation("undecided", reason=f"{name} raised {record.type}: {record.message}")
    if not isinstance(value, bool):
        kind = type(value).__name__
        return Evaluation("undecided", reason=f"{name} returned {kind}, not true or false")
    reason = f"{name} returned {'true' if value else 'false'}"
    return Evaluation("fired" if value else "not fired", reason=reason)
