"""The command in this process, and a model for it to talk to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chat_server import ChatServer
from commands_run import Done

from liman_nb.cli import main

MODEL_VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "LIMAN_NB_MODEL")


@pytest.fixture
def examples() -> Path:
    """The example specs."""
    return Path(__file__).parents[2] / "specs"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has a folder of its own, no model, and leaves no module behind."""
    for name in MODEL_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LIMAN_NB_MODEL_DIR", str(tmp_path / "no models"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run a command in this process."""

    def run_here(*arguments: object) -> Done:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(int(ended.value.code or 0), out, err)

    return run_here


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A model at the OpenAI API's address, as the environment says."""
    with ChatServer(lambda body: "Hello.") as serving:
        monkeypatch.setenv("OPENAI_BASE_URL", serving.url)
        monkeypatch.setenv("OPENAI_API_KEY", "key-canary")
        yield serving
