"""Real models are refused where they are forbidden, before anything leaves the process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from reply_shapes import SHAPES
from wire_server import WireServer, whole

from liman_nb import Agent, InMemoryStateStorage, RecordedLLM, ScriptedLLM
from liman_nb.errors import RealModelForbidden
from liman_nb.models.choose import as_llm
from liman_nb.models.llm import Request
from liman_nb.models.local import LocalLLM
from liman_nb.models.openai_chat import OpenAILLM
from liman_nb.testing import forbid_real_models

ASK = Request("n", [{"role": "user", "content": "?"}])
SPEC = "kind: LLMNode\nname: n\n"


async def test_the_wire_stays_silent(server: WireServer, llm: OpenAILLM):
    """Neither a request nor a body that is sent by hand arrives at the server."""
    server.answer(whole(SHAPES[0].whole))
    with forbid_real_models():
        with pytest.raises(RealModelForbidden, match=r"OpenAILLM\('m', .*\) is a real model"):
            await llm.complete(ASK)
        with pytest.raises(RealModelForbidden):
            await llm.send(llm.body(ASK))
    assert server.requests == []
    assert (await llm.complete(ASK)).text == "Hello there"


async def test_chat_models_of_langchain():
    """A chat model of LangChain is a real one, whatever it does."""
    llm = as_llm(FakeListChatModel(responses=["hi"]))
    with forbid_real_models(), pytest.raises(RealModelForbidden, match="FakeListChatModel"):
        await llm.complete(ASK)


async def test_the_local_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The local model starts no process."""
    monkeypatch.setattr("liman_nb.models.local.local_runtime_installed", lambda: True)
    (tmp_path / "m.gguf").write_bytes(b"")
    llm = LocalLLM(tmp_path / "m.gguf")
    with forbid_real_models(), pytest.raises(RealModelForbidden, match="LocalLLM"):
        await llm.complete(ASK)
    assert "not running" in repr(llm)


async def test_an_agent_says_so_before_it_stores_anything(server: WireServer, llm: OpenAILLM):
    """The turn does not begin."""
    agent = Agent(SPEC, llm=llm, state_storage=InMemoryStateStorage())
    with forbid_real_models(), pytest.raises(RealModelForbidden):
        await agent.step("?")
    assert list(agent.history()) == []


async def test_what_needs_no_network_works(tmp_path: Path):
    """Scripts, functions and recordings answer."""
    path = tmp_path / "run.jsonl"
    await RecordedLLM(path, ScriptedLLM(["hi"])).complete(ASK)
    models: list[Any] = [["hi"], lambda request: "hi", RecordedLLM(path), f"recorded:{path}"]
    with forbid_real_models():
        assert [(await as_llm(model).complete(ASK)).text for model in models] == ["hi"] * 4


async def test_a_recording_that_would_have_to_ask(tmp_path: Path, llm: OpenAILLM):
    """A request that is not recorded may not reach the model behind the recording."""
    with forbid_real_models(), pytest.raises(RealModelForbidden):
        await RecordedLLM(tmp_path / "run.jsonl", llm).complete(ASK)
    with forbid_real_models(), pytest.raises(RealModelForbidden):
        RecordedLLM(tmp_path / "run.jsonl", llm, mode="record").check_setup()


@pytest.mark.parametrize(
    ("value", "forbids"), [("1", True), ("yes", True), ("0", False), ("", False)]
)
async def test_the_environment_variable(
    value: str, forbids: bool, server: WireServer, llm: OpenAILLM, monkeypatch: pytest.MonkeyPatch
):
    """The variable does the same for a whole process, unless it is empty or 0."""
    monkeypatch.setenv("LIMAN_NB_NO_REAL_MODELS", value)
    server.answer(whole(SHAPES[0].whole))
    if forbids:
        with pytest.raises(RealModelForbidden, match="LIMAN_NB_NO_REAL_MODELS"):
            await llm.complete(ASK)
    assert len(server.requests) == 0
    if not forbids:
        await llm.complete(ASK)


@pytest.mark.parametrize("before", [None, "0", "1"])
def test_the_environment_is_as_before(before: str | None, monkeypatch: pytest.MonkeyPatch):
    """Afterwards the variable is what it was, also after an error and inside another block."""
    monkeypatch.delenv("LIMAN_NB_NO_REAL_MODELS", raising=False)
    if before is not None:
        monkeypatch.setenv("LIMAN_NB_NO_REAL_MODELS", before)
    with pytest.raises(ZeroDivisionError), forbid_real_models(), forbid_real_models():
        raise ZeroDivisionError
    assert os.environ.get("LIMAN_NB_NO_REAL_MODELS") == before
