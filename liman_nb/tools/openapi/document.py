"""An OpenAPI description as plain data: read once, bounded, and referring only to itself.

The description is read as it is and not through a model of the whole specification: descriptions
of large APIs have mistakes somewhere, and one mistake must not cost a thousand operations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

import httpx
import yaml
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable

from liman_nb.errors import UsageError
from liman_nb.tools.openapi.origins import origin_of

MAX_BYTES = 50_000_000
"""Bytes of a description."""

MAX_VALUES = 5_000_000
"""Values in a description, aliases written out."""

MAX_DEPTH = 200
"""Lists and mappings within each other."""

_SECONDS = 60.0
_REDIRECTS = 5
_CHAIN = 20
"""References that lead to references."""


class BadReference(Exception):
    """A ``$ref`` that leads out of the description, nowhere, or round in a circle."""


class Description:
    """An OpenAPI description.

    Args:
        root: the whole of it, JSON values only.
        url: where it was fetched from; ``None`` for a file or a mapping.
        shown: what to call it in messages.

    Raises:
        UsageError: it is not an OpenAPI description of version 3.
    """

    def __init__(self, root: Any, url: str | None, shown: str) -> None:
        if not isinstance(root, Mapping):
            raise UsageError(f"{shown} is no OpenAPI description: it is not a mapping")
        version = str(root.get("openapi", ""))
        if not version.startswith("3."):
            found = f"swagger {root['swagger']}" if "swagger" in root else f"openapi {version!r}"
            raise UsageError(
                f"{shown} says {found}; OpenAPI 3.0 and 3.1 are read: convert it, or ask its "
                f"publisher for one"
            )
        self.root: Mapping[str, Any] = root
        self.url, self.shown = url, shown
        self.is_3_0 = version.startswith("3.0")
        self._resolver = Registry().with_resource("", Resource.opaque(root)).resolver()

    def at(self, reference: Any) -> Any:
        """What a ``$ref`` refers to; another reference, maybe.

        Raises:
            BadReference: it does not lead to a place in this description.
        """
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise BadReference(f"$ref {reference!r:.100} leads out of the description")
        try:
            return self._resolver.lookup(reference).contents
        except (Unresolvable, ValueError, TypeError, KeyError, IndexError):
            raise BadReference(f"$ref {reference!r:.100} leads nowhere") from None

    def resolved(self, value: Any) -> Mapping[str, Any]:
        """A mapping, or what its ``$ref`` leads to in the end; an empty one for anything else.

        Raises:
            BadReference: a reference on the way is no good.
        """
        first = value
        for _ in range(_CHAIN):
            if not isinstance(value, Mapping):
                return {}
            if "$ref" not in value:
                return value
            value = self.at(value["$ref"])
        raise BadReference(f"$ref {first['$ref']!r:.100} leads round in a circle")


def load_description(source: str | Path | Mapping[str, Any]) -> Description:
    """Read a description.

    Args:
        source: an address that begins with ``http://`` or ``https://``, the path of a JSON or YAML
            file, or the description as a mapping.

    Raises:
        UsageError: it cannot be fetched or read, is too big, or is no description of OpenAPI 3.
    """
    if isinstance(source, Mapping):
        return Description(_plain(source, "the description"), None, "the description")
    text = str(source)
    if "://" in text:
        return Description(_parsed(_fetched(text), text), text, text)
    return Description(_parsed(_read(Path(source)), text), None, text)


# ── where it comes from ──────────────────────────────────────────────────────────────────────────


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    _check_size(len(data), str(path))
    return data


def _fetched(url: str) -> bytes:
    """What stands at an address. A redirect is followed within the origin that was named."""
    try:
        origin = origin_of(url)
        with httpx.Client(timeout=_SECONDS) as client:
            for _ in range(_REDIRECTS):
                with client.stream("GET", url) as response:
                    if response.next_request is None:
                        return _body(response, url)
                    url = str(response.next_request.url)
                    if origin_of(url) != origin:
                        raise UsageError(f"{origin} sends on to {url}; if you trust it, pass that")
    except ValueError as error:
        raise UsageError(str(error)) from None
    except httpx.HTTPError as error:
        raise UsageError(f"{url} cannot be fetched: {type(error).__name__}: {error}") from None
    raise UsageError(f"{url} cannot be fetched: it sends on from one address to the next")


def _body(response: httpx.Response, url: str) -> bytes:
    if not response.is_success:
        raise UsageError(f"{url} cannot be fetched: HTTP {response.status_code}")
    data = bytearray()
    for chunk in response.iter_bytes():
        data += chunk
        _check_size(len(data), url)
    return bytes(data)


def _check_size(size: int, shown: str) -> None:
    if size > MAX_BYTES:
        raise UsageError(f"{shown} has more than {MAX_BYTES:,} bytes, which are not read")


# ── its text ─────────────────────────────────────────────────────────────────────────────────────


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads plain words as YAML 1.2 and JSON do: ``on``, ``NO``, ``12:30`` and dates are text."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


for _tag, _pattern, _starts in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    ("int", r"[-+]?(0|[1-9][0-9]{0,99})", [*"-+0123456789"]),
    (
        "float",
        r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)",
        [*"-+.0123456789"],
    ),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _starts
    )


def _parsed(data: bytes, shown: str) -> Any:
    try:
        text = data.decode("utf-8-sig")
        if text.lstrip().startswith("{"):
            return json.loads(text)
        return _plain(yaml.load(text, Loader=_Loader), shown)  # noqa: S506 - a safe loader's child
    except UnicodeDecodeError:
        raise UsageError(f"{shown} is not text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{shown} is neither JSON nor YAML: {error}") from None
    except yaml.YAMLError as error:
        raise UsageError(
            f"{shown} is neither JSON nor YAML: {' '.join(str(error).split())}"
        ) from None
    except RecursionError:
        raise UsageError(f"{shown} is nested too deep") from None


def _plain(value: Any, shown: str) -> Any:
    """A copy of JSON values only; what YAML writes once and uses twice is written twice."""
    left = MAX_VALUES

    def copy(value: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0 or depth > MAX_DEPTH:
            raise UsageError(
                f"{shown} is too much: over {MAX_VALUES:,} values or {MAX_DEPTH} levels deep"
            )
        if isinstance(value, Mapping):
            return {_key(k): copy(v, depth + 1) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [copy(v, depth + 1) for v in value]
        if value is None or isinstance(value, str | bool | int | float):
            return value
        if isinstance(value, date):
            return value.isoformat()
        raise UsageError(f"{shown} holds a {type(value).__name__}, which JSON does not have")

    return copy(value, 0)


def _key(key: Any) -> str:
    return json.dumps(key) if isinstance(key, bool | int | float) or key is None else str(key)
