"""The operations of a description: what a model may set, and where it goes in the request.

See `Path Item Object`_ and `Operation Object`_. What cannot be sent as described is said in a note:
an operation that could then not be called is left out.

.. _Path Item Object: https://spec.openapis.org/oas/v3.1.1.html#path-item-object
.. _Operation Object: https://spec.openapis.org/oas/v3.1.1.html#operation-object
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from liman_nb.tools.answers import schema_problem
from liman_nb.tools.names import argument_name, free_name
from liman_nb.tools.openapi.bodies import MULTIPART, Body, chosen_media_type
from liman_nb.tools.openapi.document import BadReference, Description
from liman_nb.tools.openapi.schemas import ArgumentsSchema
from liman_nb.tools.openapi.security import Alternatives, Scheme, is_token, read_security
from liman_nb.tools.openapi.serialise import STYLES, Parameter

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")

IDEMPOTENCY = "idempotency-key"
"""The header that carries the call's id, so that a repeated call has one effect."""

_IGNORED = {"accept", "content-type", "authorization"}
"""Header parameters that are ignored, as OpenAPI says: other parts of it give their values."""

_FORBIDDEN = {
    *("host", "cookie", "connection", "content-length", "transfer-encoding", "upgrade", "te"),
    *("trailer", "keep-alive", "expect"),
}
"""Headers that say where a request goes, or how it is carried: not a model's to set."""

MAX_SCHEMA = 200_000
"""Characters of the schema of one operation's arguments."""

_MAX_DESCRIPTION = 1_000


class Unusable(Exception):
    """An operation that cannot be called as it is described."""


@dataclass(frozen=True, slots=True)
class Raw:
    """An operation as the description has it.

    Attributes:
        method: in capitals.
        path: the template, such as ``/pets/{id}``.
        item: the path item that it belongs to.
        spec: the operation itself.
    """

    method: str
    path: str
    item: Mapping[str, Any]
    spec: Mapping[str, Any]

    @property
    def title(self) -> str:
        """``GET /pets/{id}``."""
        return f"{self.method} {self.path}"

    @property
    def operation_id(self) -> str:
        """Its operationId; empty when it has none."""
        found = self.spec.get("operationId")
        return found if isinstance(found, str) else ""

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags."""
        found = self.spec.get("tags")
        return tuple(t for t in found if isinstance(t, str)) if isinstance(found, list) else ()


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation that can be called.

    Attributes:
        method: in capitals.
        path: the template.
        description: for the model.
        schema: JSON schema of the arguments.
        parameters: where the arguments go.
        body: its request body; ``None`` for none.
        security: alternatives of what it wants to be asked with.
        notes: what of the description is not followed.
    """

    method: str
    path: str
    description: str
    schema: Mapping[str, Any]
    parameters: tuple[Parameter, ...]
    body: Body | None
    security: Alternatives
    notes: tuple[str, ...] = ()


def raw_operations(description: Description, note: Callable[[str], None]) -> Iterator[Raw]:
    """Every operation, in the order of the description."""
    paths = description.root.get("paths")
    for path, value in paths.items() if isinstance(paths, Mapping) else ():
        if path.startswith("x-"):
            continue
        try:
            item = description.resolved(value)
        except BadReference as error:
            note(f"{path}: left out: {error}")
            continue
        if not path.startswith("/"):
            note(f"{path!r:.100}: left out: a path begins with '/'")
            continue
        for method in METHODS:
            if isinstance(item.get(method), Mapping):
                yield Raw(method.upper(), path, item, item[method])


def read_operation(description: Description, raw: Raw, providers: Mapping[str, str]) -> Operation:
    """An operation, read.

    Args:
        description: what it stands in.
        raw: the operation.
        providers: CredentialsProvider by security scheme, where it has another name.

    Raises:
        Unusable: it could not be called; says why.
    """
    try:
        return _Reading(description, raw, providers).operation()
    except BadReference as error:
        raise Unusable(str(error)) from None


