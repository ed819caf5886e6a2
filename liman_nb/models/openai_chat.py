"""`OpenAILLM`: any server that speaks OpenAI's chat completions, through the official async client.

This is the one home of the `openai` package, which is imported when a request is first made. What
is sent is decided in `openai_body.py`, what comes back is read in `openai_replies.py` and
`openai_stream.py`, what goes wrong is named in `openai_errors.py`; here is only the way there and
back. Nothing is sent twice:
the client's own retries are off, since the engine retries by each node's policy and records it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from liman_nb.errors import (
    LimanError,
    ModelError,
    ModelFormatRefused,
    ModelReplyInvalid,
    SetupError,
    UsageError,
)
from liman_nb.models.callables import in_thread
from liman_nb.models.forbidding import check_allowed
from liman_nb.models.json_ways import HOW, KNOWN_WAYS, Structured, next_way
from liman_nb.models.llm import OnToken, Reply, Request
from liman_nb.models.openai_body import ChatSettings, chat_body
from liman_nb.models.openai_errors import from_client, from_object
from liman_nb.models.openai_replies import quote, read_reply
from liman_nb.models.openai_stream import StreamedReply
from liman_nb.per_loop import PerLoop

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_OPENAI = "https://api.openai.com/v1"

_SHORTEST_SECRET = 8
"""Characters. Servers without accounts are given keys such as ``none``, which are no secrets."""


class OpenAILLM:
    """A model behind an OpenAI-compatible server: OpenAI, vLLM, llama.cpp, Ollama and others.

    Example:
        >>> llm = OpenAILLM("qwen3:8b", base_url="http://localhost:11434/v1")
        >>> llm
        OpenAILLM('qwen3:8b', base_url='http://localhost:11434/v1')

    Args:
        model: the model's name on the server; a node's own `model` wins.
        base_url: address of the server's API, usually ending in ``/v1``. Default: the environment's
            ``OPENAI_BASE_URL``, else OpenAI's.
        api_key: default: the environment's ``OPENAI_API_KEY``. A server of your own usually needs
            none. The key is shown in no repr and no error.
        timeout: seconds without a single byte from the server.
        max_tokens: bound on a reply's tokens when the node names none; ``None`` leaves it to the
            server.
        temperature: used when the node names none; ``None`` leaves it to the server.
        structured: how the server is asked for a node's `yields`: ``schema`` sends a strict JSON
            schema, ``json`` uses the server's JSON mode and puts the schema into the prompt,
            ``prompt`` only the latter, for servers that know neither. ``auto`` tries them in this
            order, until the server accepts one, and remembers it for server and model as long as
            the process lives; a refusal is on record as an attempt of the node's run.
        extra_body: further fields of the request's JSON body, which win over all others.
        headers: further HTTP headers.
    """

    def __init__(  # noqa: PLR0913 - options, all keyword-only
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        max_tokens: int | None = None,
        temperature: float | None = None,
        structured: Structured | Literal["auto"] = "auto",
        extra_body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.base_url = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        if not self.base_url.startswith(("http://", "https://")):
            raise UsageError(f"base_url must begin with http:// or https://: {self.base_url!r}")
        self.settings = ChatSettings(
            model=model,
            temperature=temperature,
            max_tokens=max_tokens,
            limit_field="max_completion_tokens" if self.base_url == _OPENAI else "max_tokens",
            structured="schema" if structured == "auto" else structured,
            extra_body=dict(extra_body or {}),
        )
        self._tries_ways = structured == "auto" and "response_format" not in (extra_body or {})
        self._api_key = api_key
        options = {"base_url": self.base_url, "timeout": timeout, "default_headers": headers}
        self._clients = PerLoop(partial(_make_client, api_key, options), _close_client)

    def __repr__(self) -> str:
        """Model and address, never the key."""
        return f"OpenAILLM({self.settings.model!r}, base_url={_shown(self.base_url)!r})"

    def body(self, request: Request, *, stream: bool = False) -> dict[str, Any]:
        """The exact JSON body that :meth:`complete` sends first for a request.

        Args:
            request: what would be answered.
            stream: as when `on_token` is given.
        """
        return self._body(request, self._first_way(request), stream=stream)

    def check_setup(self) -> None:
        """Whether it can be used at all, asked before a turn begins.

        Raises:
            SetupError: there is no API key, and the server is OpenAI's.
            RealModelForbidden: real models are forbidden; see `liman_nb.testing`.
        """
        check_allowed(self)
        if _key(self._api_key) is None and self.base_url == _OPENAI:
            raise SetupError(
                "OpenAI needs an API key: set the environment variable OPENAI_API_KEY, or pass"
                " api_key= to OpenAILLM; for a model on this machine pass llm='local'"
            )

    async def complete(self, request: Request, on_token: OnToken | None = None) -> Reply:
        """Answer a request; see :class:`liman_nb.models.llm.LLM`.

        Raises:
            ModelError: the subclass says what happened, `retryable` whether it may pass.
            SetupError: there is no API key, and the server is OpenAI's.
        """
        if request.response_format is None or not self._tries_ways:
            return await self.send(self.body(request, stream=on_token is not None), on_token)
        return await self._send_some_way(request, on_token)

    async def _send_some_way(self, request: Request, on_token: OnToken | None) -> Reply:
        """Ask for JSON in the best way that the server accepts."""
        refusals: list[str] = []
        way = self._first_way(request)
        while True:
            body = self._body(request, way, stream=on_token is not None)
            try:
                reply = await self.send(body, on_token)
            except ModelFormatRefused as error:
                following = next_way(way)
                if following is None:
                    raise
                refusals.append(f"{error}; asked again {HOW[following]}")
                way = following
            else:
                KNOWN_WAYS.worked(*self._asked_there(request), way)
                return replace(reply, refusals=tuple(refusals))

    def _body(self, request: Request, way: Structured, *, stream: bool) -> dict[str, Any]:
        return chat_body(request, replace(self.settings, structured=way), stream=stream)

    def _first_way(self, request: Request) -> Structured:
        if not self._tries_ways:
            return self.settings.structured
        return KNOWN_WAYS.first(*self._asked_there(request))

    def _asked_there(self, request: Request) -> tuple[str, str, bool]:
        return self.base_url, request.model or self.settings.model, bool(request.tools)

    async def send(self, body: Mapping[str, Any], on_token: OnToken | None = None) -> Reply:
        """Send a body as it stands, such as one of :meth:`body` that was changed.

        Args:
            body: the JSON body of a chat completion, with ``model``, ``messages`` and ``stream``.
            on_token: gets the pieces of a streamed reply; needed exactly when ``stream`` is true.

        Raises:
            LimanError: as :meth:`complete`.
        """
        self.check_setup()
        who = f"model {body['model']!r} at {_host(self.base_url)}"
        await _load_client()
        try:
            return await self._send(body, on_token, who)
        except _client_errors() as error:
            raise self._without_key(from_client(error, who)) from self._cause(error)
        except (JSONDecodeError, UnicodeDecodeError) as error:
            raise ModelReplyInvalid(f"{who} sent a reply that is not JSON: {error}") from None
        except ModelError as error:
            raise self._without_key(error) from None

    async def aclose(self) -> None:
        """Close the running loop's connections; a later request opens new ones.

        Needed only in a program that goes on: an event loop that ends closes them itself.
        """
        await self._clients.aclose()

    async def _send(self, body: Mapping[str, Any], on_token: OnToken | None, who: str) -> Reply:
        client = await self._clients.get()
        chat: Any = client.chat.completions  # typed for bodies that are written out in code
        known = {key: body[key] for key in ("model", "messages", "stream")}
        further = {key: value for key, value in body.items() if key not in known}
        answer = await chat.create(**known, extra_body=further)
        if on_token is None:
            return read_reply(_mapping(answer, who), who)
        return read_reply(await _read_stream(answer, on_token, who), who)

    # ── the key stays here ───────────────────────────────────────────────────────────────────────

    def _without_key(self, error: LimanError) -> LimanError:
        """The error without the key, in case that the server repeated it."""
        key = _key(self._api_key)
        if key and len(key) >= _SHORTEST_SECRET:
            error.args = (str(error).replace(key, "***"),)
        return error

    def _cause(self, error: Exception) -> Exception | None:
        """The client's own error, unless a traceback that shows it would show the key."""
        key = _key(self._api_key)
        return None if key and key in f"{error} {error.__cause__}" else error


