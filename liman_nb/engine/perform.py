"""Performing one node run: whatever happens becomes a result, so that it can be committed."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from liman_nb.engine.decide import RunResult
from liman_nb.engine.function_run import run_function, run_tool
from liman_nb.engine.llm_run import run_llm
from liman_nb.engine.questions import run_human, suspended
from liman_nb.engine.run import NodeRun
from liman_nb.engine.transitions import consider
from liman_nb.engine.tree import UNKNOWN_TOOL
from liman_nb.errors import NodeError, ToolError
from liman_nb.specs.documents import (
    FunctionNodeSpec,
    HumanNodeSpec,
    LLMNodeSpec,
    ToolNodeSpec,
)
from liman_nb.state.json_values import check_json
from liman_nb.tools.calling import asked_to_stop
from liman_nb.tools.suspend import Suspend


async def perform(run: NodeRun) -> RunResult:
    """Run the node and consider its edges. Whatever the node raises is its result.

    Raises:
        asyncio.CancelledError: the run was asked to stop.
        KeyboardInterrupt: so was the program.
        GeneratorExit: the task's coroutine is closed, as when its loop is gone.
    """
    error: BaseException | None = None
    run.emit("node_started")
    try:
        result = await _run(run)
        _check_storable(result)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as raised:
        if isinstance(raised, asyncio.CancelledError) and asked_to_stop():
            raise
        error = raised
        result = RunResult(error=run.error_record(raised), tokens=run.tokens)
    result = replace(result, attempts=tuple(run.attempts), composed=run.newly_composed)
    if result.calls or result.question or run.executor.node_type == UNKNOWN_TOOL:
        return result
    return replace(result, transitions=await consider(run, result, error))


def _check_storable(result: RunResult) -> None:
    """What a node made must come back equal from the storage; what does not fails its run."""
    check_json(result.output, "output")
    check_json(result.state, "state")
    check_json(result.says, "reply")
    check_json([[call.id, call.name, call.arguments] for call in result.calls], "tool calls")


async def _run(run: NodeRun) -> RunResult:
    if run.executor.node_type == UNKNOWN_TOOL:
        raise ToolError(_unknown(run))
    try:
        return await _run_node(run)
    except Suspend as asked:
        if run.node.kind == "LLMNode":
            raise NodeError(f"{run.node.name}: only tools and functions may suspend") from asked
        return suspended(run, asked)


async def _run_node(run: NodeRun) -> RunResult:
    spec = run.node.spec
    match spec:
        case LLMNodeSpec():
            return await run_llm(run, spec)
        case ToolNodeSpec():
            return await run_tool(run, spec)
        case FunctionNodeSpec():
            return await run_function(run, spec)
        case HumanNodeSpec():
            return run_human(run, spec)


def _unknown(run: NodeRun) -> str:
    caller = run.tree.executors[run.executor.parent or ""].node
    names = run.runtime.graph.nodes[caller].tools
    if run.executor.node in names:
        return (
            f"{run.executor.node} was not called: {caller} has made all the tool calls that it may "
            f"make for one message (max_tool_calls_per_message); answer without"
        )
    known = f"the tools are {', '.join(names)}" if names else "there are no tools"
    return f"there is no tool {run.executor.node!r}; {known}"
