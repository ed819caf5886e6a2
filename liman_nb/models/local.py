"""`LocalLLM`: a small language model on this machine's CPU. No account, no key, no internet."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from liman_nb.errors import ModelUnavailable, SetupError
from liman_nb.models.bounded_schema import bounded_schema
from liman_nb.models.callables import in_thread
from liman_nb.models.forbidding import check_allowed
from liman_nb.models.llm import OnToken, Reply, Request, ToolCall
from liman_nb.models.local_process import Endpoint, LocalSettings, shared_server
from liman_nb.models.local_tools import (
    may_call_a_tool,
    which_arguments,
    which_tool,
    without_tools,
)
from liman_nb.models.model_file import SMOLLM2, model_path
from liman_nb.models.openai_body import ChatSettings, chat_body
from liman_nb.models.openai_chat import OpenAILLM

_DYING_SECONDS = 1.0

# Against a small model's habit to go on and on; fields of llama.cpp's server (its
# tools/server/README.md). In free text, DRY penalises sequences that repeat; unlike a penalty on
# single tokens it lets the model repeat a name that it was told. In a schema DRY spoils the JSON,
# where a penalty by frequency does not. A tool's result is to be repeated as it is.
_FREE_TEXT: Mapping[str, Any] = {"dry_multiplier": 0.8, "dry_base": 1.75, "dry_allowed_length": 2}
_IN_SCHEMA: Mapping[str, Any] = {"frequency_penalty": 0.6}


class LocalLLM:
    """A small instruct model that runs in a process of its own and needs nothing else.

    The process starts with the first request, is shared by all LocalLLM objects with the same
    settings, and ends with this one, however that ends. Requests are answered one after the other;
    at temperature 0 the same request gets the same answer on the same machine.

    The default model has 135 million parameters. It keeps to a node's `yields`, since its replies
    are forced into the schema, and calls tools, one at a time, in the same way (right in about four
    cases of five); it holds a simple conversation, knows little and reasons less. A larger model is
    any GGUF file that llama.cpp can run; one that was taught tools calls them by itself.

    Example:
        >>> llm = LocalLLM()                               # after `liman-nb model fetch`
        >>> llm = LocalLLM("qwen2.5-3b-instruct.gguf", context_tokens=8192)

    Args:
        model_path: a GGUF file; default: the one that `liman-nb model fetch` fetched.
        context_tokens: tokens of prompt and reply together.
        threads: CPU threads; default: see :func:`default_threads`.
        max_tokens: bound on a reply's tokens when the node names none.
        temperature: used when the node names none.
        seed: of the sampling, for temperatures above 0.
        timeout: seconds without a single byte, waiting for other requests included.

    Raises:
        SetupError: the runtime or the file is missing; the message is the command to run.
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str] | None = None,
        *,
        context_tokens: int = 4096,
        threads: int | None = None,
        max_tokens: int = 512,
        temperature: float = 0.0,
        seed: int = 0,
        timeout: float = 600.0,
    ) -> None:
        path, name = _file(model_path)
        process = LocalSettings(str(path), name, context_tokens, threads or default_threads())
        self.context_tokens = context_tokens
        self._server = shared_server(process)
        self._timeout = timeout
        self._settings = ChatSettings(
            model=name,
            temperature=temperature,
            max_tokens=max_tokens,
            extra_body={"seed": seed, "cache_prompt": False},
        )
        self._endpoint = Endpoint("http://127.0.0.1/v1", "")
        self._chat = self._client(self._endpoint)

    def __repr__(self) -> str:
        """The model and whether its process runs."""
        state = "running" if self._server.running_endpoint() else "not running"
        return f"LocalLLM({self._server.settings.name}, {state})"

    def body(self, request: Request, *, stream: bool = False) -> dict[str, Any]:
        """The exact JSON body that :meth:`complete` sends for a request.

        A schema is sent with bounds on its texts and arrays, and a node's `model` is left out:
        there is one model here, and specs written for another run unchanged. For a model that knows
        no tools, this is the body of the answer in words; see `local_tools.py` for the questions
        before it.
        """
        wanted = request.response_format
        if wanted is not None:
            wanted = {**wanted, "schema": bounded_schema(wanted["schema"])}
        known = request if self._endpoint.knows_tools else without_tools(request)
        prepared = replace(known, model=None, response_format=wanted)
        return chat_body(prepared, self._settings, stream=stream) | _penalties(request)

    def check_setup(self) -> None:
        """Whether it may be used, asked before a turn begins.

        Raises:
            RealModelForbidden: real models are forbidden; see `liman_nb.testing`.
        """
        check_allowed(self)

    async def complete(self, request: Request, on_token: OnToken | None = None) -> Reply:
        """Answer a request; see :class:`liman_nb.models.llm.LLM`.

        Raises:
            SetupError: the process does not start.
            ModelUnavailable: the process died meanwhile; the next call starts a new one.
            ModelError: see :meth:`liman_nb.models.openai_chat.OpenAILLM.complete`.
        """
        self.check_setup()
        await self._connect()
        try:
            return await self._answer(request, on_token)
        except ModelUnavailable as error:
            if not (ended := await in_thread(lambda: self._server.how_it_ended(_DYING_SECONDS))):
                raise
            raise ModelUnavailable(
                "the local model's process died in the middle of a request; ask again, which starts"
                f" a new one. It ended with {ended}"
            ) from error

    async def _answer(self, request: Request, on_token: OnToken | None) -> Reply:
        if self._endpoint.knows_tools or not may_call_a_tool(request):
            return await self._ask(request, on_token)
        choice = await self._ask(which_tool(request))
        chosen = json.loads(choice.text or "{}").get("function")
        tool = next((tool for tool in request.tools if tool.name == chosen), None)
        if tool is None:
            reply = await self._ask(request, on_token)
        else:
            written = await self._ask(which_arguments(request, tool))
            call = ToolCall("call_0", tool.name, written.text or "")
            reply = replace(written, text=None, tool_calls=(call,))
        return replace(reply, usage=choice.usage + reply.usage)

    async def _ask(self, request: Request, on_token: OnToken | None = None) -> Reply:
        return await self._chat.send(self.body(request, stream=on_token is not None), on_token)

    def close(self) -> None:
        """End the model's process, also for other objects that share it; a request restarts it."""
        self._server.close()

    async def aclose(self) -> None:
        """Close the running loop's connections and end the model's process."""
        await self._chat.aclose()
        await in_thread(self.close)

    async def _connect(self) -> None:
        """Find the server that runs now, or start one."""
        endpoint = self._server.running_endpoint()
        if endpoint is None:
            endpoint = await in_thread(self._server.endpoint)
        if endpoint != self._endpoint:
            await self._chat.aclose()
            self._endpoint, self._chat = endpoint, self._client(endpoint)

    def _client(self, endpoint: Endpoint) -> OpenAILLM:
        name, url, key = self._settings.model, endpoint.base_url, endpoint.key
        return OpenAILLM(name, base_url=url, api_key=key, timeout=self._timeout)


