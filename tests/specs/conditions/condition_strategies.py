"""Conditions and data as hypothesis makes them up, and objects that tell when they are touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from liman_nb.specs.conditions import ErrorView, View
from liman_nb.specs.conditions.tree import (
    KEYWORDS,
    Arithmetic,
    Call,
    Comparison,
    Constant,
    Items,
    Logic,
    Name,
    Negative,
    Not,
    Tree,
)

FIRST_WORDS = ("a", "b", "größe", "_x", "android", "input", "output", "state", "context", "session")
KEYS = ("a", "b", "not", "my-key", "it's", "größe", "a\nb", "\\", "")

# ── trees ────────────────────────────────────────────────────────────────────────────────────────

numbers = st.integers(-(10**20), 10**20) | st.floats(-1e30, 1e30, allow_nan=False)
constants = st.builds(Constant, st.none() | st.booleans() | numbers | st.text(max_size=8))
names = st.builds(
    lambda first, rest: Name((first, *rest)),
    st.sampled_from(FIRST_WORDS)
    | st.from_regex(r"[^\W\d]\w{0,5}", fullmatch=True).filter(lambda w: w.lower() not in KEYWORDS),
    st.lists(st.sampled_from(KEYS) | st.integers(-3, 3), max_size=3),
)
likely_names = st.builds(
    lambda first, rest: Name((first, *rest)),
    st.sampled_from(["a", "b", "output", "input", "state", "context"]),
    st.lists(st.sampled_from(["a", "b", 0]), max_size=2),
)
errors = st.builds(
    lambda types: Call("is_error", tuple(map(Constant, types))),
    st.lists(st.sampled_from(["ValueError", "OSError", "it's"]), max_size=2),
)
calls = errors | st.just(Call("now", ()))


def _negative(operand: Tree) -> Tree:
    is_number = isinstance(operand, Constant) and operand.kind in {int, float}
    return operand if is_number else Negative(operand)


def _branches(parts: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    relations = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])
    sums = st.lists(st.tuples(st.sampled_from("+-"), parts), min_size=1, max_size=3)
    products = st.lists(st.tuples(st.sampled_from("*/%"), parts), min_size=1, max_size=3)
    some = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return (
        st.builds(Comparison, parts, relations, parts)
        | st.builds(Logic, st.sampled_from(["and", "or"]), some)
        | st.builds(Not, parts)
        | st.builds(Arithmetic, parts, (sums | products).map(tuple))
        | st.builds(_negative, parts)
        | st.builds(Items, st.lists(parts, max_size=3).map(tuple))
        | st.builds(lambda part: Call("len", (part,)), parts)
    )


trees = st.recursive(constants | names | calls, _branches, max_leaves=12)
"""Trees as the parser makes them: every one of them can be written down."""

shapes = st.recursive(
    st.sampled_from([Name(("a",)), Name(("b",)), Constant(1), Constant(-1), Constant("x")]),
    _branches,
    max_leaves=6,
)
"""Trees that differ in how they are put together more than in what of."""

questions = st.recursive(likely_names | constants | likely_names | calls, _branches, max_leaves=8)
"""Trees whose names often have a value in `views`."""


# ── data ─────────────────────────────────────────────────────────────────────────────────────────

TOUCHED: list[str] = []
"""What was done to objects that conditions must leave alone."""


def _touch(name: str) -> Any:
    def method(*_: Any, **__: Any) -> Any:
        TOUCHED.append(name)
        raise RuntimeError(f"{name} was called")

    return method


_OPERATIONS = (
    "getattribute getattr eq ne lt le gt ge hash bool len iter contains getitem call str repr "
    "format add radd sub rsub mul rmul truediv mod rmod neg int float index reversed missing"
)
_METHODS = [f"__{name}__" for name in _OPERATIONS.split(" ")] + ["get", "items", "keys", "values"]

Wary = type("Wary", (), {name: _touch(name) for name in _METHODS})
"""An object that notes and refuses whatever is done to it."""

WaryText = type("WaryText", (str,), {name: _touch(name) for name in _METHODS})
WaryNumber = type("WaryNumber", (int,), {name: _touch(name) for name in _METHODS})
WaryFloat = type("WaryFloat", (float,), {name: _touch(name) for name in _METHODS})
WaryList = type("WaryList", (list,), {name: _touch(name) for name in _METHODS})
WaryTuple = type("WaryTuple", (tuple,), {name: _touch(name) for name in _METHODS})
WaryDict = type("WaryDict", (dict,), {name: _touch(name) for name in _METHODS})


class FailingMapping(Mapping[str, Any]):
    """A mapping that raises something new wherever it may be asked, and notes all else."""

    def __getattribute__(self, name: str) -> Any:
        TOUCHED.append(name)
        raise AttributeError(name)

    def __getitem__(self, key: str) -> Any:
        raise ArithmeticError(key)

    def __iter__(self) -> Iterator[str]:
        raise RecursionError

    def __len__(self) -> int:
        raise ValueError("no length")


class LazyMapping(Mapping[str, Any]):
    """A mapping that is no dictionary and works."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def __getitem__(self, key: str) -> Any:
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


