"""What goes wrong on the wire becomes a named error that says who, what and what next."""

from __future__ import annotations

import asyncio
import socket
import traceback
from email.utils import format_datetime

import pytest
from reply_shapes import SHAPES
from wire_server import Answer, WireServer, stream, whole

from liman_nb import errors
from liman_nb.errors import ModelError, ModelRateLimited, ModelReplyInvalid, ModelUnavailable
from liman_nb.models.llm import Request
from liman_nb.models.openai_chat import OpenAILLM

ASK = Request("n", [{"role": "user", "content": "?"}])
KEY = "sk-canary-0123456789"
TEXT = SHAPES[0]


def refusal(message: str, **more: object) -> dict[str, object]:
    """An error object as OpenAI writes it."""
    return {"error": {"message": message, "type": "t", "param": None, "code": None, **more}}


async def failure(llm: OpenAILLM, *, streamed: bool = False) -> ModelError:
    """The error of one request."""
    with pytest.raises(ModelError) as caught:
        await llm.complete(ASK, [].append if streamed else None)
    return caught.value


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("status", "named", "retryable"),
    [
        (400, errors.ModelRejected, False),
        (401, errors.ModelRejected, False),
        (403, errors.ModelRejected, False),
        (404, errors.ModelRejected, False),
        (408, errors.ModelUnavailable, True),
        (409, errors.ModelRejected, False),
        (413, errors.ModelRejected, False),
        (422, errors.ModelRejected, False),
        (429, errors.ModelRateLimited, True),
        (500, errors.ModelServerError, True),
        (503, errors.ModelServerError, True),
        (529, errors.ModelServerError, True),
    ],
)
async def test_http_statuses(
    status: int, named: type, retryable: bool, streamed: bool, server: WireServer, llm: OpenAILLM
):
    """A status is one named error, sent once, that names model, host, status and the reason."""
    server.answer(whole(refusal("the tides are wrong"), status))
    error = await failure(llm, streamed=streamed)
    assert (type(error), error.retryable) == (named, retryable)
    start = f"model 'm' at {server.host} answered HTTP {status}: the tides are wrong"
    assert str(error).startswith(start)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry_After": "7"}, 7),
        ({"Retry_After": "1.5"}, 1.5),
        ({"Retry_After": "-3"}, 0),
        ({"Retry_After": "nan"}, None),
        ({"Retry_After": "soon"}, None),
        ({"Retry_After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"Retry_After": "7", "retry_after_ms": "250"}, 0.25),
    ],
)
async def test_retry_after(headers: dict, seconds: float, server: WireServer, llm: OpenAILLM):
    """A rate limit carries the seconds that the server asks to wait, when it says them."""
    server.answer(whole(refusal("slow down"), 429, **headers))
    error = await failure(llm)
    assert isinstance(error, ModelRateLimited)
    assert error.retry_after == seconds


async def test_retry_after_a_date(server: WireServer, llm: OpenAILLM):
    """A date in the future is the seconds until then."""
    from datetime import UTC, datetime, timedelta

    then = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    server.answer(whole(refusal("slow down"), 429, Retry_After=then))
    error = await failure(llm)
    assert isinstance(error, ModelRateLimited)
    assert error.retry_after == pytest.approx(100, abs=10)


async def test_hints(server: WireServer, llm: OpenAILLM):
    """What the caller can look into is said."""
    server.answer(whole(refusal("no"), 401), whole(refusal("no"), 404))
    assert str(await failure(llm)).endswith("HTTP 401: no; check the API key")
    assert str(await failure(llm)).endswith("HTTP 404: no; check the model's name and base_url")


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_key_in_a_message(streamed: bool, server: WireServer, llm: OpenAILLM):
    """A server that repeats the key finds it in no message and in no traceback."""
    server.answer(whole(refusal(f"Incorrect API key provided: {KEY}"), 401))
    error = await failure(llm, streamed=streamed)
    shown = "".join(traceback.format_exception(error)) + repr(error)
    assert "Incorrect API key provided: ***" in shown
    assert KEY not in shown


async def test_a_key_in_a_reply(server: WireServer, llm: OpenAILLM):
    """Neither does one that repeats it in place of a reply."""
    server.answer(whole({"error": {"message": f"bad {KEY}"}}), whole({"odd": KEY}))
    for _ in range(2):
        error = await failure(llm)
        assert KEY not in "".join(traceback.format_exception(error))


async def test_long_messages_are_cut(server: WireServer, llm: OpenAILLM):
    """A server's words are quoted up to a few hundred characters, on one line."""
    server.answer(whole(refusal("long\n\nstory " * 10_000), 400))
    message = str(await failure(llm))
    assert len(message) < 500
    assert "\n" not in message


async def test_an_error_page(server: WireServer, llm: OpenAILLM):
    """A gateway that answers with a web page is a server error."""
    server.answer(Answer(b"<html>Bad Gateway</html>", 502, {"Content-Type": "text/html"}))
    error = await failure(llm)
    assert isinstance(error, errors.ModelServerError)
    assert "HTTP 502: <html>Bad Gateway</html>" in str(error)


