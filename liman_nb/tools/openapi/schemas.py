"""OpenAPI's schemas as one self-contained JSON schema of a tool's arguments.

OpenAPI 3.0 has a dialect of its own (`Schema Object`_: ``nullable``, boolean ``exclusiveMinimum``),
3.1 is JSON Schema 2020-12. Only what describes values is kept. Two keywords are made weaker, since
descriptions often get them wrong and the server checks anyway: ``oneOf`` becomes ``anyOf``, and
parts of an ``allOf`` forbid no other names.

.. _Schema Object: https://spec.openapis.org/oas/v3.0.4.html#schema-object
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from liman_nb.tools.openapi.document import BadReference, Description

MAX_VALUES = 2_000
"""Values in one tool's schema, those that are referred to last. Beyond that any value is taken."""

MAX_TEXT = 400
"""Characters of one description."""

_MAX_DEPTH = 40
_TYPES = ("null", "boolean", "object", "array", "number", "string", "integer")
_NUMBERS = ("minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum")
_COUNTS = (
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minContains", "maxContains"),
)
_ONE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_LISTS = {"allOf": "allOf", "anyOf": "anyOf", "oneOf": "anyOf", "prefixItems": "prefixItems"}
_AS_IT_IS: Mapping[str, type | tuple[type, ...]] = {
    "description": str,
    "format": str,
    "pattern": str,
    "uniqueItems": bool,
    "default": object,
    "const": object,
    **dict.fromkeys(_NUMBERS, (int, float)),
    **dict.fromkeys(_COUNTS, int),
}


class ArgumentsSchema:
    """Makes the JSON schema of one tool's arguments.

    Args:
        description: where references lead.
        note: told of what was left out.
    """

    def __init__(self, description: Description, note: Callable[[str], None]) -> None:
        self._description, self._note = description, note
        self._names: dict[str, str] = {}
        self._waiting: deque[str] = deque()
        self._values = self._cut = 0

    def of(self, properties: Mapping[str, Any], required: Iterable[str]) -> dict[str, Any]:
        """The object schema.

        Args:
            properties: schemas as the description has them, by argument.
            required: the arguments that cannot be left out.
        """
        made = {name: self._schema(schema, 0) for name, schema in properties.items()}
        named = self._referred()
        whole: dict[str, Any] = {"type": "object", "properties": made}
        if needed := list(required):
            whole["required"] = needed
        return whole | {"additionalProperties": False} | ({"$defs": named} if named else {})

    def _referred(self) -> dict[str, Any]:
        """The schemas that are referred to, the nearest first, until they are too many."""
        named: dict[str, Any] = {}
        while self._waiting:
            reference = self._waiting.popleft()
            name = self._names[reference]
            try:
                schema = self._description.at(reference)
            except BadReference as error:
                self._note(f"{error}; any value is taken there")
                named[name] = {}
                continue
            named[name] = self._schema(schema, 0)
        if self._cut:
            self._note(
                f"its arguments are too big to be described in full; any value is taken for "
                f"{self._cut:,} of their schemas"
            )
        return named

    # ── one schema ───────────────────────────────────────────────────────────────────────────────

    def _schema(self, schema: Any, depth: int) -> Any:
        self._values += 1
        if self._values > MAX_VALUES:
            self._cut += 1
            return {}
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return {}
        kept = {k: v for k, v in schema.items() if _is_kept(k, v)}
        if "description" in kept:
            kept["description"] = _capped(kept["description"])
        if "$ref" in schema:
            described = {k: v for k, v in kept.items() if k == "description"}
            own = described if self._description.is_3_0 else kept
            return self._reference(schema["$ref"]) | own
        kept |= self._types(schema) | self._inner(schema, depth) | self._properties(schema, depth)
        return self._of_3_0(kept, schema) if self._description.is_3_0 else kept

    def _reference(self, reference: Any) -> dict[str, Any]:
        key = str(reference)
        if key not in self._names:
            stem = re.sub(r"[^A-Za-z0-9_.-]", "_", key.rpartition("/")[2])[:64] or "schema"
            taken, name, count = set(self._names.values()), stem, 2
            while name in taken:
                name, count = f"{stem}_{count}", count + 1
            self._names[key] = name
            self._waiting.append(key)
        return {"$ref": f"#/$defs/{self._names[key]}"}

    def _types(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """``type`` and ``enum``, as far as they are such."""
        made: dict[str, Any] = {}
        declared = schema.get("type")
        types = [t for t in (declared if isinstance(declared, list) else [declared]) if t in _TYPES]
        if types:
            made["type"] = types if isinstance(declared, list) else types[0]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            made["enum"] = list(schema["enum"])
            self._values += len(schema["enum"])
        return made

    def _inner(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """The schemas within, but for the properties."""
        made: dict[str, Any] = {}
        for key in _ONE:
            if isinstance(schema.get(key), Mapping | bool):
                made[key] = self._schema(schema[key], depth + 1)
        if "patternProperties" in schema:
            made.pop("additionalProperties", None)
        for key, name in _LISTS.items():
            if isinstance(schema.get(key), list) and schema[key]:
                parts = [self._schema(part, depth + 1) for part in schema[key]]
                if name == "allOf":
                    parts = [_open(part) for part in parts]
                made[name] = [*made.get(name, ()), *parts]
        return made

    def _properties(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """The properties that may be sent: those that are only read are left out."""
        declared = schema.get("properties")
        if not isinstance(declared, Mapping):
            declared = {}
        sent = {k: v for k, v in declared.items() if not _only_read(v)}
        made: dict[str, Any] = {}
        if sent:
            made["properties"] = {k: self._schema(v, depth + 1) for k, v in sent.items()}
        required = schema.get("required")
        if isinstance(required, list):
            unread = declared.keys() - sent.keys()
            names = dict.fromkeys(k for k in required if isinstance(k, str) and k not in unread)
            made |= {"required": list(names)} if names else {}
        return made

    def _of_3_0(self, made: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The keywords that OpenAPI 3.0 has otherwise than JSON Schema."""
        for limit, key in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if schema.get(key) is True and limit in made:
                made[key] = made.pop(limit)
        if schema.get("nullable") is not True:
            return made
        if "enum" in made and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
        if "type" in made:
            types = made["type"] if isinstance(made["type"], list) else [made["type"]]
            return made | {"type": [*types, "null"]}
        if not made.keys() & {"allOf", "anyOf", "not"}:
            return made
        text = {k: made.pop(k) for k in ("description",) if k in made}
        return {"anyOf": [made, {"type": "null"}], **text}


def _is_kept(key: str, value: Any) -> bool:
    kind = _AS_IT_IS.get(key, ())
    return isinstance(value, kind) and (kind in (object, bool) or not isinstance(value, bool))


def _only_read(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("readOnly") is True


def _open(schema: Any) -> Any:
    """A part of an ``allOf``; if it forbade other names, the parts could never agree."""
    if isinstance(schema, dict) and schema.get("additionalProperties") is False:
        return {k: v for k, v in schema.items() if k != "additionalProperties"}
    return schema


def _capped(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"