@dataclass(frozen=True)
class Strange:
    """Stands for a strange value until the test begins, since hypothesis looks at what it makes."""

    name: str

    def made(self) -> Any:
        """The value itself."""
        return STRANGE[self.name]()


class Unhashable(type):
    """A class whose classes have no hash: the type of a value is nothing to count on either."""

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("a class was compared")

    __hash__ = None  # type: ignore[assignment]  # that is the point


class Odd(metaclass=Unhashable):
    """An object of such a class."""


def endless() -> list[Any]:
    """A list that contains itself."""
    items: list[Any] = [1]
    items.append(items)
    return items


STRANGE: dict[str, Callable[[], Any]] = {
    "object": Wary,
    "text": lambda: WaryText("a"),
    "number": lambda: WaryNumber(3),
    "float": lambda: WaryFloat(0.5),
    "list": lambda: WaryList([1, "a"]),
    "tuple": lambda: WaryTuple((1, "a")),
    "dictionary": lambda: WaryDict(a=1),
    "failing mapping": FailingMapping,
    "lazy mapping": lambda: LazyMapping({"a": 1, "b": [2]}),
    "class": lambda: Wary,
    "object of a strange class": Odd,
    "not a number": lambda: float("nan"),
    "infinity": lambda: float("-inf"),
    "huge number": lambda: 10**5000,
    "long text": lambda: "x" * 100_000,
    "long list": lambda: ["x"] * 50_000,
    "half a character": lambda: "\ud800",
    "bytes": lambda: b"bytes",
    "set": lambda: {1, 2},
    "odd keys": lambda: {1: "a", None: "b", (1, 2): "c", "\ud800": "d"},
    "endless list": endless,
    "time": lambda: datetime(2025, 1, 1, tzinfo=UTC),
}


def made(data: Any) -> Any:
    """Data with every strange value in its place."""
    if isinstance(data, Strange):
        return data.made()
    if isinstance(data, list):
        return [made(item) for item in data]
    if isinstance(data, dict):
        return {key: made(item) for key, item in data.items()}
    return data


def made_view(view: View) -> View:
    """A view with every strange value in its place."""
    parts = ("yields", "output", "input", "state", "context", "session")
    return View(**{part: made(getattr(view, part)) for part in parts}, error=view.error)


strange = st.sampled_from(sorted(STRANGE)).map(Strange)
json_data = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=5) | st.sampled_from(["a", "b"]),
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", *KEYS]), parts, max_size=4)
    ),
    max_leaves=8,
)
any_data = st.recursive(
    json_data | strange,
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", *KEYS]), parts, max_size=4)
    ),
    max_leaves=8,
)


def views(data: st.SearchStrategy[Any]) -> st.SearchStrategy[View]:
    """Views whose every place may hold such data under the names `a` and `b`."""
    fields = st.fixed_dictionaries({}, optional={"a": data, "b": data})
    error = st.none() | st.just(ErrorView("TimeoutError", ("TimeoutError", "OSError"), "late"))
    return st.builds(
        View,
        yields=st.none() | fields,
        output=data,
        input=data | fields,
        state=fields,
        context=fields,
        session=fields,
        error=error,
    )
