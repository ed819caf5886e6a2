"""How shapes are written in specs: ``answer: number``, ``steps: [string]``, ``note?: string``.

Reads plain mappings and lists (YAML that is already loaded), reports what is wrong with its path
and goes on, so that one reading finds every mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args

from pydantic import ValidationError

from liman_nb.specs.findings import did_you_mean
from liman_nb.specs.located import Path, in_words
from liman_nb.specs.misfits import misfits
from liman_nb.specs.shapes import Kind, Shape, is_kind, validated, validator

Report = Callable[[Path, str, str], None]
"""Called with the path of a mistake (keys and positions as written), a message and a hint."""

MAX_NESTING = 8
"""Arrays and objects within each other in a declaration."""

MAX_TYPES = 500
"""Types in one declaration; a YAML alias counts wherever it is used."""

_KINDS: Mapping[str, Kind] = {**{kind: kind for kind in get_args(Kind)}, "list": "array"}
_FOREIGN_KINDS = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "dict": "object",
    "mapping": "object",
}
_KEYS: Mapping[str, tuple[str, ...]] = {  # of the long form, and the kinds they have a meaning for
    "type": get_args(Kind),
    "description": get_args(Kind),
    "nullable": get_args(Kind),
    "optional": get_args(Kind),
    "default": get_args(Kind),
    "enum": ("string", "number", "integer", "boolean"),
    "items": ("array",),
    "max_items": ("array",),
    "fields": ("object",),
    "max_length": ("string",),
}
_SPELLINGS = {"properties": "fields", "maxItems": "max_items", "maxLength": "max_length"}
_NULL = (None, "null")
_OBJECT_HINT = "an object is written {type: object, fields: {…}}"


class _Wrong(Exception):
    """A mistake that was reported: there is no shape to go on with."""


class ShapeReader:
    """Reads declarations, within one budget of types.

    Args:
        report: told each mistake.
        name_problem: says what is wrong with a field's name, given whether it stands at the top
            level; an empty text when nothing is.

    Attributes:
        failed: whether a mistake was reported.
    """

    def __init__(self, report: Report, name_problem: Callable[[str, bool], str]) -> None:
        self._report = report
        self._name_problem = name_problem
        self._types_left = MAX_TYPES
        self.failed = False

    def fields(self, raw: Any, path: Path = (), depth: int = 0) -> dict[str, Shape]:
        """The fields of an object.

        Args:
            raw: a mapping of names to types, or a list of types in the long form with a ``name``.
            path: where it stands.
            depth: how many arrays and objects it stands in.
        """
        fields: dict[str, Shape] = {}
        for where, written, notation in self._entries(raw, path):
            name = written.removesuffix("?")
            if problem := self._name_problem(name, depth == 0):
                self.wrong(where, problem)
            elif name in fields:
                self.wrong(where, f"{name!r} is declared twice")
            elif shape := self.try_shape(notation, where, depth, written.endswith("?")):
                fields[name] = shape
        return fields

    def _entries(self, raw: Any, path: Path) -> Iterator[tuple[Path, str, Any]]:
        """Path, name as written and type of each field."""
        if isinstance(raw, Mapping):
            for name, notation in raw.items():
                yield (*path, name), str(name), notation
        elif isinstance(raw, list | tuple):
            yield from self._named(raw, path)
        else:
            self.wrong(path, f"must be a mapping of names to types, not {in_words(raw)}")

    def _named(
        self, raw: list[Any] | tuple[Any, ...], path: Path
    ) -> Iterator[tuple[Path, str, Any]]:
        for i, entry in enumerate(raw):
            if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
                rest = {key: value for key, value in entry.items() if key != "name"}
                yield (*path, i), entry["name"], rest
            else:
                self.wrong((*path, i), "has no name", "write {name: …, type: …}")

    def try_shape(self, raw: Any, path: Path, depth: int, optional: bool = False) -> Shape | None:
        """A type in any notation; ``None`` when it cannot be read, which is then reported."""
        try:
            return self._shape(raw, path, depth, optional)
        except _Wrong:
            return None

    def _shape(self, raw: Any, path: Path, depth: int, optional: bool) -> Shape:
        self._types_left -= 1
        if self._types_left == -1:
            raise self.wrong(path, f"there are more than {MAX_TYPES} types in this declaration")
        if self._types_left < 0:  # said once
            raise _Wrong
        if depth > MAX_NESTING:
            raise self.wrong(path, f"is nested deeper than {MAX_NESTING} levels")
        if isinstance(raw, str):
            return Shape(self.kind(raw, path), optional=optional)
        if isinstance(raw, list | tuple):
            return Shape("array", optional=optional, items=self._only_item(raw, path, depth))
        if isinstance(raw, Mapping):
            return _LongForm(self, raw, path, depth).shape(optional)
        raise self.wrong(path, f"must be a type, not {in_words(raw)}", "write 'string', say")

    def _only_item(self, raw: list[Any] | tuple[Any, ...], path: Path, depth: int) -> Shape:
        if len(raw) != 1:
            raise self.wrong(path, f"a list holds one type, not {len(raw)}", "write [string], say")
        return self._shape(raw[0], (*path, 0), depth + 1, optional=False)

    def kind(self, text: str, path: Path) -> Kind:
        """The kind of a type's name; an unknown one is reported and raised."""
        if kind := _KINDS.get(text):
            return kind
        if text.rstrip("?") in _KINDS:
            hint = "a '?' at the end of the field's name makes it optional"
        elif foreign := _FOREIGN_KINDS.get(text.lower()):
            hint = f"did you mean {foreign!r}?"
        else:
            hint = did_you_mean(text, _KINDS) or f"the types are {', '.join(_KINDS)}"
        raise self.wrong(path, f"unknown type {text!r}", hint)

    def wrong(self, path: Path, message: str, hint: str = "") -> _Wrong:
        """Report a mistake; raise what is returned where there is nothing to go on with."""
        self.failed = True
        self._report(path, message, hint)
        return _Wrong()


