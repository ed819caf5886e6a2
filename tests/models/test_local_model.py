"""The real local model: what it must do, however small it is."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import liman_nb
from liman_nb.errors import ModelRejected, ModelReplyTruncated, ModelUnavailable, SetupError
from liman_nb.models.llm import Reply, Request, ToolSchema
from liman_nb.models.local import LocalLLM

pytestmark = pytest.mark.model

ROOT = Path(liman_nb.__file__).parents[1]


def ask(*said: str, schema: dict[str, Any] | None = None, **more: Any) -> Request:
    """A request of alternating user and assistant messages."""
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(said)]
    wanted = None if schema is None else {"name": "reply", "schema": schema}
    return Request("n", messages, response_format=wanted, **more)


def fields(**properties: Any) -> dict[str, Any]:
    """A strict object schema."""
    strict = {"additionalProperties": False, "required": list(properties)}
    return {"type": "object", "properties": properties, **strict}


TEXT = {"type": "string"}
ANSWER = fields(answer=TEXT)
WEATHER = ToolSchema("get_weather", "Current weather of a city.", fields(city=TEXT))
CLOCK = ToolSchema("get_time", "Current time in a city.", fields(city=TEXT))


# ── what it says ─────────────────────────────────────────────────────────────────────────────────


async def test_arithmetic(local_model: LocalLLM):
    """It adds two and two, and the server counts the tokens."""
    reply = await local_model.complete(ask("What is 2 plus 2?"))
    assert "4" in reply.text
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 0
    assert reply.model == "SmolLM2-135M-Instruct"


async def test_the_same_each_time(local_model: LocalLLM):
    """The same question gets the same answer, whatever was asked in between, streamed or not."""
    request = ask("Tell me about dogs.", schema=ANSWER)
    first = await local_model.complete(request)
    await local_model.complete(ask("Is Oslo in Norway?"))
    tokens: list[str] = []
    again = await local_model.complete(request, tokens.append)
    assert again.text == first.text == "".join(tokens)
    assert len(tokens) > 5


async def test_the_same_each_time_in_the_middle_of_a_conversation(local_model: LocalLLM):
    """Nor does the answer depend on how much of the conversation the server has seen before."""
    request = ask("My name is Alice.", "Nice to meet you, Alice!", "What is my name?")
    await local_model.complete(ask("Is Oslo in Norway?"))
    texts = {(await local_model.complete(request)).text for _ in range(3)}
    assert len(texts) == 1


@pytest.mark.parametrize("name", ["Alice", "Bob", "Priya"])
async def test_it_remembers_a_name(local_model: LocalLLM, name: str):
    """What was said in an earlier turn is found again."""
    told = f"My name is {name}."
    greeting = await local_model.complete(ask(told, schema=ANSWER))
    asked = ask(told, greeting.text, "What is my name?", schema=ANSWER)
    assert name in json.loads((await local_model.complete(asked)).text)["answer"]


@pytest.mark.parametrize("said", ["I was charged twice.", "The app crashes.", "Tell me a story!"])
async def test_schemas_are_obeyed(local_model: LocalLLM, said: str):
    """Whatever is asked, the reply satisfies the schema, and ends although it leaves sizes open."""
    schema = fields(
        category={"type": "string", "enum": ["billing", "bug", "other"]},
        tags={"type": "array", "items": TEXT},
        summary={"type": ["string", "null"]},
        urgent={"type": "boolean"},
        steps={"type": "array", "items": fields(number={"type": "integer"}, text=TEXT)},
    )
    reply = await local_model.complete(ask(said, schema=schema, max_tokens=2000))
    jsonschema.validate(json.loads(reply.text), schema)


async def test_the_token_limit(local_model: LocalLLM):
    """A reply that is cut off is an error, not half an answer."""
    with pytest.raises(ModelReplyTruncated, match="stopped at its token limit after 5 tokens"):
        await local_model.complete(ask("Tell me about dogs.", max_tokens=5))


async def test_too_long_a_prompt(local_model: LocalLLM):
    """A prompt that does not fit into the context is refused with both numbers."""
    with pytest.raises(ModelRejected, match=r"HTTP 400: .*context"):
        await local_model.complete(ask("word " * 5000))


# ── tools ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("question", "tool", "city"),
    [
        ("What is the weather in Oslo?", "get_weather", "Oslo"),
        ("What time is it in Tokyo?", "get_time", "Tokyo"),
    ],
)
async def test_it_calls_a_tool(local_model: LocalLLM, question: str, tool: str, city: str):
    """A message that asks for a tool leads to its call, with arguments that fit its schema."""
    reply = await local_model.complete(ask(question, tools=[WEATHER, CLOCK]))
    (call,) = reply.tool_calls
    assert (call.name, json.loads(call.arguments)) == (tool, {"city": city})
    assert reply.text is None


async def test_it_words_a_result(local_model: LocalLLM):
    """A tool's result is put into words, not into another call."""
    call = {"id": "a", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "What time is it in Tokyo?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "23:10"},
    ]
    reply = await local_model.complete(Request("n", messages, tools=[WEATHER, CLOCK]))
    assert "23:10" in reply.text
    assert not reply.tool_calls


async def test_it_answers_without_a_tool(local_model: LocalLLM):
    """A greeting leads to no call."""
    reply = await local_model.complete(ask("Hello!", tools=[WEATHER, CLOCK]))
    assert reply.text
    assert not reply.tool_calls


# ── its process ──────────────────────────────────────────────────────────────────────────────────


def process_of(llm: LocalLLM) -> subprocess.Popen[bytes]:
    """The model's process."""
    return llm._server._child._process


