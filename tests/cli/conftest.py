"""The command in this process and in processes of its own, and a model for it to talk to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from chat_server import ChatServer

from liman_nb.cli import main

MODEL_VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "LIMAN_NB_MODEL")


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    status: int
    out: str
    err: str


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


COMMAND = """
import signal
from liman_nb.cli import main

# A test run in the background ignores SIGINT, and its children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


def start(*arguments: object, **environment: str) -> subprocess.Popen[bytes]:
    """Start a command in a process of its own, where every warning is an error."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )


def run_in_process(*arguments: object, **environment: str) -> Done:
    """Run a command in a process of its own to its end."""
    with start(*arguments, **environment) as process:
        out, err = process.communicate(timeout=60)
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    return Done(process.returncode, out.decode(encoding), err.decode(encoding))
