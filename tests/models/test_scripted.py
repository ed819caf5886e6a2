"""A scripted model answers from its script, in order, and says when it is at its end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from liman_nb.errors import ModelRateLimited, ModelUnavailable, ScriptExhausted, UsageError
from liman_nb.models.llm import LLM, Reply, Request, ToolCall, Usage
from liman_nb.models.scripted import ScriptedLLM
from liman_nb.models.written import call


def ask(node: str = "n", text: str = "?") -> Request:
    """A request of a node."""
    return Request(node, [{"role": "user", "content": text}])


async def only_reply(item: object) -> Reply:
    """The reply of a script with one entry."""
    return await ScriptedLLM([item]).complete(ask())


async def test_text():
    """Text is the reply's text; no tokens are claimed."""
    assert await only_reply("Hello") == Reply("Hello", model="scripted", usage=Usage())


async def test_a_dictionary():
    """A dictionary becomes JSON text, as yields arrive from a real model."""
    assert (await only_reply({"ok": True, "by": "Åse"})).text == '{"ok": true, "by": "Åse"}'


async def test_one_call():
    """A call has no text beside it."""
    reply = await only_reply(call("get_weather", city="Oslo"))
    assert reply.text is None
    assert reply.tool_calls == (ToolCall("call_1_1", "get_weather", '{"city": "Oslo"}'),)


async def test_calls_with_text():
    """A list holds calls, with text between them if need be."""
    reply = await only_reply(["Let me look.", call("now"), call("get_weather", city="Lima")])
    assert reply.text == "Let me look."
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [
        ("call_1_1", "now", ""),
        ("call_1_2", "get_weather", '{"city": "Lima"}'),
    ]


async def test_a_broken_call():
    """A call can be written as a model would botch it; an id of its own stays."""
    botched = ToolCall("mine", "get_weather", '{"city": ')
    assert (await only_reply(botched)).tool_calls == (botched,)


async def test_a_reply():
    """A reply is given as it is."""
    reply = Reply("Hi", usage=Usage(3, 1), model="m")
    assert await only_reply(reply) == reply


@pytest.mark.parametrize("item", [ModelUnavailable, ModelUnavailable("gone")])
async def test_an_exception(item: object):
    """An exception, or its class, is raised."""
    with pytest.raises(ModelUnavailable):
        await only_reply(item)


async def test_functions():
    """A function of the request, sync or async, returns what an entry may be, or raises."""

    def shout(request: Request) -> str:
        return request.messages[-1]["content"].upper()

    async def look(request: Request) -> list[ToolCall]:
        return [call("look", at=request.node)]

    def limited(request: Request) -> ModelRateLimited:
        return ModelRateLimited("slow down", 1.0)

    llm = ScriptedLLM([shout, look, limited])
    assert (await llm.complete(ask(text="quiet"))).text == "QUIET"
    assert (await llm.complete(ask())).tool_calls[0].arguments == '{"at": "n"}'
    with pytest.raises(ModelRateLimited, match="slow down"):
        await llm.complete(ask())


async def test_a_list_serves_every_node():
    """Without names, replies go to whoever asks next."""
    llm = ScriptedLLM(["one", "two"])
    assert [(await llm.complete(ask(node))).text for node in ("a", "b")] == ["one", "two"]


async def test_nodes_by_name():
    """With names, each node finds its own replies, in whatever order they ask."""
    llm = ScriptedLLM({"a": ["a1", "a2"], "b": ["b1"]})
    replies = [(await llm.complete(ask(node))).text for node in ("a", "b", "a")]
    assert replies == ["a1", "b1", "a2"]


async def test_ids_repeat_from_run_to_run():
    """Ids go by the reply's number in its script, so two runs give the same ones."""
    runs = []
    for order in (("a", "b", "a"), ("b", "a", "a")):
        llm = ScriptedLLM({"a": [call("f"), call("f")], "b": [call("g")]})
        replies = [(node, (await llm.complete(ask(node))).tool_calls[0].id) for node in order]
        runs.append(sorted(replies))
    assert runs[0] == runs[1] == [("a", "call_1_1"), ("a", "call_2_1"), ("b", "call_1_1")]


async def test_running_out():
    """The end of a script names the node, the number of replies and the question."""
    llm = ScriptedLLM({"triage": ["one"]})
    await llm.complete(ask("triage"))
    with pytest.raises(ScriptExhausted) as caught:
        await llm.complete(ask("triage", "And then?"))
    assert str(caught.value) == (
        "node 'triage' asked once more than the script has replies (1 in all); it was asked:"
        " And then?"
    )


async def test_a_node_without_a_script():
    """A node that is not in the script is told which ones are."""
    with pytest.raises(ScriptExhausted) as caught:
        await ScriptedLLM({"a": [], "b": []}).complete(ask("c"))
    assert str(caught.value) == "the script has no replies for node 'c', only for 'a', 'b'"


async def test_requests_are_kept():
    """Every request is remembered, also one that got no reply."""
    llm = ScriptedLLM(["one"])
    await llm.complete(ask(text="first"))
    with pytest.raises(ScriptExhausted):
        await llm.complete(ask(text="second"))
    assert [r.messages[0]["content"] for r in llm.requests] == ["first", "second"]


async def test_what_is_left():
    """What is left over at the end of a test is counted."""
    llm = ScriptedLLM({"a": ["1", "2"], "b": ["3"]})
    await llm.complete(ask("a"))
    assert llm.remaining == 2
    assert repr(llm) == "ScriptedLLM(2 replies left)"


@pytest.mark.parametrize("text", ["two words", " lead and trail ", "a\n\nb", "\n", ""])
async def test_streaming(text: str):
    """A streamed text arrives in words that make up the text."""
    words: list[str] = []
    reply = await ScriptedLLM([text]).complete(ask(), words.append)
    assert "".join(words) == reply.text == text


async def test_streaming_lets_others_run():
    """Between two words the loop is free, so that a view can show the first."""
    seen: list[str] = []
    words: list[str] = []

    async def watch() -> None:
        while len(words) < 3:
            seen.append("".join(words))
            await asyncio.sleep(0)

    llm = ScriptedLLM(["one two three"])
    await asyncio.gather(llm.complete(ask(), words.append), watch())
    assert "one" in seen


async def test_calls_are_not_streamed():
    """Only text is passed on."""
    words: list[str] = []
    await ScriptedLLM([call("f", x=1)]).complete(ask(), words.append)
    assert words == []


@dataclass
class Odd:
    """Something that is no reply."""


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (["fine", 3], r"script\[1\]: int is not a reply; write text, a dictionary"),
        ({"a": [None]}, r"a\[0\]: NoneType is not a reply"),
        ([[]], r"script\[0\]: list is not a reply"),
        ([["text", 3]], r"script\[0\]: list is not a reply"),
        ([{"at": Odd()}], r"script\[0\]: a written reply must be JSON-able"),
        ([{"at": float("nan")}], r"script\[0\]: a written reply must be JSON-able"),
        ("Hello", "a script is a list of replies, not str"),
        ({"a": "Hello"}, "a script for node 'a' is a list of replies, not str"),
    ],
)
def test_what_is_no_script(script: object, message: str):
    """What could never be a reply is refused when the script is written, with its place."""
    with pytest.raises(UsageError, match=message):
        ScriptedLLM(script)


async def test_a_function_that_returns_no_reply():
    """What a function returns is checked when it returns."""
    with pytest.raises(UsageError, match="int is not a reply"):
        await only_reply(lambda request: 3)


def test_it_is_a_model():
    """A scripted model is a model like any other."""
    assert isinstance(ScriptedLLM([]), LLM)
