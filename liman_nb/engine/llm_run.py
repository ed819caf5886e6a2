"""A run of an LLM node: prompt, model, tools or yields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from liman_nb.engine.conversation import recent_turns
from liman_nb.engine.decide import RunResult
from liman_nb.engine.ids import is_join
from liman_nb.engine.messages import Message, as_text, fitted, handed_out, heard, recent, size
from liman_nb.engine.pipeline import composed, worked_on
from liman_nb.engine.retry import RetryPolicy, with_retry
from liman_nb.engine.run import NodeRun
from liman_nb.engine.stages import Stages
from liman_nb.errors import (
    ModelError,
    ModelFormatRefused,
    ModelReplyInvalid,
    NodeError,
    YieldsError,
)
from liman_nb.models.llm import Reply, Request, ToolCall, Usage
from liman_nb.specs.documents import LLMNodeSpec
from liman_nb.specs.templates import fill
from liman_nb.specs.yields import YieldsSchema
from liman_nb.state.rows import CallRecord

CHARACTERS_PER_TOKEN = 3
"""Fewer than there are in most texts, so that a history that is taken to fit does."""


async def run_llm(run: NodeRun, spec: LLMNodeSpec) -> RunResult:
    """Ask the node's model once, and again if its reply does not fit the node's yields.

    A function of the node prepares the input before, another one works on the reply afterwards.

    Raises:
        ModelError: no usable reply after the attempts that the node's ``retry`` allows.
        YieldsError: the last reply does not fit either.
        NodeError: the system prompt names something that is not there, or a function of the node
            returned no mapping.
        Exception: whatever a function of the node raises.
    """
    stages = run.runtime.callables.stages.get(run.node.name, Stages())
    if stages.pre_compose is not None and run.composed is None:
        run.composed = await composed(run, stages.pre_compose)
    request = _request(run, spec)
    reply = await _ask(run, spec, request)
    if reply.tool_calls:
        calls = tuple(_call(call, position) for position, call in enumerate(reply.tool_calls))
        return RunResult(says=reply.text, calls=calls, tokens=run.tokens)
    output, text = await _answer(run, spec, request, reply)
    if stages.intelligence is not None:
        output = await worked_on(run, stages.intelligence, output)
    says = text if text != as_text(output) else None
    return RunResult(output=output, says=says, state=run.changed_extras, tokens=run.tokens)


async def _answer(
    run: NodeRun, spec: LLMNodeSpec, request: Request, reply: Reply
) -> tuple[Any, str]:
    """The output of a reply without tool calls, and the text that held it."""
    if run.node.yields is None:
        return reply.text or "", reply.text or ""
    return await _fitting(run, spec, run.node.yields, request, reply)


# ── the request ──────────────────────────────────────────────────────────────────────────────────


def _request(run: NodeRun, spec: LLMNodeSpec) -> Request:
    yields = run.node.yields
    return Request(
        node=run.node.name,
        messages=_messages(run, spec),
        tools=[run.runtime.callables.tools[name].tool.schema for name in run.node.tools],
        response_format=None
        if yields is None
        else {
            "name": run.node.name,
            "schema": yields.json_schema(),
            "strict": yields.is_strict,
        },
        model=spec.model,
        temperature=spec.temperature,
        max_tokens=spec.max_tokens,
    )


def _messages(run: NodeRun, spec: LLMNodeSpec) -> list[Message]:
    """All that the model is told; of the history what fits into its window, if that is known."""
    system, history, now = _system(run, spec), _history(run, spec), _heard(run)
    window = getattr(run.runtime.models[run.node.name], "context_tokens", None)
    if window is not None:
        tokens = window - (spec.max_tokens or window // 4)
        room = tokens * CHARACTERS_PER_TOKEN - size(system) - size(now)
        history = fitted(history, room, in_exchange=bool(run.executor.calls))
    return [*system, *history, *now]


def _heard(run: NodeRun) -> list[Message]:
    """What this run tells the model: the input, as it was prepared, or its tools' results."""
    given = replace(run.executor, composed=run.composed)
    return heard(run.tree, given)


def _history(run: NodeRun, spec: LLMNodeSpec) -> list[Message]:
    """What the actor remembers, as far as the node's ``memory`` and ``history_limit`` allow.

    A run that answers tool calls always sees the exchange that it is part of.
    """
    messages = run.actor.messages if run.actor else []
    if spec.memory == "actor":
        return recent(messages, spec.history_limit)
    exchange = _exchange(messages) if run.executor.calls else []
    if spec.memory == "none":
        return exchange
    return [*recent(recent_turns(run.tree, run.executor), spec.history_limit), *exchange]


