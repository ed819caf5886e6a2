"""A request becomes the JSON body of a chat completion."""

from __future__ import annotations

import pytest

from liman_nb.models.llm import Request, ToolSchema
from liman_nb.models.openai_body import ChatSettings, chat_body
from liman_nb.models.openai_chat import OpenAILLM

USER = {"role": "user", "content": "?"}
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def body(request: Request, **settings: object) -> dict:
    """The body under settings of the model m."""
    return chat_body(request, ChatSettings("m", **settings))


def test_the_smallest_body():
    """Nothing is sent that was not asked for."""
    assert body(Request("n", [USER])) == {"model": "m", "messages": [USER], "stream": False}


def test_a_stream_asks_for_usage():
    """A streamed reply ends with the tokens used."""
    streamed = chat_body(Request("n", [USER]), ChatSettings("m"), stream=True)
    assert streamed["stream"] is True
    assert streamed["stream_options"] == {"include_usage": True}


def test_tools():
    """A tool is sent as a function."""
    tool = ToolSchema("now", "The time.", SCHEMA)
    function = {"name": "now", "description": "The time.", "parameters": SCHEMA}
    sent = body(Request("n", [USER], tools=[tool]))["tools"]
    assert sent == [{"type": "function", "function": function}]


def test_the_request_wins_over_the_object():
    """Model, temperature and limit of a node win, also when they are 0."""
    request = Request("n", [USER], model="other", temperature=0.0, max_tokens=5)
    sent = body(request, temperature=0.7, max_tokens=100)
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("other", 0.0, 5)


def test_the_object_fills_in():
    """What a node leaves open is the object's."""
    sent = body(Request("n", [USER]), temperature=0.0, max_tokens=100)
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("m", 0.0, 100)


def test_the_name_of_the_limit():
    """OpenAI's own server is sent the field that it has put in place of max_tokens."""
    request = Request("n", [USER], max_tokens=5)
    assert OpenAILLM("m").body(request)["max_completion_tokens"] == 5
    assert OpenAILLM("m", base_url="http://localhost/v1").body(request)["max_tokens"] == 5


def test_extra_fields_win():
    """`extra_body` replaces what would be sent otherwise."""
    sent = body(Request("n", [USER], temperature=1.0), extra_body={"temperature": 0, "seed": 1})
    assert (sent["temperature"], sent["seed"]) == (0, 1)


def test_a_strict_schema():
    """A response format is sent as a strict JSON schema."""
    request = Request("n", [USER], response_format={"name": "report", "schema": SCHEMA})
    strict = {"name": "report", "strict": True, "schema": SCHEMA}
    assert body(request)["response_format"] == {"type": "json_schema", "json_schema": strict}


@pytest.mark.parametrize(
    ("name", "sent"),
    [("my node: 1", "my_node__1"), ("ä" * 80, "_" * 64), ("", "reply")],
)
def test_names_of_schemas(name: str, sent: str):
    """A name is made one that servers accept."""
    request = Request("n", [USER], response_format={"name": name, "schema": SCHEMA})
    assert body(request)["response_format"]["json_schema"]["name"] == sent


def test_json_mode():
    """JSON mode puts the schema into the system prompt."""
    system = {"role": "system", "content": "Be brief."}
    request = Request("n", [system, USER], response_format={"name": "r", "schema": SCHEMA})
    sent = body(request, structured="json")
    assert sent["response_format"] == {"type": "json_object"}
    first, *others = sent["messages"]
    assert first["content"].startswith("Be brief.\n\nAnswer with one JSON value")
    assert '{"type": "object", "properties": {}, "additionalProperties": false}' in first["content"]
    assert others == [USER]


def test_words_alone():
    """Without JSON mode only the prompt asks for JSON, in a system prompt that is added."""
    request = Request("n", [USER], response_format={"name": "r", "schema": SCHEMA})
    sent = body(request, structured="prompt")
    assert "response_format" not in sent
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]


def test_free_text_is_left_alone():
    """A request without a response format is the same under every setting."""
    request = Request("n", [USER])
    assert body(request, structured="json") == body(request, structured="prompt") == body(request)


def test_the_request_is_not_changed():
    """A body shares nothing that a caller could change in the request."""
    message = {"role": "user", "content": "?"}
    sent = body(Request("n", [message]))
    sent["messages"][0]["content"] = "!"
    assert message["content"] == "?"
