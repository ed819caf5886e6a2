"""Sends an operation's request: to an allowed origin only, within a time, read to a size."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import quote, unquote

import httpx

from liman_nb.errors import ToolError
from liman_nb.per_loop import PerLoop
from liman_nb.tools.external import ToolCall
from liman_nb.tools.openapi.bodies import encoded_body
from liman_nb.tools.openapi.operations import IDEMPOTENCY, Operation
from liman_nb.tools.openapi.origins import origin_of
from liman_nb.tools.openapi.responses import failure, read_answer, read_bounded
from liman_nb.tools.openapi.security import Secrets, collect
from liman_nb.tools.openapi.serialise import header_text, path_text, query_pairs

_REDIRECTS = 5
_NOT_IDEMPOTENT = ("POST", "PATCH")
_PATH = "/:@!$&'()*+,;=~-._%"
"""What stands in a path as it is (RFC 3986, `pchar`), and what is encoded already."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may take.

    Attributes:
        seconds: from the first to the last byte.
        size: bytes of an answer that are read.
    """

    seconds: float
    size: int


class Api:
    """A connection to an API, one per event loop.

    Args:
        allowed: the origins that may be asked.
        limits: of each call.
    """

    def __init__(self, allowed: frozenset[str], limits: Limits) -> None:
        self._allowed, self._limits = allowed, limits
        self._clients = PerLoop(partial(_client, limits.seconds), _close)

    async def call(self, name: str, base: str, operation: Operation, call: ToolCall) -> Any:
        """Call an operation.

        Args:
            name: the tool's name.
            base: the address that its path is appended to.
            operation: the operation.
            call: arguments and credentials.

        Raises:
            ToolError: no answer in time, or one of status 400 or above.
        """
        secrets = await collect(name, operation.security, call.credentials)
        who = f"{name} ({operation.method} {base}{operation.path})"
        try:
            request = _request(base, operation, call, secrets)
            async with asyncio.timeout(self._limits.seconds):
                return await self._answer(who, request, secrets)
        except (TimeoutError, httpx.TimeoutException):
            raise ToolError(f"{who}: no answer within {self._limits.seconds:g} s") from None
        except httpx.InvalidURL as error:
            raise ToolError(f"{who}: the address cannot be asked: {error}") from None
        except httpx.HTTPError as error:  # it holds the request, and with it the credentials
            raise ToolError(f"{who}: no connection: {type(error).__name__}") from None

    async def _answer(self, who: str, request: httpx.Request, secrets: Secrets) -> Any:
        client = await self._clients.get()
        for _ in range(_REDIRECTS):
            if origin_of(str(request.url)) not in self._allowed:
                raise ToolError(f"{who}: {origin_of(str(request.url))} is not in allow_origins")
            response = await client.send(request, stream=True)
            try:
                following = _same_origin_redirect(response)
                if following is None:
                    return await self._read(who, response, secrets)
                request = _with_query_secrets(following, secrets)
            finally:
                await response.aclose()
        raise ToolError(f"{who}: more than {_REDIRECTS} redirects")

    async def _read(self, who: str, response: httpx.Response, secrets: Secrets) -> Any:
        data, cut = await read_bounded(response, self._limits.size)
        if response.is_success:
            return read_answer(response, data, cut=cut, secrets=secrets.texts)
        if response.next_request is not None:
            who = f"{who}: it sends on to another address, which is not followed;"
        raise failure(who, response, data, cut=cut, secrets=secrets.texts)


# ── the connection ───────────────────────────────────────────────────────────────────────────────


def _client(seconds: float) -> httpx.AsyncClient:
    """A client that keeps no cookies: one session's must not reach another's."""
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    return httpx.AsyncClient(timeout=seconds, cookies=no_cookies, follow_redirects=False)


async def _close(client: httpx.AsyncClient) -> None:
    await client.aclose()


def _same_origin_redirect(response: httpx.Response) -> httpx.Request | None:
    """The request that follows a redirect: of one that only reads, within its own origin."""
    following, asked = response.next_request, response.request
    if following is None or asked.method not in ("GET", "HEAD"):
        return None
    try:
        same = origin_of(str(following.url)) == origin_of(str(asked.url))
    except ValueError:
        return None
    return following if same else None


# ── the request ──────────────────────────────────────────────────────────────────────────────────


def _request(base: str, operation: Operation, call: ToolCall, secrets: Secrets) -> httpx.Request:
    """The request of a call.

    Raises:
        ToolError: a value that cannot be sent where it belongs.
    """
    query = [pair for p, v in _given(operation, call, "query") for pair in query_pairs(p, v)]
    cookies = [pair for p, v in _given(operation, call, "cookie") for pair in query_pairs(p, v)]
    headers = {p.name: header_text(p, v) for p, v in _given(operation, call, "header")}
    headers |= {"Accept": "application/json, */*;q=0.5", "User-Agent": "liman_nb"}
    cookies += [(quote(k, safe=""), quote(v, safe="")) for k, v in secrets.cookie.items()]
    if cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies)
    if operation.method in _NOT_IDEMPOTENT and call.call_id:
        headers[IDEMPOTENCY] = call.call_id
    content = None
    if operation.body and operation.body.argument in call.arguments:
        kind, content = encoded_body(operation.body, call.arguments[operation.body.argument])
        headers["Content-Type"] = kind
    url = base + _path(operation, call)
    if query:
        url += "?" + "&".join(f"{name}={value}" for name, value in query)
    request = httpx.Request(
        operation.method, url, headers=[*headers.items(), *secrets.header.items()], content=content
    )
    return _with_query_secrets(request, secrets)


def _given(operation: Operation, call: ToolCall, place: str) -> list[tuple[Any, Any]]:
    """The parameters of a place that have a value; null stands for none."""
    return [
        (p, call.arguments[p.argument])
        for p in operation.parameters
        if p.place == place and call.arguments.get(p.argument) is not None
    ]


def _path(operation: Operation, call: ToolCall) -> str:
    values = {p.name: path_text(p, v) for p, v in _given(operation, call, "path")}
    if missing := [p for p in operation.parameters if p.place == "path" and p.name not in values]:
        raise ToolError(f"{missing[0].argument} must not be null: it is a part of the address")
    pieces = re.split(r"\{([^{}]+)\}", operation.path)
    fixed = [quote(piece, safe=_PATH) for piece in pieces[::2]]
    filled = [values[name] for name in pieces[1::2]]
    path = "".join(text for pair in zip(fixed, [*filled, ""], strict=True) for text in pair)
    if any(unquote(segment) in (".", "..") for segment in path.split("/")):
        raise ToolError("a part of the address must not be '.' or '..'")
    return path


def _with_query_secrets(request: httpx.Request, secrets: Secrets) -> httpx.Request:
    """The request with the keys that belong into its query.

    They are put into the line that is sent and not into the request's address, since the HTTP
    library logs addresses.
    """
    if secrets.query:
        keys = [f"{quote(k, safe='')}={quote(v, safe='')}" for k, v in secrets.query.items()]
        target = request.url.raw_path.decode("ascii")
        target += ("&" if "?" in target else "?") + "&".join(keys)
        request.extensions = {**request.extensions, "target": target.encode("ascii")}
    return request
