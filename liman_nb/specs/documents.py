"""The documents of every kind, as frozen pydantic models: one language, overlays applied.

Edges stand in :mod:`liman_nb.specs.edges`; the fields here are what a node itself is. What a field
of these models may hold is said by its type, so that :mod:`liman_nb.specs.validation` can put every
misfit in words. Nothing here names a Python function's object: names resolve when a node runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    Tag,
    model_validator,
)

from liman_nb.specs.located import in_words

T = TypeVar("T")

# ── field types ──────────────────────────────────────────────────────────────────────────────────

_FUNCTION_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def _function_name(value: str) -> str:
    if not _FUNCTION_NAME.fullmatch(value):
        raise ValueError(
            f"the name of a function such as 'my_tools.weather' is expected, this is "
            f"{in_words(value)}"
        )
    return value


def _seconds(value: Any) -> Any:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found:
        return float(found[1]) * _SECONDS[found[2]]
    if isinstance(value, str):
        raise ValueError(
            f"seconds or a text such as '30s', '5m', '2h', '7d' is expected, this is "
            f"{in_words(value)}"
        )
    return value


def _as_policy(value: Any) -> Any:
    return {"attempts": value} if isinstance(value, int) and not isinstance(value, bool) else value


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _as_prompts(value: Any) -> Any:
    return {"system": value} if isinstance(value, str) else value


def _injected_name(value: Any) -> Any:
    if isinstance(value, Mapping):
        valid = len(value) == 1 and all(isinstance(v, str) for v in value.values())
    else:
        valid = isinstance(value, str) and bool(value.strip())
    if not valid:
        raise ValueError(
            f"a name such as 'user_id' or 'alias: user.id' is expected, this is {in_words(value)}"
        )
    return value


def _not_empty(value: tuple[T, ...]) -> tuple[T, ...]:
    if not value:
        raise ValueError("the list is empty")
    return value


_InjectedName: TypeAlias = Annotated[str | dict[str, str], BeforeValidator(_injected_name)]
FunctionName: TypeAlias = Annotated[str, AfterValidator(_function_name)]
Seconds: TypeAlias = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
Items: TypeAlias = Annotated[tuple[T, ...], Strict(False)]
Texts: TypeAlias = Annotated[tuple[str, ...], Strict(False), BeforeValidator(_as_list)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


# ── parts of documents ───────────────────────────────────────────────────────────────────────────


class RetrySpec(_Part):
    """When a failed call is made again. ``retry: 3`` is short for ``retry: {attempts: 3}``.

    Attributes:
        attempts: calls in all, the first included.
        backoff: seconds before the second call; doubled before each further one.
        errors: class names of the errors worth another attempt; empty for the usual ones.
    """

    attempts: int = Field(default=3, ge=1, le=20)
    backoff: float = Field(default=0.5, ge=0, le=600)
    errors: Texts = ()


class ContextSpec(_Part):
    """Which values of the call-time context a service account hands on.

    Attributes:
        strict: whether a missing value is an error.
        inject: ``user_id``, ``org.id``, ``alias: a.b`` as a text, or ``{alias: a.b}``.
    """

    strict: bool = True
    inject: Annotated[Items[_InjectedName], AfterValidator(_not_empty)]


class _Account(_Part):
    context: ContextSpec | None = None
    credentials_provider: str | None = None
    credentials_providers: Items[str] = ()

    @model_validator(mode="after")
    def _one_way(self) -> _Account:
        if self.credentials_provider and self.credentials_providers:
            raise ValueError("write 'credentials_provider' or 'credentials_providers', not both")
        if not (self.context or self.providers):
            raise ValueError("'context' or 'credentials_provider' is missing")
        return self

    @property
    def providers(self) -> tuple[str, ...]:
        """Names of the credentials providers, however they are written."""
        one = self.credentials_provider
        return (one,) if one else self.credentials_providers


class InlineAccountSpec(_Account):
    """A service account written inside a node.

    Attributes:
        name: its name, if it has one.
        context: what of the call-time context it hands on.
        credentials_provider: who gives its credentials.
        credentials_providers: the same for several.
    """

    name: str | None = None


class AuthSpec(_Part):
    """On whose behalf a node runs.

    Attributes:
        service_account: the name of a ServiceAccount, or one written in place.
    """

    service_account: Annotated[
        Annotated[str, Tag("name")] | Annotated[InlineAccountSpec, Tag("inline")],
        Discriminator(lambda value: "name" if isinstance(value, str) else "inline"),
    ]


# ── documents ────────────────────────────────────────────────────────────────────────────────────


class _Document(_Part):
    name: str
    description: str = ""


class ServiceAccountSpec(_Account):
    """An identity: which context values and credentials a node's function gets.

    Attributes:
        name: its name.
        description: for people.
        context: what of the call-time context it hands on.
        credentials_provider: who gives its credentials.
        credentials_providers: the same for several.
    """

    kind: Literal["ServiceAccount"] = "ServiceAccount"
    name: str
    description: str = ""


class CredentialsProviderSpec(_Document):
    """A function that gives credentials to service accounts.

    Attributes:
        name: its name.
        description: for people.
        type: what it gives, such as ``bearer``, ``basic``, ``aws``, ``gcp``, ``azure``, ``custom``.
        func: name of the function.
    """

    kind: Literal["CredentialsProvider"] = "CredentialsProvider"
    type: str = "custom"
    func: FunctionName


class AgentSpec(_Document):
    """What LLM, function and human nodes share: what an agent of a mesh document may say.

    Attributes:
        name: its name.
        description: for people.
        inputs: the fields of its input, in the notation of yields, as written.
        wait_for: what it waits for, as written; :class:`liman_nb.specs.graph.Node` has it parsed.
        wait_for_timeout: seconds it waits for that.
        communication_type: how its caller hears of its output: by an answer, along the chain of
            edges, or not at all; ``None`` for along the edges.
        enforce_yields: whether an output that does not fit its yields is refused; ``None`` for yes.
        enforce_yields_retry: how often such an output is asked for again; ``None`` for the kind's
            own rule.
        auto_store_yields: whether its yields are stored.
        auto_store_response: whether its output is stored.
        parallel: whether several of its runs go at the same time; ``None`` for the kind's own rule.
        max_concurrent: how many of them do.
    """

    inputs: Any = None
    wait_for: Texts = ()
    wait_for_timeout: Seconds | None = None
    communication_type: Literal["dual", "chain", "execute"] | None = None
    enforce_yields: bool | None = None
    enforce_yields_retry: int | None = Field(default=None, ge=0)
    auto_store_yields: bool = True
    auto_store_response: bool = True
    parallel: bool | None = None
    max_concurrent: int | None = Field(default=None, ge=1)


class LLMNodeSpec(AgentSpec):
    """A node that asks a language model.

    Has the fields of :class:`AgentSpec`, and:

    Attributes:
        prompts: ``system`` and others, by name; templates. A plain text is the system prompt.
        model: the model's name; ``None`` for the agent's.
        temperature: sampling temperature; ``None`` for the server's default.
        max_tokens: bound on a reply's tokens; ``None`` for the model's own.
        tools: the tools it may call, as written: ``name`` or ``ToolNode/name``.
        yields: the declared output, as written; :class:`liman_nb.specs.graph.Node` has it parsed.
        memory: what it remembers: its own history, the session's conversation, or nothing.
        history_limit: how many messages of its history it is shown; ``None`` for all that fit.
        pre_compose: name of the function that prepares its input.
        intelligence: name of the function that works on its reply.
        retry: when a failed call is made again; ``None`` for the default policy.
        auth: on whose behalf its tools run.
        max_tool_calls_per_message: how many tool calls of one reply are made; ``None`` for all.
    """

    kind: Literal["LLMNode"] = "LLMNode"
    prompts: Annotated[dict[str, Any], BeforeValidator(_as_prompts)] = Field(default_factory=dict)
    model: str | None = None
    temperature: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, gt=0)
    tools: Texts = ()
    yields: Any = None
    memory: Literal["actor", "session", "none"] = "actor"
    history_limit: int | None = Field(default=None, gt=0)
    pre_compose: FunctionName | None = None
    intelligence: FunctionName | None = None
    retry: Annotated[RetrySpec | None, BeforeValidator(_as_policy)] = None
    auth: AuthSpec | None = None
    max_tool_calls_per_message: int | None = Field(default=None, ge=0)

    @property
    def system(self) -> str:
        """The system prompt's template; empty for none."""
        text = self.prompts.get("system")
        return text if isinstance(text, str) else ""


