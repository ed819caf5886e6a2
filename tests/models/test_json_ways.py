"""A server is asked for JSON in the best way that it has, found out once per server and model."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reply_shapes import SHAPES
from wire_server import Answer, Received, WireServer, stream, whole

from liman_nb import Agent, InMemoryStateStorage
from liman_nb.errors import ModelFormatRefused, ModelRateLimited, ModelRejected
from liman_nb.models.json_ways import WAYS, refuses_way
from liman_nb.models.llm import Request, ToolSchema
from liman_nb.models.openai_chat import OpenAILLM

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
ASK = Request(
    "n",
    [{"role": "user", "content": "?"}],
    response_format={"name": "report", "schema": SCHEMA, "strict": True},
)
SPEC = """
kind: LLMNode
name: n
yields: {city: string}
"""
OSLO = '{"city": "Oslo"}'

REFUSALS = [
    (400, "This response_format type is unavailable now"),
    (
        400,
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this"
        " model. Learn more about supported models at the Structured Outputs guide",
    ),
    (400, "This model does not support response format `json_schema`. See supported models"),
    (400, "'response_format.type' must be 'text' or 'json_object'"),
    (400, 'response_format type must be one of "text" or "json_object", but got: json_schema'),
    (400, "response_format value as json_schema is enabled only for api versions 2024-08-01"),
    (400, "Unrecognized request argument supplied: response_format"),
    (400, "Unknown parameter: 'response_format'."),
    (400, "json mode cannot be combined with tool/function calling"),
    (400, "Function calling with a response mime type: 'application/json' is unsupported"),
    (422, "body.response_format: Extra inputs are not permitted"),
    (501, "structured outputs are not implemented"),
]
OTHERS = [
    (400, "Invalid schema for response_format 'report': 'additionalProperties' must be false"),
    (400, "invalid JSON schema for response_format: 'report': /properties/x must be an object"),
    (
        400,
        "'messages' must contain the word 'json' in some form, to use 'response_format' of type"
        " 'json_object'.",
    ),
    (400, "max_tokens must be at most 4096"),
    (400, "Unsupported value: 'temperature' does not support 0.2 with this model."),
    (400, "This model does not support tools."),
    (400, "This model's maximum context length is 8192 tokens"),
    (401, "response_format is not supported with this key"),
    (404, "The model `json_schema` is not available"),
]


class Picky(WireServer):
    """A server that refuses some values of `response_format`, in words of its own.

    Attributes:
        refused: the refused types; the refusal of all requests is ``None`` among them.
    """

    refused: frozenset[str | None] = frozenset()
    refusal: Answer = Answer()
    text = OSLO

    def take(self, request: Received) -> Answer:
        """Refuse, or answer with the text."""
        self.requests.append(request)
        if _way(request) in self.refused:
            return self.refusal
        message = {"role": "assistant", "content": self.text}
        if not request.body["stream"]:
            return whole({"model": "m-1", "choices": [{"message": message, "index": 0}]})
        return stream([{"choices": [{"index": 0, "delta": message, "finish_reason": "stop"}]}])

    @property
    def ways(self) -> list[str | None]:
        """How JSON was asked for, request by request."""
        return [_way(request) for request in self.requests]


def _way(request: Received) -> str | None:
    wanted = request.body.get("response_format")
    return wanted and wanted["type"]


def refuse(status: int, said: Any) -> Answer:
    """A refusal as OpenAI writes it, or any other JSON."""
    return whole({"error": {"message": said}} if isinstance(said, str) else said, status)


@pytest.fixture
def picky():
    """A picky server that knows neither schemas nor JSON mode, unless the test says otherwise."""
    with Picky() as started:
        started.refused = frozenset({"json_schema", "json_object"})
        started.refusal = refuse(*REFUSALS[0])
        yield started


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("status", "said"), REFUSALS)
async def test_a_refused_way_is_followed_by_the_next(
    status: int, said: str, streamed: bool, picky: Picky
):
    """Schema, JSON mode, prompt: in whatever words a server refuses, and streamed or not."""
    picky.refusal = refuse(status, said)
    llm = OpenAILLM("m", base_url=picky.url)
    reply = await llm.complete(ASK, [].append if streamed else None)
    assert reply.text == OSLO
    assert picky.ways == ["json_schema", "json_object", None]
    assert [r.rpartition("; ")[2] for r in reply.refusals] == [
        "asked again in JSON mode",
        "asked again by the prompt alone",
    ]
    assert f"HTTP {status}: {said}" in reply.refusals[0]
    assert json.dumps(SCHEMA) in picky.requests[-1].body["messages"][0]["content"]


async def test_an_answer_of_a_validating_framework(picky: Picky):
    """A list of validation errors in place of a message is understood, however long it is."""
    loc = {"loc": ["body", "x" * 400, "response_format"], "msg": "Extra inputs are not permitted"}
    picky.refusal = refuse(422, {"detail": [loc]})
    await OpenAILLM("m", base_url=picky.url).complete(ASK)
    assert picky.ways[-1] is None


async def test_json_mode_is_used_where_it_is_known(picky: Picky):
    """A server that only lacks schemas is asked in JSON mode."""
    picky.refused = frozenset({"json_schema"})
    await OpenAILLM("m", base_url=picky.url).complete(ASK)
    assert picky.ways == ["json_schema", "json_object"]


async def test_what_worked_is_remembered(picky: Picky):
    """Another object asks the same server and model at once in the way that worked."""
    await OpenAILLM("m", base_url=picky.url).complete(ASK)
    llm = OpenAILLM("m", base_url=picky.url)
    reply = await llm.complete(ASK)
    assert picky.ways == ["json_schema", "json_object", None, None]
    assert reply.refusals == ()
    assert llm.body(ASK) == picky.requests[-1].body


async def test_another_model_is_asked_anew(picky: Picky):
    """What one model of a server lacks, another one may have; so may one without tools."""
    llm = OpenAILLM("m", base_url=picky.url)
    with_tools = Request("n", ASK.messages, (ToolSchema("t", "", SCHEMA),), ASK.response_format)
    other = Request("n", ASK.messages, response_format=ASK.response_format, model="other")
    for request in (with_tools, ASK, other):
        before = len(picky.requests)
        await llm.complete(request)
        assert picky.ways[before] == "json_schema"


@pytest.mark.parametrize(("status", "said"), OTHERS)
async def test_other_refusals_are_errors(status: int, said: str, picky: Picky):
    """A bad schema, key, model or limit is no reason to ask in another way."""
    picky.refusal = refuse(status, said)
    with pytest.raises(ModelRejected, match=f"HTTP {status}") as caught:
        await OpenAILLM("m", base_url=picky.url).complete(ASK)
    assert type(caught.value) is ModelRejected
    assert picky.ways == ["json_schema"]


async def test_nothing_is_remembered_when_every_way_is_refused(picky: Picky):
    """A server that refuses the request without a format, too, meant something else."""
    picky.refused = frozenset({"json_schema", "json_object", None})
    llm = OpenAILLM("m", base_url=picky.url)
    for _ in range(2):
        with pytest.raises(ModelFormatRefused):
            await llm.complete(ASK)
    assert picky.ways == ["json_schema", "json_object", None] * 2


async def test_nothing_is_remembered_of_a_way_that_did_not_come_to_an_answer(server: WireServer):
    """A rate limit after a refusal decides nothing."""
    busy = whole({"error": {"message": "slow down"}}, 429)
    server.answer(refuse(*REFUSALS[0]), busy, whole(SHAPES[0].whole))
    llm = OpenAILLM("m", base_url=server.url)
    with pytest.raises(ModelRateLimited):
        await llm.complete(ASK)
    await llm.complete(ASK)
    assert [_way(r) for r in server.requests] == ["json_schema", "json_object", "json_schema"]


@pytest.mark.parametrize(
    "options",
    [{"structured": "schema"}, {"extra_body": {"response_format": {"type": "json_schema"}}}],
    ids=["a way that was chosen", "a body that was chosen"],
)
async def test_who_chooses_the_way_gets_the_error(options: dict[str, Any], picky: Picky):
    """Nothing is tried where the user has said what is sent."""
    with pytest.raises(ModelFormatRefused):
        await OpenAILLM("m", base_url=picky.url, **options).complete(ASK)
    assert len(picky.requests) == 1


async def test_free_text_is_asked_once(picky: Picky):
    """A request without a format has no other way."""
    picky.refused = frozenset({None})
    with pytest.raises(ModelFormatRefused):
        await OpenAILLM("m", base_url=picky.url).complete(Request("n", ASK.messages))
    assert len(picky.requests) == 1


async def test_a_refusal_is_on_record(picky: Picky):
    """The node's run keeps each refusal as an attempt, tells listeners, and validates the reply."""
    llm = OpenAILLM("m", base_url=picky.url)
    agent = Agent(SPEC, llm=llm, state_storage=InMemoryStateStorage())
    events = [event async for event in agent.stream("?")]
    assert next(e for e in events if e.kind == "turn_ended").output == {"city": "Oslo"}
    told = [event.text for event in events if event.kind == "attempt"]
    assert [text.partition(":")[0] for text in told] == ["ModelFormatRefused"] * 2
    assert "asked again in JSON mode" in told[0]


async def test_a_reply_to_the_prompt_alone_is_validated(picky: Picky):
    """What the server does not guarantee the node's own check does: the model is corrected once."""
    texts = itertools.chain(['{"town": 1}'], itertools.repeat(OSLO))
    picky.__class__ = type("Erring", (Picky,), {"text": property(lambda _: next(texts))})
    llm = OpenAILLM("m", base_url=picky.url)
    result = await Agent(SPEC, llm=llm, state_storage=InMemoryStateStorage()).step("?")
    assert result.output == {"city": "Oslo"}
    assert picky.ways == ["json_schema", "json_object", None, None]


@given(st.text(), st.integers(100, 599))
def test_words_that_name_no_way_are_no_refusal(said: str, status: int):
    """Only an answer that names a way of asking for JSON can refuse it."""
    assert not refuses_way(status, said) or "json" in said.lower() or "format" in said.lower()


def test_the_ways():
    """A strict schema promises most, and every server understands words."""
    assert WAYS == ("schema", "json", "prompt")
