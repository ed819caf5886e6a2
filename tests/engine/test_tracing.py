"""Persistence is not observability: spans have times and names, the storage has what was said."""

import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from liman_nb import Agent, InMemoryStateStorage, ScriptedLLM, Usage, call
from liman_nb.errors import TurnFailed
from liman_nb.models.llm import Reply

SPECS = """
{kind: LLMNode, name: chat, tools: [add], yields: {answer: string}, edges: [log]}
---
{kind: ToolNode, name: add}
---
{kind: FunctionNode, name: log}
"""
CANARIES = ("c4nary-input", "c4nary-text", "c4nary-yield", "c4nary-context", "c4nary-session")


@pytest.fixture(scope="module")
def exporter():
    """OpenTelemetry as a program sets it up, once."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(exporter):
    """The spans of one test."""
    exporter.clear()
    return exporter.get_finished_spans


def add(a: int) -> str:
    """Add."""
    return f"c4nary-text {a}"


def log(value: dict) -> None:
    """Fail."""
    raise ValueError(f"c4nary-text {value}")


async def failed(storage) -> None:
    """A turn with a tool, yields, a context and a failure."""
    replies = [
        [call("add", a=1)],
        Reply(text='{"answer": "c4nary-yield"}', usage=Usage(7, 3)),
    ]
    agent = Agent(
        SPECS,
        llm=ScriptedLLM(replies),
        functions=[add, log],
        state_storage=storage,
        session_id="c4nary-session",
    )
    with pytest.raises(TurnFailed):
        await agent.step("c4nary-input", context={"token": "c4nary-context"})


async def test_a_turn_is_a_span_and_its_node_runs_are_in_it(spans):
    """With names, kinds, counts and types of errors."""
    await failed(InMemoryStateStorage())
    names = [span.name for span in spans()]
    assert names == ["node chat", "node add", "node chat", "node log", "turn 1"]
    turn = spans()[-1]
    assert all(span.parent.span_id == turn.context.span_id for span in spans()[:-1])
    assert turn.attributes["liman_nb.status"] == "failed"
    chat, tool, again, failure = spans()[:-1]
    assert chat.attributes["liman_nb.tool_calls"] == 1
    assert tool.attributes["liman_nb.kind"] == "ToolNode"
    assert again.attributes["liman_nb.input_tokens"] == 7
    assert again.attributes["liman_nb.fired"] == ("chat>log#0",)
    assert failure.attributes["liman_nb.error.type"] == "ValueError"


async def test_nothing_that_was_said_or_given_is_in_a_span(spans):
    """No message, yield, context, session id, nor the message of an error."""
    await failed(InMemoryStateStorage())
    told = "".join(span.to_json() for span in spans())
    assert not [canary for canary in CANARIES if canary in told]


async def test_nothing_about_how_long_it_took_is_stored():
    """Rows have the time when something happened, and no other number of seconds."""
    storage = InMemoryStateStorage()
    await failed(storage)
    (session,) = await storage.list_sessions()
    told = "".join(row.model_dump_json() for row in await storage.load_rows(session.root)).lower()
    words = ("latency", "duration", "elapsed", "seconds", "per_second", "span", "trace_id")
    assert not [word for word in words if word in told]


def test_without_opentelemetry_nothing_of_it_is_loaded():
    """An agent does not import what its program does not use."""
    code = (
        "import sys; from liman_nb import Agent, InMemoryStateStorage;"
        "Agent('{kind: LLMNode, name: chat}', llm=['hi'],"
        " state_storage=InMemoryStateStorage()).run_sync('hello');"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
