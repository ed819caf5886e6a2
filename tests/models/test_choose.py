"""Which model is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from liman_nb.errors import SetupError, UsageError
from liman_nb.models import choose
from liman_nb.models.callables import CallableLLM
from liman_nb.models.choose import as_llm, default_llm
from liman_nb.models.llm import Request
from liman_nb.models.local import LocalLLM
from liman_nb.models.openai_chat import OpenAILLM
from liman_nb.models.recorded import RecordedLLM
from liman_nb.models.scripted import ScriptedLLM

ASK = Request("n", [])


def test_an_object():
    """A model is itself."""
    llm = ScriptedLLM([])
    assert as_llm(llm) is llm


def test_a_name():
    """Text is the name of an OpenAI model."""
    llm = as_llm("gpt-4o")
    assert isinstance(llm, OpenAILLM)
    assert llm.body(ASK)["model"] == "gpt-4o"


async def test_a_list():
    """A list is a script."""
    llm = as_llm(["Hello"])
    assert isinstance(llm, ScriptedLLM)
    assert (await llm.complete(ASK)).text == "Hello"


async def test_lists_by_node():
    """So is a dictionary of lists."""
    assert (await as_llm({"n": ["Hello"]}).complete(ASK)).text == "Hello"


async def test_a_function():
    """A function answers for itself."""
    llm = as_llm(lambda request: request.node)
    assert isinstance(llm, CallableLLM)
    assert (await llm.complete(ASK)).text == "n"


async def test_a_recording(tmp_path: Path):
    """A path after `recorded:` is replayed."""
    path = tmp_path / "run.jsonl"
    await RecordedLLM(path, as_llm(["Hello"])).complete(ASK)
    llm = as_llm(f"recorded:{path}")
    assert isinstance(llm, RecordedLLM)
    assert (await llm.complete(ASK)).text == "Hello"


def test_a_class():
    """A class in place of its instance is the most likely slip, and said to be one."""
    with pytest.raises(
        UsageError, match=r"llm is the class LocalLLM; pass an instance: LocalLLM\(…\)"
    ):
        as_llm(LocalLLM)


@pytest.mark.parametrize("model", [None, 3, "", b"gpt"])
def test_what_is_no_model(model: object):
    """Anything else is refused, with what would be accepted."""
    with pytest.raises(UsageError, match=f"llm cannot be {type(model).__name__}; pass the name of"):
        as_llm(model)


# ── without one ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def nothing_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without a model file; returns where it would be."""
    monkeypatch.setenv("LIMAN_NB_MODEL_DIR", str(tmp_path))
    return choose.model_path()


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "OPENAI_BASE_URL"])
def test_openai_first(variable: str, nothing_here: Path, monkeypatch: pytest.MonkeyPatch):
    """A key or an address in the environment means that server."""
    monkeypatch.setenv(variable, "http://localhost:1/v1")
    llm = default_llm()
    assert isinstance(llm, OpenAILLM)
    assert llm.body(ASK)["model"] == "gpt-4o-mini"


@pytest.mark.parametrize("variable", ["OPENAI_MODEL", "LIMAN_NB_MODEL"])
def test_the_name_of_the_model(variable: str, monkeypatch: pytest.MonkeyPatch):
    """The environment may name the model too."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv(variable, "gpt-9")
    assert default_llm().body(ASK)["model"] == "gpt-9"


def test_then_the_local_model(nothing_here: Path, monkeypatch: pytest.MonkeyPatch):
    """Without them, the local model when it is there."""
    nothing_here.write_bytes(b"GGUF")
    for module in ("choose", "local"):
        monkeypatch.setattr(f"liman_nb.models.{module}.local_runtime_installed", lambda: True)
    assert isinstance(default_llm(), LocalLLM)


@pytest.mark.parametrize("missing", ["file", "runtime"])
def test_then_a_sentence(missing: str, nothing_here: Path, monkeypatch: pytest.MonkeyPatch):
    """With neither, the error is what to run."""
    monkeypatch.setattr(choose, "local_runtime_installed", lambda: missing != "runtime")
    if missing == "runtime":
        nothing_here.write_bytes(b"GGUF")
    with pytest.raises(SetupError) as caught:
        default_llm()
    assert str(caught.value) == (
        "there is no language model here yet: set OPENAI_API_KEY, or get a small local one with"
        ' `pip install "liman_nb[local]"` and then `liman-nb model fetch`'
    )
