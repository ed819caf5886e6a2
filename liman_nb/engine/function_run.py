"""Runs of tools and functions: arguments in, what the function asks for, a JSON value out."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from pydantic import ValidationError

from liman_nb.engine.callables import Function, NodeFunction
from liman_nb.engine.decide import RunResult
from liman_nb.engine.entrusted import entrusted, named_credentials
from liman_nb.engine.questions import given_answer, question_first
from liman_nb.engine.retry import RetryPolicy, with_retry
from liman_nb.engine.run import NodeRun
from liman_nb.errors import ToolError
from liman_nb.specs.documents import FunctionNodeSpec, ToolNodeSpec
from liman_nb.specs.misfits import misfits
from liman_nb.state.json_values import copied
from liman_nb.tools.calling import asked_names, call_function
from liman_nb.tools.external import ExternalTool
from liman_nb.tools.results import as_json

ONCE = RetryPolicy(attempts=1)
"""Functions are called once unless their node's ``retry`` says otherwise: they may have effects."""


async def run_tool(run: NodeRun, spec: ToolNodeSpec) -> RunResult:
    """Call a tool with the arguments that a model sent, or that an edge brought.

    Raises:
        ToolError: the arguments do not fit, it took too long, or a person did not allow the call.
        Exception: whatever the function raises.
        Suspend: it asks a person.
    """
    known = run.runtime.callables.tools[run.node.name]
    arguments = known.tool.validate(_arguments_text(run))
    if (first := question_first(run, spec, arguments)) is not None:
        return first
    call = partial(_call, run, known.function, arguments, spec.timeout)
    return await _result(run, spec, call)


async def run_function(run: NodeRun, spec: FunctionNodeSpec) -> RunResult:
    """Call a function with the node's input.

    Raises:
        ToolError: the input does not fit the function's annotation, or it took too long.
        YieldsError: its result does not fit the node's declared yields.
        Exception: whatever the function raises.
    """
    known = run.runtime.callables.functions[run.node.name]
    arguments = _input_argument(run, known)
    call = partial(_call, run, known.function, arguments, spec.timeout)
    return await _result(run, spec, call)


async def _result(
    run: NodeRun, spec: ToolNodeSpec | FunctionNodeSpec, call: Callable[[], Awaitable[Any]]
) -> RunResult:
    policy = RetryPolicy.of(spec.retry) if spec.retry else ONCE
    value = await with_retry(call, policy, run.tried)
    yields = run.node.yields
    output = as_json(value) if yields is None else yields.validate(value)
    return RunResult(output=output, state=run.changed_extras)


# ── arguments ────────────────────────────────────────────────────────────────────────────────────


def _arguments_text(run: NodeRun) -> str:
    """The arguments as JSON text: of the model's call, or of the output that an edge brought.

    Text that an edge brings is the argument of a tool that has only one.
    """
    given = run.executor.input
    if isinstance(given, Mapping):
        return json.dumps(given, ensure_ascii=False)
    if run.executor.called:
        return str(given)
    names = list(run.runtime.callables.tools[run.node.name].tool.schema.parameters["properties"])
    if len(names) == 1:
        return json.dumps({names[0]: given}, ensure_ascii=False)
    raise ToolError(
        f"{run.node.name} takes {', '.join(names) or 'no arguments'}, and its input is "
        f"{type(given).__name__}, not a mapping of arguments; let the node before it yield them"
    )


def _input_argument(run: NodeRun, known: NodeFunction) -> dict[str, Any]:
    if known.parameter is None:
        return {}
    given = copied(run.executor.input)
    if known.adapter is None:
        return {known.parameter: given}
    try:
        return {known.parameter: known.adapter.validate_python(given)}
    except ValidationError as error:
        wrong = "; ".join(misfits(error, given, ()))
        raise ToolError(
            f"the input of {run.node.name} does not fit its function's parameter "
            f"{known.parameter!r}: {wrong}"
        ) from None


# ── the call ─────────────────────────────────────────────────────────────────────────────────────


async def _call(
    run: NodeRun, function: Function, arguments: Mapping[str, Any], seconds: float | None
) -> Any:
    run.begin_attempt()
    if isinstance(function, ExternalTool):
        credentials = named_credentials(run)
        ready = partial(function, arguments, call_id=run.executor.id, credentials=credentials)
        return await call_function(ready, {}, seconds=seconds)
    asked = asked_names(function)
    offered: dict[str, Any] = {
        "call_id": run.executor.id,
        "state": run.extras,
        "answer": given_answer(run),
        "session": run.session,
    }
    if asked & {"context", "credentials"}:
        offered |= await entrusted(run, asked)
    left = run.call_time.left_running.append
    return await call_function(function, arguments, offered, seconds=seconds, left_running=left)