def _exchange(messages: list[Message]) -> list[Message]:
    """The messages since the last one of the user."""
    start = next(i for i in range(len(messages) - 1, -1, -1) if messages[i]["role"] == "user")
    return messages[start:]


def _system(run: NodeRun, spec: LLMNodeSpec) -> list[Message]:
    """The system prompt, rendered for this call only: it may name ``context.…``."""
    parts = [_rendered(run, spec.system)] if spec.system else []
    if run.node.yields is not None:
        parts.append(
            f"Reply with JSON of this form and nothing else:\n{run.node.yields.describe()}"
        )
    return [{"role": "system", "content": "\n\n".join(parts)}] if parts else []


def _rendered(run: NodeRun, template: str) -> str:
    try:
        return fill(template, _prompt_values(run))
    except LookupError as missing:
        raise NodeError(
            f"{run.node.name}: the system prompt names {{{missing.args[0]}}}, which neither the "
            f"input nor the call's context has; supply it, or double the braces to show them"
        ) from None


def _prompt_values(run: NodeRun) -> Mapping[str, Any]:
    given = run.executor.input if run.composed is None else run.composed
    return {
        **(given if isinstance(given, Mapping) else {}),
        "input": given,
        **({"upstream_yields": run.executor.input} if is_join(run.executor.via) else {}),
        "state": run.extras,
        "session": run.session,
        "context": run.call_time.context,
    }


# ── the reply ────────────────────────────────────────────────────────────────────────────────────


async def _ask(run: NodeRun, spec: LLMNodeSpec, request: Request) -> Reply:
    llm = run.runtime.models[run.node.name]

    async def call() -> Reply:
        run.runtime.requests.record(run.tree.root, llm, request)
        on_token = run.on_token if run.runtime.listened() else None
        sent = replace(request, messages=handed_out(request.messages))
        return _checked(await llm.complete(sent, on_token=on_token), run.node.name)

    reply = await with_retry(call, RetryPolicy.of(spec.retry), run.tried)
    for refusal in reply.refusals:
        run.tried(ModelFormatRefused(refusal))
    run.usage += reply.usage
    return reply


def _checked(reply: Any, node: str) -> Reply:
    """A reply as the seam declares it; a model object of somebody else may return anything."""
    if not isinstance(reply, Reply) or not isinstance(reply.usage, Usage):
        raise ModelReplyInvalid(
            f"{node}: complete() of its model must return a Reply, with a Usage, not "
            f"{type(reply).__name__}: {reply!r:.80}"
        )
    calls = reply.tool_calls or ()
    texts = [reply.text or "", *(t for c in calls for t in (c.id or "", c.name, c.arguments))]
    if not all(isinstance(text, str) for text in texts):
        raise ModelReplyInvalid(f"{node}: text, names and arguments must be text: {reply!r:.200}")
    return reply


def _call(call: ToolCall, position: int) -> CallRecord:
    return CallRecord(id=call.id or f"call_{position}", name=call.name, arguments=call.arguments)


async def _fitting(
    run: NodeRun, spec: LLMNodeSpec, yields: YieldsSchema, request: Request, reply: Reply
) -> tuple[dict[str, Any], str]:
    """The yields and the text that held them.

    An unfit reply goes back to the model as often as the node's ``enforce_yields_retry`` says, once
    where it says nothing.
    """
    text = reply.text or ""
    for _ in range(1 if spec.enforce_yields_retry is None else spec.enforce_yields_retry):
        try:
            return yields.parse_reply(text), text
        except YieldsError as error:
            run.tried(error, reply=text)
            again = await _ask(run, spec, _corrected(request, text, error))
        if again.tool_calls:
            raise ModelError(
                f"{run.node.name}: the model called a tool when it was asked to correct its reply"
            )
        text = again.text or ""
    return yields.parse_reply(text), text


def _corrected(request: Request, text: str, error: YieldsError) -> Request:
    complaint = "\n".join(f"- {line}" for line in error.errors)
    correction: list[Message] = [
        {"role": "assistant", "content": text or "(nothing)"},
        {
            "role": "user",
            "content": f"That reply cannot be used:\n{complaint}\nReply again, with the JSON only.",
        },
    ]
    return replace(request, messages=[*request.messages, *correction])
