"""Prototype, inspect, teach and demo LLM-agent graphs in a Jupyter notebook.

The names below are the public interface. Each is imported when it is first used, so that
``import liman_nb`` loads neither a widget nor a drawing library, nor any client of a model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from liman_nb.agent import Agent as Agent
    from liman_nb.engine.bounds import Bounds as Bounds
    from liman_nb.engine.events import Event as Event
    from liman_nb.engine.pending import Question as Question
    from liman_nb.engine.tree import Executor as Executor
    from liman_nb.engine.tree import NodeActor as NodeActor
    from liman_nb.models.callables import CallableLLM as CallableLLM
    from liman_nb.models.langchain import LangChainLLM as LangChainLLM
    from liman_nb.models.llm import LLM as LLM
    from liman_nb.models.llm import Reply as Reply
    from liman_nb.models.llm import Request as Request
    from liman_nb.models.llm import Usage as Usage
    from liman_nb.models.local import LocalLLM as LocalLLM
    from liman_nb.models.openai_chat import OpenAILLM as OpenAILLM
    from liman_nb.models.recorded import RecordedLLM as RecordedLLM
    from liman_nb.models.scripted import ScriptedLLM as ScriptedLLM
    from liman_nb.models.written import call as call
    from liman_nb.result import ExecutorInput as ExecutorInput
    from liman_nb.result import StepResult as StepResult
    from liman_nb.specs.conditions import View as View
    from liman_nb.state.disk.storage import DiskCacheStateStorage as DiskCacheStateStorage
    from liman_nb.state.memory import InMemoryStateStorage as InMemoryStateStorage
    from liman_nb.state.redis.storage import RedisStateStorage as RedisStateStorage
    from liman_nb.state.states import ExecutorState as ExecutorState
    from liman_nb.state.states import NodeActorState as NodeActorState
    from liman_nb.state.storage import StateStorage as StateStorage
    from liman_nb.tools.external import ExternalTool as ExternalTool
    from liman_nb.tools.external import ToolCall as ToolCall
    from liman_nb.tools.mcp.tools import tools_from_mcp as tools_from_mcp
    from liman_nb.tools.openapi.tools import tools_from_openapi as tools_from_openapi
    from liman_nb.tools.suspend import Suspend as Suspend
    from liman_nb.views.history import TurnInfo as TurnInfo

_HOMES = {
    "Agent": "agent",
    "Bounds": "engine.bounds",
    "CallableLLM": "models.callables",
    "DiskCacheStateStorage": "state.disk.storage",
    "Event": "engine.events",
    "Executor": "engine.tree",
    "ExecutorInput": "result",
    "ExecutorState": "state.states",
    "ExternalTool": "tools.external",
    "InMemoryStateStorage": "state.memory",
    "LLM": "models.llm",
    "LangChainLLM": "models.langchain",
    "LocalLLM": "models.local",
    "NodeActor": "engine.tree",
    "NodeActorState": "state.states",
    "OpenAILLM": "models.openai_chat",
    "Question": "engine.pending",
    "RecordedLLM": "models.recorded",
    "RedisStateStorage": "state.redis.storage",
    "Reply": "models.llm",
    "Request": "models.llm",
    "ScriptedLLM": "models.scripted",
    "StateStorage": "state.storage",
    "StepResult": "result",
    "Suspend": "tools.suspend",
    "ToolCall": "tools.external",
    "TurnInfo": "views.history",
    "Usage": "models.llm",
    "View": "specs.conditions",
    "call": "models.written",
    "tools_from_mcp": "tools.mcp.tools",
    "tools_from_openapi": "tools.openapi.tools",
}
"""Public name → module that it stands in."""

__all__ = [*_HOMES, "errors"]  # noqa: PLE0604 - the keys are text


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("liman_nb.errors")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'liman_nb' has no attribute {name!r}")
    return getattr(import_module(f"liman_nb.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
