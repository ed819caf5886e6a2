"""A typed function as a tool: what a model sees of it, and what of a model's arguments it gets."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from liman_nb.errors import ToolError, UsageError
from liman_nb.tools.functions import describe_function

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForTypeCheckers


class Unit(Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


class Spot(BaseModel):
    lat: float
    lon: float = 0.0


@dataclass
class Span:
    first: int
    rest: list[int]


class Row(TypedDict, total=False):
    key: str


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The JSON schema of a function's arguments."""
    return dict(describe_function(function).schema.parameters)


def refusal(function: Callable[..., Any], arguments: str) -> str:
    """What a model is told about its arguments."""
    with pytest.raises(ToolError) as caught:
        describe_function(function).validate(arguments)
    return str(caught.value)


# ── schemas ──────────────────────────────────────────────────────────────────────────────────────


def test_a_function_is_described_by_its_signature_and_docstring() -> None:
    """Name, description, types, defaults and what each argument is."""

    def get_weather(city: str, days: int = 3) -> str:
        """Tell the weather.

        It is made up.

        Args:
            city: the town,
                with its country.
            days: how many.

        Returns:
            A sentence.
        """
        return f"{city}: {days}"

    schema = describe_function(get_weather).schema
    assert (schema.name, schema.description) == (
        "get_weather",
        "Tell the weather.\n\nIt is made up.",
    )
    assert schema.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "the town, with its country."},
            "days": {"type": "integer", "default": 3, "description": "how many."},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def numpy_style(city: str) -> None:
    """Look it up.

    Parameters
    ----------
    city : str
        The town.
    """


def sphinx_style(city: str) -> None:
    """Look it up.

    :param city: The town.
    """


def google_style(city: str) -> None:
    """Look it up.

    Args:
        city (str): The town.
    """


@pytest.mark.parametrize("function", [numpy_style, sphinx_style, google_style])
def test_docstrings_of_each_style_describe_arguments(function: Callable[..., Any]) -> None:
    """NumPy, Sphinx and Google style say the same."""
    tool = describe_function(function)
    assert tool.schema.description == "Look it up."
    assert tool.schema.parameters["properties"]["city"]["description"] == "The town."


def every_type(
    *,
    unit: Unit,
    mode: Literal["fast", "slow"],
    spot: Spot,
    span: Span,
    row: Row,
    day: date,
    folder: Path,
    names: list[str],
    counts: dict[str, int],
    either: int | str,
    maybe: Optional[float],  # noqa: UP045 - both spellings are in use
    several: Annotated[int, Field(ge=1, le=7, description="From one to seven.")],
    anything,
    none: str = None,  # noqa: RUF013 - a common spelling of an optional argument
    fallback: int = Field(3, description="With a default of its own."),
) -> None:
    """Take everything."""