class ToolNodeSpec(_Document):
    """A function that a language model may call.

    Attributes:
        name: its name, which the model sees.
        description: what it does, for the model.
        func: name of the function; ``None`` for one of the tool's own name.
        arguments: its arguments, as written; :func:`liman_nb.tools.arguments.describe_arguments`
            makes a schema of them. ``None`` to take them from the function's signature.
        triggers: what a person might say that calls for it.
        tool_prompt_template: what an LLM's system prompt says about it.
        approval: whether a person must agree to each call.
        on_crash: whether a call that was cut short by a crash is made again, or a person asked.
        timeout: seconds a call may take.
        retry: when a failed call is made again; ``None`` for the default policy.
        auth: on whose behalf it runs.
    """

    kind: Literal["ToolNode"] = "ToolNode"
    func: FunctionName | None = None
    arguments: Any = None
    triggers: Texts = ()
    tool_prompt_template: str = ""
    approval: bool = False
    on_crash: Literal["retry", "ask"] = "retry"
    timeout: Seconds | None = None
    retry: Annotated[RetrySpec | None, BeforeValidator(_as_policy)] = None
    auth: AuthSpec | None = None


class FunctionNodeSpec(AgentSpec):
    """A node that runs a Python function.

    Has the fields of :class:`AgentSpec`, and:

    Attributes:
        func: name of the function; ``None`` for one of the node's own name.
        yields: the declared output, as written.
        retry: when a failed call is made again; ``None`` for the default policy.
        timeout: seconds a call may take.
        auth: on whose behalf it runs.
        prompts: a field of Liman's that has no effect here.
        tools: a field of Liman's that has no effect here.
    """

    kind: Literal["FunctionNode"] = "FunctionNode"
    func: FunctionName | None = None
    yields: Any = None
    retry: Annotated[RetrySpec | None, BeforeValidator(_as_policy)] = None
    timeout: Seconds | None = None
    auth: AuthSpec | None = None
    prompts: Annotated[dict[str, Any], BeforeValidator(_as_prompts)] = Field(default_factory=dict)
    tools: Texts = ()


