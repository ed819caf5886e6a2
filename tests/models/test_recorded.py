"""A recorded run is replayed exactly, without the model, and says what it does not know."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liman_nb import Agent, InMemoryStateStorage, RecordedLLM, ScriptedLLM, call
from liman_nb.errors import ModelRejected, NotRecorded, TurnFailed, UsageError
from liman_nb.models.choose import as_llm
from liman_nb.models.llm import Reply, Request, ToolCall, ToolSchema, Usage
from liman_nb.models.recording import Recorded, append, essentials, key, read

SCHEMA = {"type": "object", "properties": {}}
ASK = Request("chat", [{"role": "user", "content": "Hello"}])
FULL = Request(
    "chat",
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Oslo?"}],
    [ToolSchema("weather", "The weather.", SCHEMA)],
    {"name": "report", "schema": SCHEMA},
    "m",
    0.5,
    9,
)
SPEC = """
kind: LLMNode
name: chat
prompts:
  system:
    en: "You serve the tenant {context.tenant}."
tools: [weather]
"""


def weather(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


class Model:
    """Answers with what it is given, in pieces; counts how often it is asked."""

    def __init__(self, *replies: Reply, pieces: list[str] | None = None) -> None:
        self.replies, self.pieces, self.asked = list(replies), pieces or [], 0

    async def complete(self, request: Request, on_token: Any = None) -> Reply:
        """The next reply."""
        self.asked += 1
        for piece in self.pieces if on_token else []:
            on_token(piece)
            await asyncio.sleep(0)
        return self.replies.pop(0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the recording is made, in a directory that does not exist yet."""
    return tmp_path / "runs" / "run.jsonl"


def content(path: Path) -> str:
    """What a file holds."""
    return path.read_text(encoding="utf-8")


text = st.text(max_size=20)
replies = st.builds(
    Reply,
    text=st.none() | text,
    tool_calls=st.lists(st.builds(ToolCall, text, text, text), max_size=3).map(tuple),
    usage=st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6)),
    model=text,
    refusals=st.lists(text, max_size=2).map(tuple),
)
any_text = st.text(st.characters(), max_size=20)


