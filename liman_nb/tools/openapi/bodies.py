"""Request bodies: JSON, forms and plain text.

See `Request Body Object`_ and `Encoding Object`_.

.. _Request Body Object: https://spec.openapis.org/oas/v3.1.1.html#request-body-object
.. _Encoding Object: https://spec.openapis.org/oas/v3.1.1.html#encoding-object
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from liman_nb.errors import ToolError
from liman_nb.tools.openapi.serialise import Parameter, plain_scalar, query_pairs

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Body:
    """An operation's request body.

    Attributes:
        argument: the name that a model knows it by.
        media_type: what is sent.
        styles: how a form's field is written, by name, where the description says so.
    """

    argument: str
    media_type: str
    styles: Mapping[str, Parameter] = field(default_factory=dict)


def chosen_media_type(content: Any) -> str:
    """The media type that can be sent best, of those that a description offers; empty for none."""
    names = content if isinstance(content, Mapping) else ()
    offered = [str(name) for name in names if name.isascii() and name.isprintable()]
    tests = (
        lambda kind: kind == "application/json",
        _is_json,
        lambda kind: kind == FORM,
        lambda kind: kind == MULTIPART,
        lambda kind: kind.startswith("text/") or kind == "*/*",
    )
    for fits in tests:
        for name in offered:
            if fits(_bare(name)):
                return name
    return ""


def encoded_body(body: Body, value: Any) -> tuple[str, bytes]:
    """A body's content type and bytes.

    Raises:
        ToolError: a value that cannot be sent in such a body.
    """
    kind = _bare(body.media_type)
    if _is_json(kind):
        return body.media_type, json.dumps(value, ensure_ascii=False).encode()
    if kind in (FORM, MULTIPART) and not isinstance(value, dict):
        raise ToolError(f"{body.argument} must be an object: it is sent as a form")
    if kind == FORM:
        return FORM, _form(body, value).encode("ascii")
    if kind == MULTIPART:
        return _multipart(value)
    if isinstance(value, list | dict):
        return "application/json", json.dumps(value, ensure_ascii=False).encode()
    return "text/plain; charset=utf-8" if kind == "*/*" else body.media_type, plain_scalar(
        value
    ).encode()


def _bare(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _is_json(kind: str) -> bool:
    return kind == "application/json" or kind.endswith("+json")


def _form(body: Body, value: dict[str, Any]) -> str:
    pairs = [
        pair for name, inner in value.items() for pair in query_pairs(*_field(body, name, inner))
    ]
    return "&".join(f"{name}={text}" for name, text in pairs)


def _field(body: Body, name: str, value: Any) -> tuple[Parameter, Any]:
    """A form's field; without a style of its own, what is nested goes as JSON."""
    if known := body.styles.get(name):
        return known, value
    nested = isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(item, list | dict) for item in value)
    )
    return Parameter(f"{body.argument}.{name}", name, "query", "form", True, as_json=nested), value


def _multipart(value: dict[str, Any]) -> tuple[str, bytes]:
    """Fields of text and JSON. The boundary is drawn by lot, so that no value can contain it."""
    boundary = secrets.token_hex(16)
    parts = list[str]()
    for name, inner in value.items():
        items = inner if isinstance(inner, list) else [inner]
        parts += [_part(boundary, name, item) for item in items]
    return f"{MULTIPART}; boundary={boundary}", "".join([*parts, f"--{boundary}--\r\n"]).encode()


def _part(boundary: str, name: str, value: Any) -> str:
    quoted = name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{quoted}"\r\n'
    if isinstance(value, list | dict):
        text = json.dumps(value, ensure_ascii=False)
        return f"{head}Content-Type: application/json\r\n\r\n{text}\r\n"
    return f"{head}\r\n{plain_scalar(value)}\r\n"