class HumanNodeSpec(AgentSpec):
    """A node that asks a person.

    Has the fields of :class:`AgentSpec`, and:

    Attributes:
        question: what is asked; a template.
        yields: the form of the answer, as written.
        timeout: seconds after which the fallback is the answer.
        fallback: the answer when nobody gives one.
        func: a field of Liman's that has no effect here.
    """

    kind: Literal["HumanNode"] = "HumanNode"
    question: str = ""
    yields: Any = None
    timeout: Seconds | None = None
    fallback: Any = None
    func: FunctionName | None = None


NodeSpec: TypeAlias = LLMNodeSpec | ToolNodeSpec | FunctionNodeSpec | HumanNodeSpec
Spec: TypeAlias = NodeSpec | ServiceAccountSpec | CredentialsProviderSpec

MODELS: Mapping[str, type[Spec]] = {
    "LLMNode": LLMNodeSpec,
    "ToolNode": ToolNodeSpec,
    "FunctionNode": FunctionNodeSpec,
    "HumanNode": HumanNodeSpec,
    "ServiceAccount": ServiceAccountSpec,
    "CredentialsProvider": CredentialsProviderSpec,
}
"""The model of each kind."""

PARTS: Mapping[str | int, type[BaseModel]] = {
    "retry": RetrySpec,
    "context": ContextSpec,
    "auth": AuthSpec,
    "service_account": InlineAccountSpec,
}
"""The model of each field that is a mapping of its own."""

NODE_KINDS = ("LLMNode", "ToolNode", "FunctionNode", "HumanNode")
"""The kinds that are nodes of a graph."""


@dataclass(frozen=True, slots=True)
class SuppliedTool:
    """A tool that the caller passes as a Python function instead of a ToolNode document.

    Attributes:
        name: its name, which specs list and the model sees.
        description: what it does, for the model.
        parameters: JSON schema of its arguments, an object schema.
        one_of_many: whether it comes with others, such as an API's operations, of which nobody
            lists all.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    one_of_many: bool = False