@given(st.lists(st.tuples(replies, st.none() | st.lists(any_text).map(tuple)), max_size=4))
def test_lines_read_back_equal(told: list[tuple[Reply, Any]]):
    """Whatever a model replies, the file gives back equal, in order."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "run.jsonl")
        written = [Recorded(essentials(FULL), reply, pieces) for reply, pieces in told]
        for recorded in written:
            append(path, recorded)
        found = read(path)
        assert [one.reply for one in found] == [one.reply for one in written]
        assert [one.pieces for one in found] == [w.pieces for w in written]
        assert all(key(one.request) == key(essentials(FULL)) for one in found)


async def test_a_run_of_an_agent(path: Path):
    """A run with tools is replayed by the file alone: the same session, usage included."""
    script = ScriptedLLM([call("weather", city="Oslo"), "Rain.", "Bye."])

    async def run(llm: Any) -> list[Any]:
        storage = InMemoryStateStorage()
        agent = Agent(SPEC, llm=llm, tools=[weather], state_storage=storage, name="a")
        results = [await agent.step(said, context={"tenant": "T-77-canary"}) for said in "ab"]
        said = [message["content"] for message in agent.messages("chat")]
        return [*((result.output, result.usage) for result in results), said]

    recorded = await run(RecordedLLM(path, script))
    assert await run(f"recorded:{path}") == recorded
    assert recorded[-1] == ["a", None, "rain in Oslo", "Rain.", "b", "Bye."]
    written = content(path)
    assert "T-77-canary" not in written
    assert len(written.splitlines()) == 3


async def test_the_file_is_for_readers(path: Path):
    """A line says what was asked and what was said; of a system prompt there is no word."""
    await RecordedLLM(path, ScriptedLLM(["Rëgen."])).complete(FULL)
    written = content(path)
    assert '"asked": "Oslo?"' in written
    assert '"text": "Rëgen."' in written
    assert "brief" not in written
    line = json.loads(written)
    assert [m.partition(" ")[0] for m in line["request"]["messages"]] == ["system", "user"]


async def test_the_same_run_makes_the_same_file(path: Path, tmp_path: Path):
    """A recording holds no times and nothing random."""
    for file in (path, tmp_path / "again.jsonl"):
        await RecordedLLM(file, ScriptedLLM([call("weather", city="Oslo")])).complete(FULL)
    assert content(path) == content(tmp_path / "again.jsonl")


async def test_pieces(path: Path):
    """Pieces of a stream come again as they came, or as one piece if nobody had listened."""
    pieces = ["Hel", "", "lo"]
    llm = RecordedLLM(path, Model(Reply("Hello"), Reply("Bye"), pieces=pieces))
    other = replace(ASK, node="bye")
    heard: list[str] = []
    await llm.complete(ASK, heard.append)
    await llm.complete(other)
    replayed: list[str] = []
    again = RecordedLLM(path)
    assert await again.complete(ASK, replayed.append) == Reply("Hello")
    assert heard == replayed == pieces
    await again.complete(other, replayed.append)
    assert replayed[3:] == ["Bye"]
    assert await RecordedLLM(path).complete(ASK) == Reply("Hello")


async def test_equal_requests_in_order(path: Path):
    """Equal requests get their replies in the recorded order, each once."""
    llm = RecordedLLM(path, ScriptedLLM(["one", "two"]))
    for _ in range(2):
        await llm.complete(ASK)
    again = RecordedLLM(path)
    assert [(await again.complete(ASK)).text for _ in range(2)] == ["one", "two"]
    assert again.remaining == 0
    with pytest.raises(NotRecorded, match=r"asked once more than recorded \(2 in all\)"):
        await again.complete(ASK)
    assert (await RecordedLLM(path).complete(ASK)).text == "one"


async def test_many_at_once(path: Path):
    """Requests side by side are all recorded whole, and replayed each by its own reply."""
    asked = [replace(ASK, node=f"n{i % 10}") for i in range(40)]
    llm = RecordedLLM(path, as_llm(lambda request: request.node * 500))
    await asyncio.gather(*map(llm.complete, asked))
    again = RecordedLLM(path)
    found = await asyncio.gather(*map(again.complete, asked))
    assert [reply.text for reply in found] == [request.node * 500 for request in asked]
    assert again.remaining == 0


async def test_auto_records_what_it_does_not_know(path: Path):
    """Known requests are replayed, others asked and added."""
    await RecordedLLM(path, ScriptedLLM(["one"])).complete(ASK)
    model = Model(Reply("two"))
    llm = RecordedLLM(path, model)
    assert (await llm.complete(ASK)).text == "one"
    assert (model.asked, (await llm.complete(FULL)).text) == (0, "two")
    assert len(read(path)) == 2


async def test_record_replaces_the_recording(path: Path):
    """All is asked, and the old file stays until the first new reply."""
    await RecordedLLM(path, ScriptedLLM(["old"])).complete(ASK)
    llm = RecordedLLM(path, ScriptedLLM(["new", "newer"]), mode="record")
    assert read(path)[0].reply.text == "old"
    for _ in range(2):
        await llm.complete(ASK)
    assert [one.reply.text for one in read(path)] == ["new", "newer"]


async def test_replay_never_asks(path: Path):
    """In replay the model is not asked, even if there is one."""
    await RecordedLLM(path, ScriptedLLM(["one"])).complete(ASK)
    model = Model()
    with pytest.raises(NotRecorded):
        await RecordedLLM(path, model, mode="replay").complete(FULL)
    assert model.asked == 0


async def test_a_failed_call_is_not_recorded(path: Path):
    """An error passes through, and the next attempt is what is recorded."""
    llm = RecordedLLM(path, ScriptedLLM([ModelRejected("no"), "yes"]))
    with pytest.raises(ModelRejected):
        await llm.complete(ASK)
    await llm.complete(ASK)
    assert [one.reply.text for one in read(path)] == ["yes"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"node": "other"}, "node was 'chat' and is 'other'"),
        ({"model": "n"}, "model was 'm' and is 'n'"),
        ({"temperature": None}, "temperature was 0.5 and is None"),
        ({"max_tokens": 8}, "max_tokens was 9 and is 8"),
        ({"tools": ()}, "tools were weather and are none"),
        (
            {"tools": [ToolSchema("weather", "Else.", SCHEMA)]},
            "the description of weather has changed",
        ),
        ({"response_format": None}, "the node's yields have changed"),
        (
            {"messages": [FULL.messages[0], {"role": "user", "content": "Lima?"}]},
            'message 2 (user) has other content; the last one was "Oslo?" and is "Lima?"',
        ),
        (
            {"messages": [{"role": "system", "content": "Be long."}, FULL.messages[1]]},
            "message 1 (system) has other content; record",
        ),
        ({"messages": FULL.messages[1:]}, "message 1 (system, now user) has other content"),
        ({"messages": FULL.messages[1:]}, "there were 2 messages and are 1"),
    ],
)
async def test_what_is_not_recorded(changed: dict[str, Any], said: str, path: Path):
    """The error names the file, the node and what differs from the nearest recorded request."""
    llm = RecordedLLM(path, ScriptedLLM(["far", "near"]))
    await llm.complete(Request("far", [{"role": "user", "content": "?"}] * 3))
    await llm.complete(FULL)
    with pytest.raises(NotRecorded) as caught:
        await RecordedLLM(path).complete(replace(FULL, **changed))
    assert str(caught.value).startswith(f"{path} has no reply left for this request of node ")
    assert "compared with reply 2, " in str(caught.value)
    assert said in str(caught.value)


@given(st.sampled_from(["node", "model", "messages", "tools", "response_format", "max_tokens"]))
def test_every_part_counts(part: str):
    """Requests that differ in any part have different keys; a temperature of 0 is one of 0.0."""
    changed = replace(FULL, **{part: "x" if part == "node" else getattr(ASK, part)})
    assert key(essentials(changed)) != key(essentials(FULL))
    zero, whole = replace(FULL, temperature=0.0), replace(FULL, temperature=0)
    assert key(essentials(zero)) == key(essentials(whole)) != key(essentials(FULL))


async def test_in_an_agent_the_error_names_the_difference(path: Path):
    """A changed prompt makes the turn fail with what changed."""
    await RecordedLLM(path, ScriptedLLM(["hi"])).complete(ASK)
    agent = Agent(
        SPEC, llm=f"recorded:{path}", tools=[weather], state_storage=InMemoryStateStorage()
    )
    with pytest.raises(TurnFailed, match=r"NotRecorded: .* tools were none and are weather"):
        await agent.step("Hello", context={"tenant": "t"})


# ── files and arguments ──────────────────────────────────────────────────────────────────────────


async def test_a_line_that_was_cut_off(path: Path):
    """After a kill in the middle of a line the recording goes on with the whole ones."""
    llm = RecordedLLM(path, ScriptedLLM(["one", "two"]))
    await llm.complete(ASK)
    with path.open("ab") as file:
        file.write(b'{"request": {"no')
    assert RecordedLLM(path).remaining == 1
    await llm.complete(ASK)
    assert [one.reply.text for one in read(path)] == ["one", "two"]


@pytest.mark.parametrize("line", ["nonsense", "{}", "[]", '{"request": {}, "reply": {}}'])
def test_a_file_that_is_no_recording(line: str, tmp_path: Path):
    """Another file is refused with the place, and is not changed."""
    path = tmp_path / "other.jsonl"
    path.write_text(f"\n{line}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"other\.jsonl:2 is not a line of a recording"):
        RecordedLLM(path)


def test_a_recording_that_is_not_there(path: Path):
    """Without a model there must be a recording."""
    for make in (lambda: RecordedLLM(path), lambda: as_llm(f"recorded:{path}")):
        with pytest.raises(UsageError, match="there is no recording"):
            make()


def test_wrong_arguments(path: Path):
    """A wrong mode, no model to record, or no LLM object is refused at once."""
    with pytest.raises(UsageError, match="mode is one of auto, record, replay, not 'both'"):
        RecordedLLM(path, ScriptedLLM([]), mode="both")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="there is nothing to record"):
        RecordedLLM(path, mode="record")
    for wrong in ("gpt-4o-mini", ScriptedLLM, len):
        with pytest.raises(UsageError, match="RecordedLLM records an LLM object"):
            RecordedLLM(path, wrong)  # type: ignore[arg-type]


def test_repr(path: Path):
    """The repr says the file, what is left, and the model that may be asked."""
    llm = RecordedLLM(path, ScriptedLLM([]))
    assert repr(llm) == f"RecordedLLM({str(path)!r}, 0 replies left, ScriptedLLM(0 replies left))"
