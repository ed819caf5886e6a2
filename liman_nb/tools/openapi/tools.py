"""`tools_from_openapi`: from an OpenAPI description to tools."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from liman_nb.errors import UsageError
from liman_nb.tools.external import ExternalTool
from liman_nb.tools.names import free_name, tool_name
from liman_nb.tools.openapi.api import Api, Limits
from liman_nb.tools.openapi.document import Description, load_description
from liman_nb.tools.openapi.operations import Raw, Unusable, raw_operations, read_operation
from liman_nb.tools.openapi.origins import origin_of, origins_of
from liman_nb.tools.openapi.selection import Selection

_SHOWN = 5


class OpenApiTools(list[ExternalTool]):
    """Tools of an API, and what of its description is not followed.

    Attributes:
        warnings: one sentence each: an operation that was left out, or a part of it.
    """

    def __init__(self, tools: Iterable[ExternalTool], warnings: Iterable[str]) -> None:
        super().__init__(tools)
        self.warnings = tuple(warnings)

    def __repr__(self) -> str:
        """One line a tool, with the operation that it calls."""
        lines = [f"{tool.name}: {tool.source}" for tool in self]
        count = len(self.warnings)
        lines += [f"{count} warning{'' if count == 1 else 's'}: see .warnings"] if count else []
        return "\n".join(lines)


def tools_from_openapi(  # noqa: PLR0913 - options, all keyword-only
    source: str | Path | Mapping[str, Any],
    *,
    allow_origins: Iterable[str] = (),
    base_url: str | None = None,
    only: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] = (),
    prefix: str = "",
    providers: Mapping[str, str] | None = None,
    timeout: float = 30.0,
    max_bytes: int = 1_000_000,
) -> OpenApiTools:
    """The operations of an API as tools, for ``Agent(tools=[*tools_from_openapi(…)])``.

    A description of `OpenAPI 3.0`_ or `3.1`_ is read once. Each operation becomes a tool of the
    name of its ``operationId``, or of method and path. A model may call those that its node lists.
    Nothing that a description refers to outside of itself is fetched, and what is not supported is
    said in a warning: files and other bodies than JSON, forms and text, security schemes other than
    keys, basic and bearer tokens, and references that lead nowhere.

    Requests go to the allowed origins only, and follow redirects within their own origin only, and
    only those of a GET or HEAD. An origin that is allowed is asked wherever its name leads, this
    machine's own network included. Credentials come at the time of the call from the service
    account of the node, by the security scheme's name: a node with
    ``auth: {service_account: {credentials_provider: bearerAuth}}``. A model sees them nowhere: they
    are not among its arguments, and are taken out of answers and errors. A POST and a PATCH carry
    the call's id as ``Idempotency-Key``, so that a call that is made again after a crash has one
    effect with servers that know this header.

    Args:
        source: the description: an address, the path of a JSON or YAML file, or a mapping.
        allow_origins: the origins that may be asked, such as ``https://api.example.com``. Default:
            that of `base_url`, or else of the address that the description was fetched from.
        base_url: the address that the operations' paths are appended to, instead of the servers
            that the description names.
        only: which operations: operationIds or tools' names, ``tag:pets``, ``GET``, ``/pets/*`` or
            ``GET /pets/*``. Default: all of them.
        exclude: which not, in the same way.
        prefix: what each tool's name begins with.
        providers: the CredentialsProvider of a security scheme, by the scheme's name, where it has
            another one.
        timeout: seconds that one call may take.
        max_bytes: bytes of one answer that are read; the rest is cut, and the result says so.

    Raises:
        UsageError: the description cannot be read, an argument is wrong, or no operation is left.

    .. _OpenAPI 3.0: https://spec.openapis.org/oas/v3.0.4.html
    .. _3.1: https://spec.openapis.org/oas/v3.1.1.html
    """
    description = load_description(source)
    notes = list[str]()
    named = _named(description, prefix, notes)
    chosen = set(named) if only is None else Selection(only, "only").of(named)
    chosen -= Selection(exclude, "exclude").of(named)
    allowed = _allowed(description, allow_origins, base_url)
    api = Api(allowed, Limits(timeout, max_bytes))
    tools = list[ExternalTool]()
    for name in (name for name in named if name in chosen):
        raw = named[name]
        try:
            base = _base(description, raw, base_url, allowed)
            operation = read_operation(description, raw, providers or {})
        except Unusable as reason:
            notes.append(f"{raw.title}: left out: {reason}")
            continue
        notes += [f"{raw.title}: {note}" for note in operation.notes]
        call = partial(api.call, name, base, operation)
        source_text = f"{raw.method} {base}{raw.path}"
        described = operation.description
        tools.append(ExternalTool(name, described, operation.schema, call, source=source_text))
    if not tools:
        raise UsageError(_nothing_left(description, notes))
    _warn(description, notes)
    return OpenApiTools(tools, notes)


def _named(description: Description, prefix: str, notes: list[str]) -> dict[str, Raw]:
    """Every operation by its tool's name."""
    named: dict[str, Raw] = {}
    for raw in raw_operations(description, notes.append):
        by_path = tool_name(f"{raw.method.lower()}_{raw.path}", prefix) or raw.method.lower()
        name = tool_name(raw.operation_id, prefix) or by_path
        if name in named:
            name = free_name(by_path, named)
            notes.append(f"{raw.title}: its operationId is another one's; the tool is {name}")
        named[name] = raw
    return named


# ── where requests go ────────────────────────────────────────────────────────────────────────────


def _allowed(
    description: Description, allow_origins: Iterable[str], base_url: str | None
) -> frozenset[str]:
    allowed = origins_of(allow_origins)
    if base_url is not None:
        try:
            origin = origin_of(base_url)
        except ValueError as error:
            raise UsageError(f"base_url: {error}") from None
        if allowed and origin not in allowed:
            raise UsageError(f"base_url: its origin {origin} is not in allow_origins")
        return allowed or frozenset((origin,))
    if allowed:
        return allowed
    if description.url is not None:
        return frozenset((origin_of(description.url),))
    servers = ", ".join(_server_urls(description.root)) or "none"
    raise UsageError(
        f"{description.shown}: say where requests may go, with allow_origins=[…] or base_url=…; "
        f"the servers that it names are: {servers}"
    )


def _base(description: Description, raw: Raw, base_url: str | None, allowed: frozenset[str]) -> str:
    """The address that an operation's path is appended to.

    Raises:
        Unusable: it is none, or its origin is not allowed.
    """
    sources = (raw.spec, raw.item, description.root)
    declared = next((s for s in sources if _servers(s)), description.root)
    urls = [base_url] if base_url is not None else _server_urls(declared) or ["/"]
    refused = []
    for url in urls:
        whole = urljoin(description.url, url) if description.url else url
        whole = re.split(r"[?#]", whole, maxsplit=1)[0].rstrip("/")
        try:
            origin = origin_of(whole)
        except ValueError as error:
            refused.append(f"server {url!r:.100}: {error}")
            continue
        if origin in allowed:
            return whole
        refused.append(f"its server {origin} is not in allow_origins")
    raise Unusable("; ".join(dict.fromkeys(refused)))


def _servers(source: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    servers = source.get("servers")
    return [s for s in servers if isinstance(s, Mapping)] if isinstance(servers, list) else []


def _server_urls(source: Mapping[str, Any]) -> list[str]:
    """The servers' addresses, each variable with its default."""
    urls = []
    for server in _servers(source):
        variables = server.get("variables")
        defaults = {
            name: str(spec["default"])
            for name, spec in (variables.items() if isinstance(variables, Mapping) else ())
            if isinstance(spec, Mapping) and "default" in spec
        }
        url = str(server.get("url", "/"))
        urls.append(re.sub(r"\{([^{}]+)\}", lambda m, d=defaults: d.get(m[1], m[0]), url))  # type: ignore[misc]
    return urls


# ── what is said ─────────────────────────────────────────────────────────────────────────────────


def _nothing_left(description: Description, notes: list[str]) -> str:
    reasons = "\n".join(f"- {note}" for note in notes[:_SHOWN])
    more = f"\n- and {len(notes) - _SHOWN} more" if len(notes) > _SHOWN else ""
    return f"{description.shown} gives no tool" + (f":\n{reasons}{more}" if reasons else "")


def _warn(description: Description, notes: list[str]) -> None:
    if notes:
        shown = "".join(f"\n- {note}" for note in notes[:_SHOWN])
        more = f"\n- and {len(notes) - _SHOWN} more: see .warnings" if len(notes) > _SHOWN else ""
        text = f"{description.shown} is not followed in everything:{shown}{more}"
        warnings.warn(text, stacklevel=3)
