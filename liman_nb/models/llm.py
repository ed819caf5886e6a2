"""The seam between the engine and any language model: a request, a reply, one method.

Message dictionaries have the shape of OpenAI's chat completions
(https://platform.openai.com/docs/api-reference/chat), the field's common protocol. This file knows
no provider and does no I/O; `openai_chat.py`, `scripted.py`, `callables.py` and `local.py`
implement the seam. A model may also offer `body(request)`, the exact JSON that it would send, for
people who tune prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

OnToken = Callable[[str], None]
"""Called with each piece of text of a streamed reply, on the event loop's thread."""


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as it is described to a model.

    Attributes:
        name: the function's name, ``[A-Za-z0-9_-]{1,64}``.
        description: what it does, for the model.
        parameters: JSON schema of the arguments, an object schema.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a model.

    Attributes:
        node: name of the node that asks.
        messages: OpenAI-style messages, system prompt first when there is one.
        tools: what the model may call.
        response_format: a strict JSON schema that the reply's text must satisfy, with its name, as
            ``{"name": …, "schema": …, "strict": …}``; ``None`` for free text. Not strict
            is a schema that OpenAI's strict mode cannot express, such as an object of any keys.
        model: the model's name; ``None`` for the LLM object's own.
        temperature: sampling temperature, or ``None`` for the server's default.
        max_tokens: bound on the reply's tokens, or ``None`` for the LLM object's own.
    """

    node: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[ToolSchema] = ()
    response_format: Mapping[str, Any] | None = None
    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool.

    Attributes:
        id: the model's own id of the call; not unique over a session.
        name: the tool's name as the model wrote it.
        arguments: JSON text as the model wrote it, unchecked; empty text means no arguments.
    """

    id: str
    name: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or several calls, as the server counted them.

    Attributes:
        input_tokens: tokens of the prompt.
        output_tokens: tokens of the reply.
    """

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """The sum of two usages."""
        return Usage(
            self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete reply.

    Attributes:
        text: the reply's text; ``None`` only beside tool calls (the protocol's ``content: null``).
        tool_calls: in the model's order.
        usage: tokens, when the server said.
        model: the model that answered, as the server named it; empty when unknown.
        refusals: what the server said to other ways of asking before it gave this reply; on record
            as attempts of the node's run.
    """

    text: str | None = None
    tool_calls: Sequence[ToolCall] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    refusals: Sequence[str] = ()


@runtime_checkable
class LLM(Protocol):
    """A language model. Implement this one method to plug in another one.

    One that also has an attribute ``context_tokens``, the tokens of prompt and reply together, is
    given no more of a node's history than fits; the oldest exchanges are left out.
    """

    async def complete(self, request: Request, on_token: OnToken | None = None) -> Reply:
        """Answer a request.

        Args:
            request: what to answer.
            on_token: when given, the reply is streamed through it as it arrives; the returned
                reply is complete either way.

        Raises:
            ModelError: no usable reply; see its subclasses in :mod:`liman_nb.errors`.
        """
        ...
