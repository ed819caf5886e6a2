"""A server of written answers, and the local model, for the tests that ask for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from wire_server import WireServer

from liman_nb.errors import SetupError
from liman_nb.models import openai_chat
from liman_nb.models.json_ways import KnownWays
from liman_nb.models.local import LocalLLM
from liman_nb.models.openai_chat import OpenAILLM


@pytest.fixture
def server() -> Iterator[WireServer]:
    """A server without answers yet."""
    with WireServer() as started:
        yield started


@pytest.fixture
def llm(server: WireServer) -> OpenAILLM:
    """A model on that server, with a key that no message may show."""
    return OpenAILLM("m", base_url=server.url, api_key="sk-canary-0123456789", timeout=5)


@pytest.fixture(autouse=True)
def _no_keys_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests see none of the environment variables that choose a model."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "LIMAN_NB_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _no_known_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test's server may have the address of another test's."""
    monkeypatch.setattr(openai_chat, "KNOWN_WAYS", KnownWays())


@pytest.fixture
def local_model() -> Iterator[LocalLLM]:
    """The local model for real. Without it a test fails, and says what to run."""
    try:
        llm = LocalLLM()
    except SetupError as error:
        pytest.fail(str(error))
    yield llm
    llm.close()
