"""The local model without running it: what it needs, and what it would send."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from liman_nb.errors import SetupError
from liman_nb.models import local
from liman_nb.models.llm import Request
from liman_nb.models.local import LocalLLM, default_threads

USER = {"role": "user", "content": "?"}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with the runtime and something in place of a model file."""
    monkeypatch.setattr(local, "local_runtime_installed", lambda: True)
    path = tmp_path / "some-model.gguf"
    path.write_bytes(b"GGUF")
    return path


def test_no_runtime(monkeypatch: pytest.MonkeyPatch):
    """Without the runtime, both commands are named."""
    monkeypatch.setattr(local, "local_runtime_installed", lambda: False)
    with pytest.raises(SetupError) as caught:
        LocalLLM()
    assert str(caught.value) == (
        'the local model needs its runtime: run `pip install "liman_nb[local]"`, then'
        " `liman-nb model fetch`"
    )


def test_no_file(model: Path, monkeypatch: pytest.MonkeyPatch):
    """Without the file, the one command."""
    monkeypatch.setenv("LIMAN_NB_MODEL_DIR", str(model.parent / "none"))
    with pytest.raises(SetupError, match=r"there is no model file .*; run `liman-nb model fetch`$"):
        LocalLLM()
    with pytest.raises(SetupError, match=r"there is no model file .*none\.gguf$"):
        LocalLLM(model.parent / "none.gguf")


def test_a_file_of_your_own(model: Path):
    """Another file gives the model its name; nothing is started yet."""
    assert repr(LocalLLM(model)) == "LocalLLM(some-model, not running)"


def test_what_is_sent(model: Path):
    """Replies are deterministic and bounded by default; the node's model is left out."""
    sent = LocalLLM(model).body(Request("n", [USER], model="gpt-4o"))
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("some-model", 0.0, 512)
    assert (sent["seed"], sent["dry_multiplier"]) == (0, 0.8)


def test_a_schema_is_sent_bounded(model: Path):
    """A schema has bounds where it has none, and the penalty that does not spoil JSON."""
    open_ended = {"type": "array", "items": {"type": "string"}}
    wanted = {"name": "r", "schema": open_ended}
    sent = LocalLLM(model).body(Request("n", [USER], response_format=wanted))
    bounded = {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 5}
    assert sent["response_format"]["json_schema"]["schema"] == bounded
    assert "dry_multiplier" not in sent
    assert sent["frequency_penalty"] == 0.6
    assert "maxItems" not in open_ended


def test_options(model: Path):
    """The options reach the body; a node's own win."""
    llm = LocalLLM(model, max_tokens=7, temperature=0.5, seed=3)
    sent = llm.body(Request("n", [USER]))
    assert (sent["max_tokens"], sent["temperature"], sent["seed"]) == (7, 0.5, 3)
    assert llm.body(Request("n", [USER], max_tokens=9))["max_tokens"] == 9


@pytest.mark.parametrize(("cpus", "threads"), [(1, 1), (2, 1), (3, 1), (8, 4)])
def test_default_threads(cpus: int, threads: int, monkeypatch: pytest.MonkeyPatch):
    """Half of the CPUs that this process may use, whichever way Python tells their number."""
    monkeypatch.setattr(os, "process_cpu_count", lambda: cpus, raising=False)
    assert default_threads() == threads
    monkeypatch.delattr(os, "process_cpu_count")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)), raising=False)
    assert default_threads() == threads
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: cpus)
    assert default_threads() == threads
