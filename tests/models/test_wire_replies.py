"""Every shape of reply, whole and streamed, through a real server."""

from __future__ import annotations

import pytest
from reply_shapes import SHAPES, Shape
from wire_server import WireServer, stream, whole

from liman_nb.errors import ModelError
from liman_nb.models.llm import Reply, Request
from liman_nb.models.openai_chat import OpenAILLM

ASK = Request("n", [{"role": "user", "content": "?"}])
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)


async def outcome(llm: OpenAILLM, tokens: list[str] | None = None) -> Reply | type[ModelError]:
    """The reply, or the class of the error."""
    try:
        return await llm.complete(ASK, None if tokens is None else tokens.append)
    except ModelError as error:
        return type(error)


@every_shape
async def test_a_whole_reply(shape: Shape, server: WireServer, llm: OpenAILLM):
    """A whole reply means what its server meant."""
    server.answer(whole(shape.whole))
    assert await outcome(llm) == shape.means


@every_shape
@pytest.mark.parametrize("piece", [1, 7, 100_000])
async def test_a_streamed_reply(shape: Shape, piece: int, server: WireServer, llm: OpenAILLM):
    """The stream of the same reply means the same, wherever its bytes are cut."""
    server.answer(stream(shape.chunks, piece=piece))
    tokens: list[str] = []
    assert await outcome(llm, tokens) == shape.means
    if isinstance(shape.means, Reply):
        assert "".join(tokens) == (shape.means.text or "")


async def test_events_that_end_with_carriage_returns(server: WireServer, llm: OpenAILLM):
    """A server may end its lines with CR LF."""
    server.answer(stream(SHAPES[0].chunks, piece=3, end="\r\n"))
    assert await outcome(llm, []) == SHAPES[0].means


async def test_a_stream_without_its_done_line(server: WireServer, llm: OpenAILLM):
    """The finish reason ends a reply; the line [DONE] may be missing."""
    server.answer(stream(SHAPES[0].chunks, done=False))
    assert await outcome(llm, []) == SHAPES[0].means


async def test_tokens_arrive_as_they_are_sent(server: WireServer, llm: OpenAILLM):
    """Each piece of text is passed on by itself, empty ones not at all."""
    server.answer(stream(SHAPES[0].chunks))
    tokens: list[str] = []
    await llm.complete(ASK, tokens.append)
    assert tokens == ["Hello", " there"]
