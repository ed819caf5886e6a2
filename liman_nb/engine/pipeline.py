"""The functions around an LLM node's model: one prepares its input, one works on its reply.

    pre_compose → prompt → model and tools → yields → intelligence → edges

The words and the parameters are those of LeafMesh's page on sessions.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from liman_nb.engine.conversation import conversation, yields_by_agent
from liman_nb.engine.entrusted import account_of, entrusted
from liman_nb.engine.ids import is_join
from liman_nb.engine.run import NodeRun
from liman_nb.engine.stages import Function, Stage
from liman_nb.errors import NodeError
from liman_nb.specs.json_text import JsonProblem
from liman_nb.specs.jsonable import jsonable
from liman_nb.state.json_values import copied
from liman_nb.tools.calling import asked_names, call_function, function_name


async def composed(run: NodeRun, function: Function) -> Any:
    """What the node's model is given instead of the executor's input: a mapping.

    Raises:
        NodeError: the function returned something else.
        Exception: whatever it raises.
    """
    value = await _called(run, function, {"input_data": input_data(run)})
    if not isinstance(value, Mapping):
        raise NodeError(
            f"{run.node.name}: pre_compose {function_name(function)} must return a mapping, the "
            f"model's input; it returned {type(value).__name__}"
        )
    return _plain(run, "pre_compose", function, value)


async def worked_on(run: NodeRun, function: Function, output: Any) -> Any:
    """The node's output after its function has seen it: what it returns, merged over the yields.

    Args:
        run: the node run.
        function: it is given the yields, or ``{"text": …}`` of a node without any.
        output: the model's reply: the yields, or text.

    Raises:
        NodeError: the function returned no mapping.
        YieldsError: what is merged does not fit the node's yields.
        Exception: whatever the function raises.
    """
    response = dict(output) if isinstance(output, Mapping) else {"text": output}
    arguments = {"llm_response": copied(response), "input_data": input_data(run)}
    value = await _called(run, function, arguments)
    if value is None:
        return output
    if not isinstance(value, Mapping):
        raise NodeError(
            f"{run.node.name}: intelligence {function_name(function)} must return a mapping, which "
            f"is merged over the yields, or None; it returned {type(value).__name__}"
        )
    returned = _plain(run, "intelligence", function, value)
    if run.node.yields is None:
        return returned
    return run.node.yields.validate({**response, **returned})


def input_data(run: NodeRun) -> dict[str, Any]:
    """The executor's input as a mapping: ``{"message": text}`` for text.

    A join also has it as ``upstream_yields``: what each of its sources gave, by name.
    """
    given = copied(run.executor.input)
    data = dict(given) if isinstance(given, Mapping) else {"message": given}
    return {**data, "upstream_yields": given} if is_join(run.executor.via) else data


async def _called(run: NodeRun, function: Function, arguments: Mapping[str, Any]) -> Any:
    asked = asked_names(function)
    accepted = {n: v for n, v in arguments.items() if _takes(function, n)}
    offered: dict[str, Any] = {
        "call_id": run.executor.id,
        "state": run.extras,
        "answer": None,
        "session": run.session,
        "context": await _context(run),
    }
    if "credentials" in asked:
        offered["credentials"] = (await entrusted(run, asked))["credentials"]
    left = run.call_time.left_running.append
    return await call_function(function, accepted, offered, left_running=left)


def _takes(function: Function, name: str) -> bool:
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


async def _context(run: NodeRun) -> dict[str, Any]:
    """The call's context, or the slice of the node's account, and what is known of the session."""
    if account_of(run) is None:
        own = dict(run.call_time.context)
    else:
        own = (await entrusted(run, frozenset({"context"})))["context"]
    known = {
        "session_id": run.tree.session_id,
        "yields": copied(yields_by_agent(run.tree)),
        "conversation_history": [entry.as_dict() for entry in conversation(run.tree)],
    }
    return {**own, **known}


def _plain(run: NodeRun, stage: Stage, function: Function, value: Any) -> dict[str, Any]:
    try:
        plain: dict[str, Any] = jsonable(value, "result")
    except JsonProblem as error:
        raise NodeError(
            f"{run.node.name}: what {stage} {function_name(function)} returned cannot be stored: "
            f"{error}"
        ) from error
    return plain
