"""What arrives at the server is what `body` says, and nothing that it should not see."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from reply_shapes import SHAPES
from wire_server import WireServer, stream, whole

import liman_nb
from liman_nb.errors import SetupError, UsageError
from liman_nb.models.llm import Reply, Request, ToolSchema
from liman_nb.models.openai_chat import OpenAILLM

TEXT = SHAPES[0]
ASK = Request("n", [{"role": "user", "content": "?"}])
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FULL = Request(
    node="n",
    messages=[
        {"role": "system", "content": "Be brief. ☂"},
        {"role": "user", "content": "Oslo?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "w", "arguments": ""}}
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "rain"},
    ],
    tools=[ToolSchema("w", "The weather.", CITY)],
    response_format={"name": "report", "schema": CITY},
    model="other",
    temperature=0.0,
    max_tokens=50,
)


@pytest.mark.parametrize("request_", [ASK, FULL], ids=["smallest", "fullest"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_body_is_what_is_sent(request_: Request, streamed: bool, server: WireServer):
    """`body` is equal to the JSON that the server receives."""
    llm = OpenAILLM("m", base_url=server.url, extra_body={"seed": 7, "top_k": 3}, max_tokens=9)
    server.answer(stream(TEXT.chunks) if streamed else whole(TEXT.whole))
    await llm.complete(request_, [].append if streamed else None)
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].body == llm.body(request_, stream=streamed)


async def test_headers(server: WireServer):
    """The key goes into the header of the protocol, beside the headers that were passed."""
    llm = OpenAILLM("m", base_url=server.url, api_key="sk-1", headers={"X-Team": "blue"})
    server.answer(whole(TEXT.whole))
    await llm.complete(ASK)
    sent = server.requests[0].headers
    assert (sent["authorization"], sent["x-team"]) == ("Bearer sk-1", "blue")


async def test_a_server_without_a_key(server: WireServer):
    """A server of one's own is asked without a key."""
    server.answer(whole(TEXT.whole))
    assert (await OpenAILLM("m", base_url=server.url).complete(ASK)).text == "Hello there"


async def test_the_key_of_the_environment(server: WireServer, monkeypatch: pytest.MonkeyPatch):
    """Address and key may come from the environment, as they do for the client itself."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    server.answer(whole(TEXT.whole))
    await OpenAILLM("m").complete(ASK)
    assert server.requests[0].headers["authorization"] == "Bearer sk-env"


async def test_openai_without_a_key():
    """OpenAI's own server is not asked without a key; the message says where to put one."""
    with pytest.raises(SetupError, match="set the environment variable OPENAI_API_KEY"):
        await OpenAILLM("gpt-4o-mini").complete(ASK)


def test_a_wrong_address():
    """An address that is none is refused at once."""
    with pytest.raises(UsageError, match="must begin with http:// or https://: 'localhost:80'"):
        OpenAILLM("m", base_url="localhost:80")


def test_repr():
    """The repr shows model and address, neither the key nor what the address carries."""
    llm = OpenAILLM("m", base_url="https://me:pw@h.example:8080/v1?key=k", api_key="sk-canary")
    assert repr(llm) == "OpenAILLM('m', base_url='https://h.example:8080/v1')"
    assert "canary" not in str(vars(llm)["settings"])


# ── event loops ──────────────────────────────────────────────────────────────────────────────────


def test_one_object_on_loops_one_after_another(server: WireServer, llm: OpenAILLM):
    """Each `asyncio.run` has connections of its own, closed when it ends."""
    server.answer(whole(TEXT.whole))
    replies = [asyncio.run(llm.complete(ASK)) for _ in range(3)]
    assert replies == [TEXT.means] * 3


def test_one_object_on_loops_side_by_side(server: WireServer, llm: OpenAILLM):
    """Loops in several threads use one object at the same time."""
    server.answer(whole(TEXT.whole))
    replies: list[Reply] = []

    async def ask_twice() -> None:
        replies.extend(await asyncio.gather(llm.complete(ASK), llm.complete(ASK)))

    threads = [threading.Thread(target=asyncio.run, args=(ask_twice(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == [TEXT.means] * 6


async def test_closing(server: WireServer, llm: OpenAILLM):
    """A closed object opens new connections when it is used again."""
    server.answer(whole(TEXT.whole))
    for _ in range(2):
        assert await llm.complete(ASK) == TEXT.means
        await llm.aclose()
    await llm.aclose()


def test_imports_are_lazy():
    """Importing the models loads neither the client nor anything else that is heavy."""
    heavy = {"openai", "httpx", "pydantic", "rich", "xllamacpp"}
    code = f"import liman_nb.models, sys; print(sorted({heavy!r} & set(sys.modules)))"
    root = Path(liman_nb.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
