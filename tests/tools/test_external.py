"""Tools that bring their schema along: described, checked and called like functions."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from liman_nb import Agent, ExternalTool, InMemoryStateStorage, ScriptedLLM, ToolCall, call
from liman_nb.errors import SpecError, ToolError, UsageError
from liman_nb.models.llm import ToolSchema

CHAT = "{kind: LLMNode, name: chat, tools: [find]}"
SCHEMA = {
    "type": "object",
    "properties": {"state": {"type": "string"}, "context": {"type": "integer"}},
    "required": ["state"],
}


class Recorder:
    """Remembers the calls that reached it."""

    def __init__(self, result: Any = "found") -> None:
        self.calls: list[ToolCall] = []
        self.result = result

    async def __call__(self, made: ToolCall) -> Any:
        """Take a call."""
        self.calls.append(made)
        return self.result


def agent_of(specs: str, tool: ExternalTool, replies: list[Any], **options: Any) -> Agent:
    """An agent in memory with this tool."""
    storage = InMemoryStateStorage()
    llm = ScriptedLLM(replies)
    return Agent(specs, tools=[tool], llm=llm, state_storage=storage, session_id="s", **options)


def offered(agent: Agent) -> ToolSchema:
    """The one tool of the first request."""
    return agent.requests("chat")[0]["tools"][0]


def heard(agent: Agent) -> str:
    """The tool's result, as the model reads it."""
    return agent.requests("chat")[1]["messages"][-1]["content"]


async def test_it_stands_wherever_a_function_may() -> None:
    """The model sees its schema and gets its result; reserved names are plain arguments here."""
    recorder = Recorder({"items": [1]})
    tool = ExternalTool("find", "Finds things.", SCHEMA, recorder)
    agent = agent_of(CHAT, tool, [call("find", state="open", context=3), "done"])
    assert (await agent.step("go")).output == "done"
    assert recorder.calls[0].arguments == {"state": "open", "context": 3}
    assert recorder.calls[0].call_id
    assert offered(agent).description == "Finds things."
    assert offered(agent).parameters["required"] == ["state"]
    assert heard(agent) == '{"items":[1]}'


async def test_a_call_that_does_not_fit_is_answered_to_the_model_and_not_made() -> None:
    """Each mistake is a line, with what is expected."""
    recorder = Recorder()
    tool = ExternalTool("find", "", SCHEMA, recorder)
    agent = agent_of(CHAT, tool, [call("find", state=1, sate="x"), "done"])
    await agent.step("go")
    said = heard(agent)
    assert "sate: there is no such argument" in said
    assert "state: 1 is not of type 'string'" in said
    assert "Expected arguments: state (string), context (integer, optional)" in said
    assert recorder.calls == []


async def test_a_toolnode_of_its_name_asks_a_person_first() -> None:
    """Approval, and other texts, come from the specs."""
    specs = f"{CHAT}\n---\n{{kind: ToolNode, name: find, description: Ours, approval: true}}"
    recorder = Recorder()
    agent = agent_of(
        specs, ExternalTool("find", "Theirs", SCHEMA, recorder), [call("find", state="x"), "done"]
    )
    result = await agent.step("go")
    assert result.status == "suspended"
    assert 'find be called with {"state": "x"}' in result.pending[0].text
    assert recorder.calls == []
    assert offered(agent).description == "Ours"
    assert (await agent.resume(True)).output == "done"
    assert len(recorder.calls) == 1


async def test_it_gets_the_credentials_that_its_account_names_and_no_other_is_fetched() -> None:
    """By the provider's name, when it asks."""
    fetched: list[str] = []

    def one() -> str:
        fetched.append("one")
        return "canary-one"

    def two() -> str:
        fetched.append("two")
        return "canary-two"

    async def ask(made: ToolCall) -> str:
        assert made.credentials.names == {"one", "two"}
        assert "canary" not in repr(made.credentials) + repr(made)
        with pytest.raises(ToolError, match="no credentials provider 'three'"):
            await made.credentials.get("three")
        return f"{len(await made.credentials.get('two'))} characters"

    specs = f"""{CHAT}
---
kind: ToolNode
name: find
auth: {{service_account: {{credentials_providers: [one, two]}}}}
"""
    agent = agent_of(
        specs,
        ExternalTool("find", "", {"properties": {}}, ask),
        [call("find"), "done"],
        functions=[one, two],
    )
    await agent.step("go")
    assert heard(agent) == "10 characters"
    assert fetched == ["two"]