def test_two_event_loops(local_model: LocalLLM):
    """One object answers on one loop after another, and on several at a time, by one process."""
    request = ask("What is 2 plus 2?")
    replies: list[Reply] = [asyncio.run(local_model.complete(request))]
    process = process_of(local_model)

    def on_a_loop_of_its_own() -> None:
        replies.append(asyncio.run(local_model.complete(request)))

    threads = [threading.Thread(target=on_a_loop_of_its_own) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({reply.text for reply in replies}) == 1
    assert len(replies) == 3
    assert process_of(local_model) is process


async def test_one_process_for_all(local_model: LocalLLM):
    """Objects with the same settings share a process, also when they start at the same time."""
    others = [LocalLLM() for _ in range(3)]
    await asyncio.gather(*(llm.complete(ask("Hi", max_tokens=300)) for llm in others))
    assert len({id(process_of(llm)) for llm in [local_model, *others]}) == 1


async def test_the_process_ends_with_its_last_user(local_model: LocalLLM):
    """When nothing refers to it any more, the process is gone."""
    other = LocalLLM(context_tokens=1024)
    await other.complete(ask("What is 2 plus 2?"))
    process = process_of(other)
    assert process.poll() is None
    del other
    assert process.poll() is not None


async def test_closing(local_model: LocalLLM):
    """A closed model ends its process, and starts another when it is asked again."""
    first = await local_model.complete(ask("What is 2 plus 2?"))
    process = process_of(local_model)
    local_model.close()
    assert process.poll() is not None
    assert repr(local_model) == "LocalLLM(SmolLM2-135M-Instruct, not running)"
    assert await local_model.complete(ask("What is 2 plus 2?")) == first
    assert repr(local_model) == "LocalLLM(SmolLM2-135M-Instruct, running)"


async def test_a_crash_between_requests(local_model: LocalLLM):
    """A process that died meanwhile is replaced by the next request, without an error."""
    first = await local_model.complete(ask("What is 2 plus 2?"))
    process_of(local_model).kill()
    process_of(local_model).wait()
    assert await local_model.complete(ask("What is 2 plus 2?")) == first


async def test_a_crash_in_the_middle(local_model: LocalLLM):
    """A process that dies in the middle is an error that may pass, and the next request works."""
    killed: list[str] = []

    def kill(token: str) -> None:
        if not killed:
            process_of(local_model).kill()
        killed.append(token)

    with pytest.raises(ModelUnavailable) as caught:
        await local_model.complete(ask("Tell me about dogs.", max_tokens=2000), kill)
    assert caught.value.retryable
    assert "process died in the middle of a request" in str(caught.value)
    assert f"exit code {process_of(local_model).poll()}" in str(caught.value)
    assert "4" in (await local_model.complete(ask("What is 2 plus 2?"))).text


async def test_a_file_that_is_no_model(tmp_path: Path):
    """A model that does not load is an error with the process's last words."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF but not really")
    llm = LocalLLM(broken)
    with pytest.raises(SetupError) as caught:
        await llm.complete(ask("Hello!"))
    message = str(caught.value)
    assert f"is {broken} a whole GGUF model file?" in message
    assert "exit code 1\n  " in message


async def test_nothing_is_printed(local_model: LocalLLM, capfd: pytest.CaptureFixture[str]):
    """Neither the process nor its death writes anything into the notebook."""
    await local_model.complete(ask("What is 2 plus 2?"))
    local_model.close()
    assert capfd.readouterr() == ("", "")


async def test_the_key_is_secret(local_model: LocalLLM):
    """The key stands neither on a command line nor in an environment nor in a repr."""
    await local_model.complete(ask("What is 2 plus 2?"))
    key = local_model._endpoint.key
    assert len(key) > 30
    proc = Path("/proc") / str(process_of(local_model).pid)
    for name in ("cmdline", "environ"):
        assert key.encode() not in (proc / name).read_bytes()
    assert key not in f"{local_model!r} {local_model._endpoint!r} {local_model._chat!r}"


PARENT = """
import asyncio, time
from liman_nb.models import LocalLLM, Request
llm = LocalLLM(context_tokens=512)
asyncio.run(llm.complete(Request("n", [{"role": "user", "content": "What is 2 plus 2?"}])))
print(llm._server._child._process.pid, flush=True)
"""


@pytest.mark.parametrize(
    ("rest", "end"),
    [
        ("time.sleep(60)", signal.SIGKILL),
        ("time.sleep(60)", signal.SIGTERM),
        ("time.sleep(60)", signal.SIGINT),
        ("", None),
        ("raise SystemExit(3)", None),
        ("import os; os._exit(3)", None),
    ],
    ids=["kill -9", "kill", "interrupt", "end", "exit", "at once"],
)
def test_it_ends_with_its_parent(rest: str, end: signal.Signals | None):
    """However the parent ends, the model's process is gone within seconds."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT + rest],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as parent:
        child = int(parent.stdout.readline())
        if end is not None:
            assert is_alive(child)
            parent.send_signal(end)
        parent.communicate()
    ended_by = time.monotonic() + 10
    while is_alive(child) and time.monotonic() < ended_by:
        time.sleep(0.05)
    assert not is_alive(child)


def is_alive(process: int) -> bool:
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


async def test_an_interrupt_spares_it(local_model: LocalLLM):
    """Interrupting a notebook, which reaches whole process groups, does not end the model."""
    await local_model.complete(ask("What is 2 plus 2?"))
    process = process_of(local_model)
    assert os.getpgid(process.pid) != os.getpgid(0)
    process.send_signal(signal.SIGINT)
    assert "4" in (await local_model.complete(ask("What is 2 plus 2?"))).text
    assert process_of(local_model) is process