def test_each_annotation_has_its_schema() -> None:
    """Enums, literals, models, dataclasses, dates, containers, unions, constraints."""
    schema = schema_of(every_type)
    properties, named = schema["properties"], schema["$defs"]
    assert named["Unit"] == {"enum": ["c", "f"], "type": "string"}
    assert named["Spot"]["required"] == ["lat"]
    assert properties["mode"] == {"enum": ["fast", "slow"], "type": "string"}
    assert properties["day"] == {"format": "date", "type": "string"}
    assert properties["names"] == {"type": "array", "items": {"type": "string"}}
    assert properties["counts"] == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert properties["either"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert properties["several"]["maximum"] == 7
    assert properties["several"]["description"] == "From one to seven."
    assert properties["anything"] == {}
    assert properties["none"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    assert properties["fallback"] == {
        "type": "integer", "default": 3, "description": "With a default of its own."
    }  # fmt: skip
    assert set(properties) - set(schema["required"]) == {"none", "fallback"}
    assert '"title"' not in json.dumps(schema)


def test_an_argument_may_have_any_name() -> None:
    """Names that mean something to pydantic or to schemas are only names here."""

    def odd(title: str, model_config: str, properties: int, _private: int, json: int = 1) -> None:
        """Take odd names."""

    assert list(schema_of(odd)["properties"]) == [
        "title", "model_config", "properties", "_private", "json"
    ]  # fmt: skip
    arguments = {"title": "a", "model_config": "b", "properties": 1, "_private": 2}
    assert describe_function(odd).validate(json.dumps(arguments)) == arguments


def test_what_the_engine_gives_is_not_the_models() -> None:
    """A model neither sees nor sets context, credentials and the like."""

    def act(what: str, *, context, credentials, call_id, state, session, answer=None) -> None:
        """Act."""

    assert list(schema_of(act)["properties"]) == ["what"]
    assert "'context' is not expected here" in refusal(act, '{"what": "", "context": {}}')


def test_what_a_partial_fills_in_is_not_the_models() -> None:
    """A key bound by functools.partial stays out of the schema, and cannot be overridden."""

    def search(key: str, query: str, limit: int) -> None:
        """Search."""

    bound = functools.partial(search, "k-1", limit=5)
    tool = describe_function(bound)
    assert (tool.name, tool.schema.description) == ("search", "Search.")
    assert list(tool.schema.parameters["properties"]) == ["query"]
    assert "'limit' is not expected here" in refusal(bound, '{"query": "", "limit": 100}')


class Counter:
    """Counts."""

    def count(self, to: int) -> int:
        """Count up."""
        return to

    async def __call__(self, start: int) -> int:
        """Begin to count."""
        return start


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that keeps the signature, as functools.wraps does."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


async def later(when: date) -> None:
    """Wait."""


@pytest.mark.parametrize(
    ("function", "name", "description", "parameters"),
    [
        (Counter().count, "count", "Count up.", ["to"]),
        (Counter(), "Counter", "Begin to count.", ["start"]),
        (later, "later", "Wait.", ["when"]),
        (decorated(later), "later", "Wait.", ["when"]),
        (functools.lru_cache(numpy_style), "numpy_style", "Look it up.", ["city"]),
    ],
)
def test_every_kind_of_function_is_a_tool(
    function: Callable[..., Any], name: str, description: str, parameters: list[str]
) -> None:
    """Methods, callable objects, async and decorated functions."""
    tool = describe_function(function)
    assert (tool.name, tool.schema.description) == (name, description)
    assert list(tool.schema.parameters["properties"]) == parameters


def test_a_tool_may_be_given_another_name_and_description() -> None:
    """A ToolNode's own words win over the function's."""
    tool = describe_function(later, name="wait-until", description="Wait for a day.")
    assert (tool.name, tool.schema.description) == ("wait-until", "Wait for a day.")


def test_a_function_without_arguments_has_an_empty_schema() -> None:
    """An object schema without properties, as servers want it."""

    def now() -> str:
        return "now"

    assert schema_of(now) == {"type": "object", "properties": {}, "additionalProperties": False}
    assert describe_function(now).schema.description == ""


def unknown_name(x: OnlyForTypeCheckers) -> None:
    """Is annotated with a name that is not defined when it runs."""


def positional(x: int, /) -> None:
    """Take a positional-only argument."""


def any_number(*values: int) -> None:
    """Take any number of arguments."""


def any_name(**values: int) -> None:
    """Take any name."""


def unspeakable(callback: Callable[[], None]) -> None:
    """Take what no JSON is."""


def unreadable(counter: Counter) -> None:
    """Take an object of a class that pydantic does not know."""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (unknown_name, "the annotations of unknown_name cannot be read: NameError: name "
         "'OnlyForTypeCheckers' is not defined"),
        (positional, "the parameter 'x: int' of positional is positional-only"),
        (any_number, "the parameter '*values: int' of any_number takes any number of values"),
        (any_name, "the parameter '**values: int' of any_name takes any name"),
        (unspeakable, "an annotation of unspeakable cannot be given by a model"),
        (unreadable, "an annotation of unreadable cannot be given by a model"),
        (lambda x: x, "'<lambda>' cannot be the name of a tool"),
        (Counter, "a tool is a function, not <class"),
        ("later", "a tool is a function, not 'later'"),
    ],
)  # fmt: skip
def test_a_function_that_cannot_be_a_tool_is_refused(function: Any, message: str) -> None:
    """Once, when it is passed, with the reason; never at the first call."""
    with pytest.raises(UsageError) as caught:
        describe_function(function)
    assert str(caught.value).startswith(message)


def test_a_name_that_models_cannot_call_is_refused() -> None:
    """Letters, digits, underscore and hyphen, at most 64."""
    for name in ("größe", "two words", "a.b", "x" * 65):
        with pytest.raises(UsageError, match="cannot be the name of a tool"):
            describe_function(later, name=name)


# ── arguments ────────────────────────────────────────────────────────────────────────────────────