async def test_without_an_account_there_are_no_credentials() -> None:
    """Nothing is handed on that no spec names."""

    async def ask(made: ToolCall) -> str:
        return await made.credentials.get("one")

    agent = agent_of(CHAT, ExternalTool("find", "", {}, ask), [call("find"), "done"])
    await agent.step("go")
    said = heard(agent)
    assert said == "Error: the service account has no credentials provider 'one'"


async def test_it_can_be_called_by_hand() -> None:
    """With the same check, and credentials as a mapping."""
    recorder = Recorder()
    tool = ExternalTool("find", "", SCHEMA, recorder)
    assert await tool({"state": "x"}, call_id="c", credentials={"one": 1}) == "found"
    assert await recorder.calls[0].credentials.get("one") == 1
    with pytest.raises(ToolError, match="'state' is a required property"):
        await tool()


@pytest.mark.parametrize(
    "node", ["FunctionNode, name: find", "ToolNode, name: find, arguments: []"]
)
def test_where_it_cannot_stand_the_spec_is_wrong(node: str) -> None:
    """A FunctionNode has no model to check, and its arguments are not declared a second time."""
    tool = ExternalTool("find", "", {}, Recorder())
    specs = f"{{kind: {node}}}\n---\n{CHAT}" if "ToolNode" in node else f"{{kind: {node}}}"
    agent = Agent(specs, functions=[tool], llm=["hi"], state_storage=InMemoryStateStorage())
    with pytest.raises(SpecError, match=r"is a tool: make the node|leave 'arguments' out"):
        agent.run_sync("go")


def test_nobody_is_told_to_list_every_operation_of_an_api() -> None:
    """A function that no node lists is a warning; one of many tools is not."""
    tools = [ExternalTool(f"op{n}", "", {}, Recorder()) for n in range(3)]
    agent = Agent("{kind: LLMNode, name: chat}", tools=tools, llm=["hi"])
    assert not agent.check()


@pytest.mark.parametrize(
    ("name", "schema", "said"),
    [
        ("find it", {}, "cannot be the name of a tool"),
        ("find", {"type": "array"}, "must be an object schema"),
        ("find", {"properties": {"a": {"type": "nonsense"}}}, "are no JSON schema"),
        ("find", {"properties": []}, "are no JSON schema"),
        ("find", {"default": float("nan")}, "are no JSON schema"),
    ],
)
def test_what_no_model_could_call_is_refused_when_it_is_made(
    name: str, schema: Any, said: str
) -> None:
    """At once, and not in a turn."""
    with pytest.raises(UsageError, match=said):
        ExternalTool(name, "", schema, Recorder())


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"$ref": "http://127.0.0.1:9/schema"}, "which is not in it"),
        ({"$ref": "#/$defs/nowhere"}, "which is not in it"),
        ({"$ref": "#/$defs/circle"}, "without end"),
    ],
)
async def test_a_schema_never_fetches_and_never_runs_for_ever(schema: Any, said: str) -> None:
    """References lead into the schema, and circles end in a sentence."""
    named = {"circle": {"$ref": "#/$defs/circle"}}
    whole = {"properties": {"a": schema}, "$defs": named}
    with pytest.raises(ToolError, match=said):
        await ExternalTool("find", "", whole, Recorder())({"a": 1})


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"\p{L}+", "("])
async def test_a_pattern_is_told_and_not_run(pattern: str) -> None:
    """It may be in another dialect, or made to take for ever."""
    recorder = Recorder()
    schema = {"properties": {"a": {"type": "string", "pattern": pattern}}}
    tool = ExternalTool("find", "", schema, recorder)
    await tool({"a": "a" * 40 + "!"})
    assert json.dumps(pattern) in json.dumps(tool.schema.parameters)


def test_it_is_shown_by_name_and_source() -> None:
    """No schema, no function."""
    tool = ExternalTool("find", "Finds", SCHEMA, Recorder(), source="GET https://x/find")
    assert repr(tool) == "ExternalTool('find', source='GET https://x/find')"
    assert re.fullmatch(r"ExternalTool\('find'\)", repr(ExternalTool("find", "", {}, Recorder())))