@pytest.mark.parametrize(
    ("code", "named"),
    [
        (429, errors.ModelRateLimited),
        ("503", errors.ModelServerError),
        (400, errors.ModelRejected),
        ("overloaded", errors.ModelServerError),
        (None, errors.ModelServerError),
    ],
)
async def test_an_error_in_place_of_a_reply(
    code: object, named: type, server: WireServer, llm: OpenAILLM
):
    """An error object that comes with status 200, whole or as an event, goes by its own code."""
    body = refusal("out of luck", code=code)
    server.answer(whole(body), stream([*TEXT.chunks[:2], body]))
    for streamed in (False, True):
        error = await failure(llm, streamed=streamed)
        assert type(error) is named
        assert "out of luck" in str(error)


@pytest.mark.parametrize(
    "answer",
    [
        whole({"id": "c-1", "choices": []}),
        whole({"id": "c-1"}),
        whole({"choices": [None]}),
        whole({"choices": [{"finish_reason": "stop"}]}),
        whole([1, 2]),
        whole("text"),
        Answer(b"Hello!", 200, {"Content-Type": "text/plain"}),
        Answer(b'{"choices": [', 200, {"Content-Type": "application/json"}),
        Answer(b"", 200, {"Content-Type": "application/json"}),
    ],
    ids=lambda answer: answer.body.decode() or "nothing",
)
async def test_replies_that_are_none(answer: Answer, server: WireServer, llm: OpenAILLM):
    """What the protocol does not allow is an invalid reply, which names the model."""
    server.answer(answer)
    error = await failure(llm)
    assert isinstance(error, ModelReplyInvalid)
    assert f"model 'm' at {server.host}" in str(error)


@pytest.mark.parametrize("line", ["data: {oops", 'data: "text"', "data: [1]"])
async def test_streams_that_are_none(line: str, server: WireServer, llm: OpenAILLM):
    """A chunk that is no JSON object makes the reply invalid."""
    server.answer(stream([*TEXT.chunks[:2], line]))
    assert isinstance(await failure(llm, streamed=True), ModelReplyInvalid)


async def test_bytes_that_are_no_text(server: WireServer, llm: OpenAILLM):
    """Neither are bytes that are not UTF-8."""
    event = {"Content-Type": "text/event-stream"}
    server.answer(Answer(b'data: {"choices": [{"delta": {"content": "\xff"}}]}\n\n', 200, event))
    assert isinstance(await failure(llm, streamed=True), ModelReplyInvalid)


@pytest.mark.parametrize(
    "cut",
    [
        stream(TEXT.chunks[:2], piece=5, done=False, drop=True),
        stream(TEXT.chunks[:2], piece=5, done=False),
        stream([], done=True),
        stream([], done=False),
    ],
    ids=["dropped", "ended early", "only done", "nothing"],
)
async def test_a_stream_that_breaks(cut: Answer, server: WireServer, llm: OpenAILLM):
    """A reply that was not finished is an error that may pass, whatever has arrived of it."""
    server.answer(cut)
    error = await failure(llm, streamed=True)
    assert isinstance(error, ModelUnavailable)
    assert error.retryable


async def test_a_whole_reply_that_breaks(server: WireServer, llm: OpenAILLM):
    """A connection dropped in the middle of a body is an error that may pass."""
    server.answer(Answer(b'{"choices"', headers={"Content-Type": "application/json"}, drop=True))
    assert isinstance(await failure(llm), ModelUnavailable)


@pytest.mark.parametrize("streamed", [False, True])
async def test_silence(streamed: bool, server: WireServer):
    """A server that says nothing for `timeout` seconds is unavailable; the message says so."""
    server.answer(Answer(wait=0.6))
    error = await failure(OpenAILLM("m", base_url=server.url, timeout=0.1), streamed=streamed)
    assert isinstance(error, ModelUnavailable)
    assert f"model 'm' at {server.host} did not answer in time" in str(error)


async def test_nobody_listens():
    """A refused connection names the address and the reason."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = await failure(OpenAILLM("m", base_url=f"http://127.0.0.1:{port}/v1"))
    assert isinstance(error, ModelUnavailable)
    assert f"no connection to model 'm' at 127.0.0.1:{port}" in str(error)


async def test_a_reply_without_end(server: WireServer, llm: OpenAILLM, monkeypatch):
    """A stream that never stops is cut off."""
    monkeypatch.setattr("liman_nb.models.openai_stream.MAX_REPLY", 50)
    chunk = {"choices": [{"delta": {"content": "word " * 5}}]}
    server.answer(stream([chunk] * 100, piece=1000))
    error = await failure(llm, streamed=True)
    assert isinstance(error, ModelReplyInvalid)
    assert "longer than 50 characters" in str(error)


async def test_an_error_of_the_reader(server: WireServer, llm: OpenAILLM):
    """What `on_token` raises is its caller's own, and passes through."""

    def read(token: str) -> None:
        raise ValueError(token)

    server.answer(stream(TEXT.chunks))
    with pytest.raises(ValueError, match="Hello"):
        await llm.complete(ASK, read)


async def test_cancelling_a_stream(server: WireServer, llm: OpenAILLM):
    """A cancelled request closes its connection, so that the server can stop."""
    slow = {"choices": [{"delta": {"content": "word"}}]}
    server.answer(stream([slow] * 100_000, piece=4096))
    began = asyncio.Event()
    task = asyncio.create_task(llm.complete(ASK, lambda _: began.set()))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(server.dropped_by_client.wait, 10)
