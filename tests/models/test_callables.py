"""Plain functions as models, and sync work off the loop."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading

import pytest

from liman_nb.errors import UsageError
from liman_nb.models.callables import CallableLLM, in_thread
from liman_nb.models.llm import LLM, Reply, Request, ToolCall
from liman_nb.models.written import call

ASK = Request("n", [{"role": "user", "content": "hi"}])


async def test_a_sync_function():
    """A sync function runs outside of the loop's thread."""
    where: list[threading.Thread] = []

    def answer(request: Request) -> str:
        where.append(threading.current_thread())
        return request.messages[0]["content"].upper()

    assert await CallableLLM(answer).complete(ASK) == Reply("HI", model="answer")
    assert where[0] is not threading.main_thread()
    assert where[0].daemon


async def test_an_async_function():
    """An async function runs on the loop."""

    async def answer(request: Request) -> dict[str, str]:
        await asyncio.sleep(0)
        return {"thread": threading.current_thread().name}

    reply = await CallableLLM(answer).complete(ASK)
    assert reply.text == f'{{"thread": "{threading.current_thread().name}"}}'


class Answering:
    """An object with an async call."""

    async def __call__(self, request: Request) -> str:
        """Answer."""
        return "object"


async def _prefixed(prefix: str, request: Request) -> str:
    return prefix + request.node


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (Answering(), "object"),
        (functools.partial(_prefixed, "p-"), "p-n"),
        (lambda request: _prefixed("l-", request), "l-n"),
    ],
)
async def test_other_callables(function: object, text: str):
    """An object, a partial, and a sync function that returns a coroutine all work."""
    assert (await CallableLLM(function).complete(ASK)).text == text


async def test_calls():
    """A function may return tool calls."""
    reply = await CallableLLM(lambda request: [call("f", x=1)]).complete(ASK)
    assert reply.tool_calls == (ToolCall("call_0", "f", '{"x": 1}'),)


async def test_streaming():
    """The text is passed on in one piece."""
    tokens: list[str] = []
    await CallableLLM(lambda request: "a b c").complete(ASK, tokens.append)
    assert tokens == ["a b c"]


async def test_errors_pass_through():
    """What the function raises is raised."""

    def broken(request: Request) -> str:
        raise ZeroDivisionError("ratio")

    with pytest.raises(ZeroDivisionError, match="ratio"):
        await CallableLLM(broken).complete(ASK)


async def test_no_reply():
    """A result that is no reply is refused with what would be one."""
    with pytest.raises(UsageError, match=r"set is not a reply; write text, a dictionary, call"):
        await CallableLLM(lambda request: {1, 2}).complete(ASK)


def test_repr():
    """The repr names the function."""
    assert repr(CallableLLM(_prefixed)) == "CallableLLM(_prefixed)"
    assert repr(CallableLLM(Answering())) == "CallableLLM(Answering)"


def test_it_is_a_model():
    """A function as a model is a model like any other."""
    assert isinstance(CallableLLM(_prefixed), LLM)


# ── sync work ────────────────────────────────────────────────────────────────────────────────────


async def test_work_sees_context_variables():
    """Work in a thread sees the context variables of whoever asked."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("seen")
    assert await in_thread(variable.get) == "seen"


async def test_cancelling_does_not_wait():
    """Cancelling returns while the work goes on; its late result is dropped."""
    began, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        may_end.wait(10)
        ended.set()

    task = asyncio.create_task(in_thread(work))
    assert await asyncio.to_thread(began.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not ended.is_set()
    may_end.set()
    assert await asyncio.to_thread(ended.wait, 10)
    await asyncio.sleep(0.01)


async def test_stop_iteration():
    """An exception that a future cannot carry is carried as another one."""
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_thread(lambda: next(iter([])))


def test_a_loop_that_is_gone():
    """Work that outlives its loop ends quietly."""
    may_end, ended = threading.Event(), threading.Event()

    def work() -> None:
        may_end.wait(10)
        ended.set()

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(in_thread(work), 0.01)

    asyncio.run(give_up())
    may_end.set()
    assert ended.wait(10)