async def _load_client() -> None:
    """Import the client off the loop, which it would hold up for half a second."""
    if "openai" not in sys.modules:
        await in_thread(lambda: importlib.import_module("openai"))


def _make_client(api_key: str | None, options: dict[str, Any]) -> AsyncOpenAI:
    from openai import AsyncOpenAI

    return AsyncOpenAI(api_key=_key(api_key) or "none", max_retries=0, **options)


def _key(given: str | None) -> str | None:
    return given or os.environ.get("OPENAI_API_KEY") or None


async def _close_client(client: AsyncOpenAI) -> None:
    await client.close()


async def _read_stream(stream: Any, on_token: OnToken, who: str) -> dict[str, Any]:
    """Pass the text on as it arrives, and return the whole completion."""
    whole = StreamedReply(who)
    async with stream:
        async for chunk in stream:
            if text := whole.add(_mapping(chunk, who)):
                on_token(text)
    return whole.completion()


def _mapping(answer: Any, who: str) -> Mapping[str, Any]:
    """What the server sent, exactly; the client's models leave out what a server left out."""
    if not hasattr(answer, "to_dict"):
        raise ModelReplyInvalid(f"{who} sent a reply that is no JSON object: {quote(answer)}")
    sent: Mapping[str, Any] = answer.to_dict(warnings=False)
    if sent.get("error"):
        raise from_object(sent["error"], who)
    return sent


def _client_errors() -> tuple[type[Exception], ...]:
    """The client's errors, and those of its HTTP library, which some versions let through."""
    from openai import DefaultAsyncHttpxClient, OpenAIError

    base = next(c for c in DefaultAsyncHttpxClient.__mro__ if c.__name__ == "AsyncClient")
    library = sys.modules[base.__module__.partition(".")[0]]
    return (OpenAIError, library.HTTPError)


def _host(url: str) -> str:
    """Host and port of an address, without the name and password that it may carry."""
    return urlsplit(url).netloc.rpartition("@")[2]


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{_host(url)}{parts.path}"