def test_arguments_arrive_as_what_the_annotations_say() -> None:
    """A nested model arrives as that model, a day as a date, an enum's value as its member."""
    arguments = {
        "unit": "f", "mode": "slow", "spot": {"lat": 1}, "span": {"first": 1.0, "rest": []},
        "row": {"key": "k"}, "day": "2024-02-29", "folder": "a/b", "names": ["x"],
        "counts": {"y": 2}, "either": "7", "maybe": None, "several": 7, "anything": [{}],
    }  # fmt: skip
    assert describe_function(every_type).validate(json.dumps(arguments)) == {
        "unit": Unit.FAHRENHEIT, "mode": "slow", "spot": Spot(lat=1.0), "span": Span(1, []),
        "row": {"key": "k"}, "day": date(2024, 2, 29), "folder": Path("a/b"), "names": ["x"],
        "counts": {"y": 2}, "either": "7", "maybe": None, "several": 7, "anything": [{}],
        "fallback": 3,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "  \n", "{}"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    """Models stream nothing at all for a call without arguments."""

    def ping(times: int = 1) -> None:
        """Ping."""

    assert describe_function(ping).validate(text) == {}


def test_a_whole_number_may_have_a_decimal_point() -> None:
    """JSON knows one kind of number; where a float is wanted it stays one."""

    def add(a: int, b: float, c: Any) -> None:
        """Add."""

    got = describe_function(add).validate('{"a": 4.0, "b": 4, "c": 1.5}')
    assert got == {"a": 4, "b": 4.0, "c": 1.5}
    assert [type(value) for value in got.values()] == [int, float, float]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ('{"days": 1}', "- 'city' is missing"),
        ('{"city": 3}', "- 'city' must be a valid string, got 3"),
        ('{"city": null}', "- 'city' must be a valid string, got null"),
        ('{"city": "", "days": "4"}', "- 'days' must be a valid integer, got \"4\""),
        ('{"city": "", "days": true}', "- 'days' must be a valid integer, got true"),
        ('{"city": "", "days": 8}', "- 'days' must be less than or equal to 7, got 8"),
        ('{"city": "", "unit": "k"}', "- 'unit' must be 'c' or 'f', got \"k\""),
        ('{"city": "", "spots": [{"lat": 1}, {}]}', "- 'spots[1].lat' is missing"),
        ('{"city": "", "either": []}',
         "- 'either' must be a valid integer or must be a valid string, got an array"),
        ('{"ctiy": ""}', "- 'ctiy' is not expected here; did you mean 'city'?"),
        ('{"city": "a", "city": "b"}', '- the key "city" occurs twice'),
        ('{"city": NaN}', "- NaN is not JSON; null says that there is no number"),
        ('{"city": "a"', "- not valid JSON at line 1, column 13: expecting ',' delimiter"),
        ("[]", "- they must be one JSON object, not an array"),
        ("null", "- they must be one JSON object, not null"),
        ('{"parameter_0": "a", "city": "a"}', "- 'parameter_0' is not expected here"),
    ],
)  # fmt: skip
def test_the_model_is_told_what_is_wrong_with_its_arguments(arguments: str, line: str) -> None:
    """One line for each misfit, and what was expected."""

    def forecast(
        city: str,
        days: Annotated[int, Field(le=7)] = 1,
        unit: Unit = Unit.CELSIUS,
        spots: list[Spot] = [],  # noqa: B006 - never changed
        either: int | str = 1,
    ) -> None:
        """Forecast."""

    head, *lines, last = refusal(forecast, arguments).split("\n")
    assert head == "the arguments of forecast do not fit:"
    assert line in lines
    assert last == (
        'Expected arguments: city (string), days (integer, optional), unit ("c" | "f", optional), '
        "spots (array, optional), either (integer | string, optional)"
    )


def test_all_misfits_are_told_at_once() -> None:
    """So that one answer can mend them all."""
    message = refusal(every_type, '{"unit": 1, "names": "x"}')
    assert "'unit' must be" in message
    assert "'names' must be" in message
    assert "'spot' is missing" in message


# ── a rule that holds for all ────────────────────────────────────────────────────────────────────

FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FINITE | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
TYPES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, st.text()),
    (int, st.integers(-(2**63), 2**63 - 1)),
    (float, FINITE),
    (bool, st.booleans()),
    (list[int], st.lists(st.integers(0, 9))),
    (dict[str, float], st.dictionaries(st.text(), FINITE)),
    (str | None, st.none() | st.text()),
    (Literal["a", 1], st.sampled_from(["a", 1])),
    (Any, JSON),
    (inspect.Parameter.empty, JSON),
]
NAMES = st.text("abcdefgh_", min_size=1, max_size=6).filter(lambda name: not iskeyword(name))


@settings(deadline=None)
@given(st.data())
def test_arguments_of_any_signature_round_trip(data: st.DataObject) -> None:
    """What a model sends by the schema arrives equal, whatever the signature."""
    types = data.draw(st.dictionaries(NAMES, st.sampled_from(TYPES), max_size=4))
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(n, keyword, annotation=a) for n, (a, _) in types.items()]

    def function() -> None:
        """Do nothing."""

    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as inspect reads it
    tool = describe_function(function)
    arguments = {name: data.draw(values) for name, (_, values) in types.items()}
    jsonschema.Draft202012Validator(dict(tool.schema.parameters)).validate(arguments)
    assert tool.validate(json.dumps(arguments)) == arguments


def take(a: int = 0, b: str = "", c: Any = None) -> None:
    """Take three arguments or none."""


TAKE = describe_function(take)


@settings(deadline=None)
@given(st.text() | JSON.map(json.dumps))
def test_arguments_of_any_text_are_taken_or_refused(text: str) -> None:
    """Nothing that a model writes raises anything but a ToolError."""
    try:
        taken = TAKE.validate(text)
    except ToolError:
        return
    assert set(taken) <= {"a", "b", "c"}