def local_runtime_installed() -> bool:
    """Whether the package that runs local models is installed; it is not imported."""
    return importlib.util.find_spec("xllamacpp") is not None


def default_threads() -> int:
    """Half of the CPUs that this process may use, at least 1.

    The threads of one computation wait for each other all the time; where they do not find a CPU
    each, because anything else runs too, the model becomes many times slower than on one thread.
    """
    return max(1, _usable_cpus() // 2)


def _usable_cpus() -> int:
    if hasattr(os, "process_cpu_count"):  # from Python 3.13
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _file(given: str | os.PathLike[str] | None) -> tuple[Path, str]:
    """The model file and the model's name."""
    if not local_runtime_installed():
        raise SetupError(
            'the local model needs its runtime: run `pip install "liman_nb[local]"`, then'
            " `liman-nb model fetch`"
        )
    path = model_path() if given is None else Path(given).expanduser().resolve()
    if not path.is_file():
        raise SetupError(
            f"there is no model file {path}"
            + ("; run `liman-nb model fetch`" if given is None else "")
        )
    return path, SMOLLM2.name if given is None else path.stem


def _penalties(request: Request) -> dict[str, Any]:
    if request.response_format is not None:
        return dict(_IN_SCHEMA)
    words_a_result = request.messages and request.messages[-1].get("role") == "tool"
    return {} if words_a_result else dict(_FREE_TEXT)