class _LongForm:
    """One type written as a mapping: ``{type: …, description: …}``.

    Args:
        reader: reads what stands inside, and takes mistakes.
        raw: the mapping.
        path: where it stands.
        depth: how many arrays and objects it stands in.
    """

    def __init__(self, reader: ShapeReader, raw: Mapping[Any, Any], path: Path, depth: int) -> None:
        self._reader, self._path, self._depth = reader, path, depth
        self._given = {_SPELLINGS.get(key, key): value for key, value in raw.items()}
        self._written = {_SPELLINGS.get(key, key): key for key in raw}
        if len(self._given) < len(raw):
            reader.wrong(path, "says one thing twice, by two spellings of a key")

    def shape(self, optional: bool) -> Shape:
        if self._given.keys().isdisjoint(_KEYS):
            raise self._reader.wrong(self._path, "is a mapping without 'type'", _OBJECT_HINT)
        for key in self._given:
            self._check_key(key)
        kinds = self._kinds()
        for key in self._given:
            self._check_meaning(key, kinds)
        enum = self._enum(kinds)
        allowed = tuple(k for k in kinds if not enum or any(is_kind(v, k) for v in enum))
        shapes = tuple(self._bare(kind, enum) for kind in allowed or kinds)
        shape = replace(
            shapes[0],
            description=self._description(),
            nullable=self._flag("nullable") or self._lists_null(),
            optional=optional or self._flag("optional") or "default" in self._given,
            has_default="default" in self._given,
            default=self._given.get("default"),
            alternatives=shapes if len(shapes) > 1 else (),
        )
        self._check_default(shape)
        return shape

    def _bare(self, kind: Kind, enum: tuple[Any, ...]) -> Shape:
        """What is said of one type."""
        return Shape(
            kind,
            enum=tuple(value for value in enum if is_kind(value, kind)),
            items=self._items() if kind in _KEYS["items"] else None,
            fields=self._fields() if kind in _KEYS["fields"] else None,
            max_items=self._bound("max_items") if kind in _KEYS["max_items"] else None,
            max_length=self._bound("max_length") if kind in _KEYS["max_length"] else None,
        )

    def _at(self, key: Any) -> Path:
        return (*self._path, self._written[key])

    def _check_key(self, key: Any) -> None:
        if key == "required":
            hint = "a field is required unless its name ends with '?'"
        else:
            hint = did_you_mean(str(key), (*_KEYS, *_SPELLINGS)) or _OBJECT_HINT
        if key not in _KEYS:
            self._reader.wrong(self._at(key), f"unknown key {key!r} in a type", hint)

    def _check_meaning(self, key: Any, kinds: tuple[Kind, ...]) -> None:
        if set(kinds).isdisjoint(_KEYS.get(key, get_args(Kind))):
            hint = "put it into 'items'" if (key, kinds) == ("enum", ("array",)) else ""
            message = f"{self._written[key]!r} has no meaning for the type {' or '.join(kinds)}"
            self._reader.wrong(self._at(key), message, hint)

    def _kinds(self) -> tuple[Kind, ...]:
        """The type, or the several types (as in JSON schema) of which it is one."""
        if "type" in self._given:
            return self._written_kinds(self._given["type"], self._at("type"))
        if "enum" in self._given:
            return (_common_kind(self._given["enum"]),)
        if "items" in self._given:
            return ("array",)
        if "fields" in self._given:
            return ("object",)
        raise self._reader.wrong(self._path, "has no 'type'", _OBJECT_HINT)

    def _written_kinds(self, written: Any, path: Path) -> tuple[Kind, ...]:
        if isinstance(written, str):
            return (self._reader.kind(written, path),)
        names = [n for n in written if n not in _NULL] if isinstance(written, list | tuple) else []
        if not names or not all(isinstance(name, str) for name in names):
            what = f"must be the name of a type, or a list of names, not {in_words(written)}"
            raise self._reader.wrong(path, what)
        return tuple(dict.fromkeys(self._reader.kind(name, path) for name in names))

    def _lists_null(self) -> bool:
        """Whether null stands among several types, or in the enum."""
        types, enum = self._given.get("type"), self._given.get("enum")
        lists_type = isinstance(types, list | tuple) and any(name in _NULL for name in types)
        return lists_type or (isinstance(enum, list | tuple) and None in enum)

    def _description(self) -> str:
        text = self._given.get("description", "")
        if not isinstance(text, str):
            self._reader.wrong(self._at("description"), f"must be text, not {in_words(text)}")
        return text if isinstance(text, str) else ""

    def _flag(self, key: str) -> bool:
        flag = self._given.get(key, False)
        if not isinstance(flag, bool):
            self._reader.wrong(self._at(key), f"must be true or false, not {in_words(flag)}")
        return flag is True

    def _bound(self, key: str) -> int | None:
        bound = self._given.get(key, 1)
        if isinstance(bound, bool) or not isinstance(bound, int) or bound < 1:
            what = f"must be a whole number from 1, not {in_words(bound)}"
            self._reader.wrong(self._at(key), what)
            return None
        return bound if key in self._given else None

    def _enum(self, kinds: tuple[Kind, ...]) -> tuple[Any, ...]:
        enum = self._given.get("enum", ())
        if "enum" in self._given and not (isinstance(enum, list | tuple) and enum):
            self._reader.wrong(self._at("enum"), "must be a list of at least one value")
            return ()
        scalars = [kind for kind in kinds if kind in _KEYS["enum"]]
        for i, value in enumerate(enum if scalars else ()):
            if value is not None and not any(is_kind(value, kind) for kind in scalars):
                what = f"{in_words(value)} is not of the type {' or '.join(scalars)}"
                self._reader.wrong((*self._at("enum"), i), what)
        return tuple(value for value in enum if value is not None)

    def _items(self) -> Shape | None:
        if "items" not in self._given:
            return None
        return self._reader.try_shape(self._given["items"], self._at("items"), self._depth + 1)

    def _fields(self) -> dict[str, Shape] | None:
        if "fields" not in self._given:
            return None
        return self._reader.fields(self._given["fields"], self._at("fields"), self._depth + 1)

    def _check_default(self, shape: Shape) -> None:
        if not shape.has_default or self._reader.failed:
            return
        if shape.default is None and not shape.nullable:
            what = "null is not among the values"
            self._reader.wrong(self._at("default"), what, "add 'nullable: true'")
            return
        try:
            validated(validator(shape), shape.default)
        except ValidationError as exc:
            self._reader.wrong(self._at("default"), "; ".join(misfits(exc, shape.default)))


def _common_kind(enum: Any) -> Kind:
    """The narrowest type that fits every value of an enum; `string` when none does."""
    values = [v for v in enum if v is not None] if isinstance(enum, list | tuple) else []
    kinds: tuple[Kind, ...] = ("boolean", "integer", "number")
    return next((k for k in kinds if values and all(is_kind(v, k) for v in values)), "string")
