"""The public interface as its users write it. Never run: mypy checks that it means what it says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, assert_type
from uuid import UUID

from liman_nb import (
    LLM,
    Agent,
    Bounds,
    CallableLLM,
    DiskCacheStateStorage,
    Event,
    ExecutorInput,
    ExternalTool,
    InMemoryStateStorage,
    LangChainLLM,
    LocalLLM,
    OpenAILLM,
    RecordedLLM,
    RedisStateStorage,
    Reply,
    Request,
    ScriptedLLM,
    StateStorage,
    StepResult,
    ToolCall,
    TurnInfo,
    Usage,
    View,
    call,
    errors,
    tools_from_mcp,
    tools_from_openapi,
)


def get_weather(city: str, context: Mapping[str, Any]) -> str:
    """The weather of a city."""
    return f"{city}: {context['unit']}"


async def is_late(view: View) -> bool:
    """A condition in Python."""
    return view.output is None


class Echo:
    """A model of one's own: one method, no base class."""

    async def complete(self, request: Request, on_token: Any = None) -> Reply:
        """Say what was said."""
        return Reply(text=str(request.messages[-1]["content"]), usage=Usage(1, 1))


class Dictionary(StateStorage):
    """A storage of one's own: the four methods."""

    def __init__(self) -> None:
        self.states: dict[str, dict[str, Any]] = {}

    async def save_actor_state(
        self, execution_id: str, actor_id: str, state: dict[str, Any]
    ) -> None:
        """Keep a state."""
        self.states[f"{execution_id}/{actor_id}"] = state

    async def load_actor_state(self, execution_id: str, actor_id: str) -> dict[str, Any] | None:
        """Find it again."""
        return self.states.get(f"{execution_id}/{actor_id}")

    async def save_executor_state(self, execution_id: str, state: dict[str, Any]) -> None:
        """Keep a state."""
        self.states[execution_id] = state

    async def load_executor_state(self, execution_id: str) -> dict[str, Any] | None:
        """Find it again."""
        return self.states.get(execution_id)


def models() -> list[LLM]:
    """Every kind of model is one."""
    return [
        OpenAILLM("gpt-4o-mini", base_url="http://localhost/v1", api_key="key"),
        LocalLLM(Path("model.gguf")),
        ScriptedLLM(["Hello.", {"answer": 4}, [call("get_weather", city="Oslo")], ValueError()]),
        ScriptedLLM({"chat": ["Hello."]}),
        CallableLLM(lambda request: request.node),
        LangChainLLM(object()),
        RecordedLLM("run.jsonl", ScriptedLLM(["Hello."]), mode="record"),
        Echo(),
    ]


def agents() -> list[Agent]:
    """The ways to make one."""
    return [
        Agent("specs/"),
        Agent(specs_dir=Path("specs"), start_node="chat", llm="gpt-4o-mini"),
        Agent(
            {"kind": "LLMNode", "name": "chat"},
            llm=Echo(),
            llms={"judge": ["yes"]},
            state_storage=Dictionary(),
            session_id="alice",
            tools=[get_weather],
            functions={"is_late": is_late},
            allow_imports=["my_tools"],
            language="de",
            bounds=Bounds(node_runs=10, seconds=30),
            on_open_turn="resume",
            strict=False,
        ),
        Agent("a.yaml", state_storage=InMemoryStateStorage()),
        Agent("a.yaml", state_storage=InMemoryStateStorage(session_ttl=60, clock=lambda: 0.0)),
        Agent("a.yaml", state_storage=DiskCacheStateStorage(".liman_nb", session_ttl=3600)),
        Agent("a.yaml", state_storage=RedisStateStorage("redis://h", session_ttl=None)),
    ]


async def talk(agent: Agent) -> None:
    """A turn, what it came to, and the next one by its ids."""
    result = await agent.step("My name is Alice.", context={"user_id": "u-1"})
    assert_type(result, StepResult)
    assert_type(result.execution_id, UUID)
    assert_type(result.usage, Usage)
    assert_type(result.outputs, tuple[tuple[str, Any], ...])
    following = ExecutorInput(
        execution_id=result.execution_id,
        node_actor_id=result.node_actor_id,
        node_input="What is my name?",
    )
    assert_type(await agent.step(following), StepResult)
    assert_type(await agent.mesh_call("chat", {"message": "hi"}, "alice"), StepResult)
    assert_type(agent.run_sync("hi"), StepResult)
    assert_type(agent.last_result, StepResult | None)
    assert_type(agent.stop(), bool)


async def listen(agent: Agent) -> AsyncIterator[str]:
    """What a model says, while it says it."""
    async for event in agent.stream("hi"):
        assert_type(event, Event)
        if event.kind == "token":
            yield event.text


async def look(agent: Agent) -> None:
    """What is read of an agent."""
    for transition in agent.transitions():
        assert_type(transition.target, str)
    for message in agent.messages("chat"):
        assert_type(message, dict[str, Any])
    for name, fields in agent.yields().items():
        assert_type((name, fields), tuple[str, dict[str, Any]])
    for turn in agent.history():
        assert_type(turn, TurnInfo)
        assert_type(turn.number, int)
    assert_type(agent.graph.to_mermaid(), str)
    for entry in agent.session("alice").conversation:
        assert_type(entry.as_dict(), dict[str, str])
    assert_type(agent.session().to_dict(), dict[str, Any])
    for row in agent.sessions(page=2, per_page=50):
        assert_type(row.status, str)
    for edge in agent.explain("alice", "chat", turn=1):
        assert_type(edge.filled, str)
    assert_type(len(agent.explain("chat")), int)
    assert_type(agent.explain(session_id="alice", node="chat").turn, int)
    assert_type(agent.check().errors, list[errors.Problem])


async def look_up(made: ToolCall) -> Any:
    """A tool of one's own, with a schema instead of a signature."""
    return [made.arguments["id"], made.call_id, await made.credentials.get("token")]


async def external() -> None:
    """Tools that are not Python functions."""
    own = ExternalTool("look_up", "Looks up.", {"properties": {"id": {"type": "string"}}}, look_up)
    assert_type(await own({"id": "1"}, credentials={"token": "t"}), Any)
    api = tools_from_openapi(
        Path("api.yaml"), allow_origins=["https://api.example.com"], only="tag:pets", timeout=5
    )
    assert_type(api[0], ExternalTool)
    assert_type(api.warnings, tuple[str, ...])
    async with tools_from_mcp(command=["python", "server.py"], env={"A": "b"}) as tools:
        Agent("specs/", tools=[own, get_weather, *api, *tools])
    server = tools_from_mcp(url="http://localhost:8000/mcp", headers={"Authorization": "Bearer t"})
    assert_type(server.open(), list[ExternalTool])
    server.close()


async def copy(agent: Agent) -> None:
    """Sessions made of others."""
    assert_type(agent.fork(), str)
    assert_type(agent.fork("alice", at_turn=2, new_session_id="other"), str)
    assert_type(await agent.retry_turn("alice", {"user_id": "u-1"}), StepResult)
    assert_type(agent.load(agent.dump("alice")), str)


async def handle(agent: Agent) -> str:
    """Errors by whose turn it is."""
    try:
        await agent.step("hi")
    except errors.TurnFailed as failed:
        assert_type(failed.result, Any)
        return str(failed)
    except errors.SpecError as error:
        return "\n".join(problem.hint for problem in error.problems)
    except errors.OpenTurn:
        assert_type(await agent.resume(), StepResult)
    except errors.LimanError as error:
        return str(error)
    return ""