@dataclass(slots=True)
class _Reading:
    description: Description
    raw: Raw
    providers: Mapping[str, str]
    notes: list[str] = field(default_factory=list)
    schemas: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)

    def operation(self) -> Operation:
        security = self._security()
        parameters = self._parameters(_keys(security))
        body = self._body()
        maker = ArgumentsSchema(self.description, self.notes.append)
        schema = maker.of(self.schemas, self.required)
        if problem := schema_problem(schema, patterns=False):
            raise Unusable(f"its arguments have no valid schema: {problem:.200}")
        if (size := len(json.dumps(schema))) > MAX_SCHEMA:
            raise Unusable(f"its arguments take {size:,} characters to describe")
        return Operation(
            self.raw.method,
            self.raw.path,
            _described(self.raw),
            schema,
            tuple(parameters),
            body,
            security,
            tuple(self.notes),
        )

    def _security(self) -> Alternatives:
        declared = self.raw.spec.get("security", self.description.root.get("security"))
        usable, unusable = read_security(self.description, declared, self.providers)
        if unusable and not usable:
            raise Unusable("; ".join(unusable))
        return usable

    # ── parameters ───────────────────────────────────────────────────────────────────────────────

    def _parameters(self, secret: set[tuple[str, str]]) -> list[Parameter]:
        found = [p for p in self._declared() if self._is_settable(p, secret)]
        names = [str(p["name"]) for p in found]
        made = []
        for spec in found:
            name, place = str(spec["name"]), str(spec["in"])
            plain = f"{name}_{place}" if names.count(name) > 1 else name
            argument = free_name(argument_name(plain), self.schemas)
            self._add(argument, _schema_of(spec), spec, required=spec.get("required") is True)
            made.append(self._parameter(spec, argument))
        return made

    def _declared(self) -> list[Mapping[str, Any]]:
        """The parameters of the path and of the operation, which win, and those of the template."""
        merged: dict[tuple[str, str], Mapping[str, Any]] = {}
        for source in (self.raw.item, self.raw.spec):
            listed = source.get("parameters")
            for entry in listed if isinstance(listed, list) else ():
                spec = self.description.resolved(entry)
                name, place = spec.get("name"), spec.get("in")
                if not isinstance(name, str) or place not in STYLES:
                    raise Unusable(f"a parameter {name!r:.60} in {place!r:.60} cannot be sent")
                merged[place, name] = spec
        templated = set(re.findall(r"\{([^{}]+)\}", self.raw.path))
        for name in sorted(templated - {name for place, name in merged if place == "path"}):
            self.notes.append(f"{name!r} is in the path and not described; it is taken as text")
            merged["path", name] = {"name": name, "in": "path", "schema": {"type": "string"}}
        return [
            {**spec, "required": True} if place == "path" else spec
            for (place, name), spec in merged.items()
            if place != "path" or name in templated
        ]

    def _is_settable(self, spec: Mapping[str, Any], secret: set[tuple[str, str]]) -> bool:
        """Whether a parameter is the model's to set."""
        name, place = spec["name"], spec["in"]
        if place != "header":
            return (place, name) not in secret
        low = name.lower()
        if not is_token(name):
            raise Unusable(f"{name!r:.60} cannot be the name of a header")
        if low in _FORBIDDEN or low.startswith(("proxy-", "sec-")):
            self.notes.append(f"the header {name!r} is not sent: it is no model's to set")
            return False
        return (place, low) not in secret and low not in _IGNORED and low != IDEMPOTENCY

    def _parameter(self, spec: Mapping[str, Any], argument: str) -> Parameter:
        place = spec["in"]
        style = spec.get("style", STYLES[place][0])
        if style not in STYLES[place]:
            self.notes.append(f"{spec['name']!r}: the style {style!r:.60} is read as the usual one")
            style = STYLES[place][0]
        explode = spec.get("explode")
        return Parameter(
            argument,
            str(spec["name"]),
            place,
            style,
            explode if isinstance(explode, bool) else style == "form",
            reserved=spec.get("allowReserved") is True,
            as_json="schema" not in spec and isinstance(spec.get("content"), Mapping),
        )

    def _add(self, argument: str, schema: Any, spec: Mapping[str, Any], *, required: bool) -> None:
        text = spec.get("description")
        if isinstance(text, str) and isinstance(schema, Mapping):
            schema = {**schema, "description": text}
        self.schemas[argument] = schema
        if required:
            self.required.append(argument)

    # ── body ─────────────────────────────────────────────────────────────────────────────────────

    def _body(self) -> Body | None:
        spec = self.description.resolved(self.raw.spec.get("requestBody"))
        content = spec.get("content")
        if not isinstance(content, Mapping) or not content:
            return None
        media_type = chosen_media_type(content)
        reason = "" if media_type else f"a body of {', '.join(content)} cannot be sent"
        media = self.description.resolved(content.get(media_type))
        if not reason and media_type == MULTIPART and self._has_files(media.get("schema")):
            reason = "files cannot be sent"
        required = spec.get("required") is True
        if reason and required:
            raise Unusable(reason)
        if reason:
            self.notes.append(f"it is called without its body: {reason}")
            return None
        argument = "request_body" if "body" in self.schemas else "body"
        argument = free_name(argument, self.schemas)
        self._add(argument, media.get("schema", {}), spec, required=required)
        return Body(argument, media_type, self._styles(argument, media))

    def _has_files(self, schema: Any) -> bool:
        properties = self.description.resolved(schema).get("properties")
        for value in properties.values() if isinstance(properties, Mapping) else ():
            inner = self.description.resolved(value)
            item = self.description.resolved(inner.get("items"))
            for part in (inner, item):
                if part.get("format") == "binary" or "contentMediaType" in part:
                    return True
        return False

    def _styles(self, argument: str, media: Mapping[str, Any]) -> dict[str, Parameter]:
        """Fields of a form that are written in a style of their own."""
        styles: dict[str, Parameter] = {}
        encoding = media.get("encoding")
        for name, spec in encoding.items() if isinstance(encoding, Mapping) else ():
            if isinstance(spec, Mapping) and spec.keys() & {"style", "explode", "allowReserved"}:
                field_spec = {**spec, "name": name, "in": "query", "schema": {}}
                styles[name] = self._parameter(field_spec, f"{argument}.{name}")
        return styles


def _keys(security: Alternatives) -> set[tuple[str, str]]:
    """Where credentials go: no model is asked for these."""

    def key(scheme: Scheme) -> tuple[str, str]:
        name = scheme.key.lower() if scheme.place == "header" else scheme.key
        return scheme.place, name

    return {key(scheme) for alternative in security for scheme in alternative}


def _schema_of(spec: Mapping[str, Any]) -> Any:
    """A parameter's schema, which may also stand under its only media type."""
    if "schema" in spec:
        return spec["schema"]
    content = spec.get("content")
    media = next(iter(content.values()), None) if isinstance(content, Mapping) else None
    return media.get("schema", {}) if isinstance(media, Mapping) else {}


def _described(raw: Raw) -> str:
    texts = [raw.spec.get(key) for key in ("summary", "description")]
    kept = dict.fromkeys(t.strip() for t in texts if isinstance(t, str) and t.strip())
    text = "\n\n".join(kept) or raw.title
    return text if len(text) <= _MAX_DESCRIPTION else f"{text[:_MAX_DESCRIPTION]}…"
