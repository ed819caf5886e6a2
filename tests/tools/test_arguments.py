"""A ToolNode's declared arguments: what a model sees of them, and what the function gets."""

from __future__ import annotations

import json
from datetime import date
from enum import Enum
from typing import Any

import pytest

from liman_nb.errors import ToolError, UsageError
from liman_nb.specs.documents import ToolNodeSpec
from liman_nb.tools.arguments import DeclaredTool, describe_arguments, parse_arguments
from liman_nb.tools.functions import Tool, describe_function

ORDER = [
    {"name": "city", "type": "string", "description": "The town."},
    {"name": "days", "type": "integer", "optional": True},
    {"name": "unit", "type": "string", "enum": ["c", "f"], "default": "c"},
    {"name": "spots", "type": "array", "items": {"type": "object", "properties": [
        {"name": "lat", "type": "number"}, {"name": "label", "type": "string", "optional": True},
    ]}, "optional": True},
]  # fmt: skip


def tool(arguments: Any = ORDER, function: Any = None) -> DeclaredTool:
    """A tool of those arguments."""
    return describe_arguments("forecast", "Forecast.", arguments, function)


def test_declared_arguments_have_a_schema() -> None:
    """Required unless optional or with a default; nothing else is allowed."""
    spot = {
        "type": "object",
        "properties": {"lat": {"type": "number"}, "label": {"type": "string"}},
        "required": ["lat"],
        "additionalProperties": False,
    }
    schema = tool().schema
    assert (schema.name, schema.description) == ("forecast", "Forecast.")
    assert schema.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The town."},
            "days": {"type": "integer"},
            "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
            "spots": {"type": "array", "items": spot},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_arguments_may_be_written_as_in_yields() -> None:
    """A mapping of names to types says the same, in short."""
    short = {"city": "string", "days?": "integer", "tags": ["string"]}
    assert tool(short).schema.parameters["required"] == ["city", "tags"]
    assert tool(short).validate('{"city": "Rome", "tags": []}') == {"city": "Rome", "tags": []}


def test_arguments_of_a_specs_document_are_understood() -> None:
    """A ToolNode's document holds them as models; defaults that are not written do not count."""
    spec = ToolNodeSpec(name="forecast", arguments=[{**entry} for entry in ORDER])
    assert spec.arguments is not None
    assert tool(spec.arguments).schema == tool().schema


def test_declared_arguments_are_validated() -> None:
    """Types at their word, defaults filled in, null for an optional argument means absent."""
    assert tool().validate('{"city": "Rome", "days": null}') == {"city": "Rome", "unit": "c"}
    arguments = '{"city": "Rome", "days": 2.0, "unit": "f", "spots": [{"lat": 1}]}'
    assert tool().validate(arguments) == {
        "city": "Rome", "days": 2, "unit": "f", "spots": [{"lat": 1}]
    }  # fmt: skip
    assert tool([]).validate("") == {}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("", "- 'city' is missing"),
        ('{"city": 1}', "- 'city' must be a string, got 1"),
        ('{"city": "", "days": "2"}', "- 'days' must be a whole number, got \"2\""),
        ('{"city": "", "unit": "k"}', '- \'unit\' must be one of "c", "f", got "k"'),
        ('{"city": "", "spots": [{}]}', "- 'spots[0].lat' is missing"),
        ('{"ctiy": ""}', "- 'ctiy' is not expected here; did you mean 'city'?"),
        ("3", "- they must be one JSON object, not 3"),
    ],
)
def test_the_model_is_told_what_is_wrong(arguments: str, line: str) -> None:
    """In the words that a function's own arguments have."""
    with pytest.raises(ToolError) as caught:
        tool().validate(arguments)
    head, *lines, last = str(caught.value).split("\n")
    assert head == "the arguments of forecast do not fit:"
    assert line in lines
    assert last == (
        'Expected arguments: city (string), days (integer, optional), unit ("c" | "f", optional), '
        "spots (array, optional)"
    )


def test_both_kinds_of_tool_are_used_alike() -> None:
    """The engine asks neither which it has."""

    def forecast(city: str) -> None:
        """Forecast."""

    tools: list[Tool] = [describe_function(forecast), tool([{"name": "city", "type": "string"}])]
    assert [t.validate('{"city": "Rome"}') for t in tools] == [{"city": "Rome"}] * 2
    assert [t.schema.name for t in tools] == ["forecast", "forecast"]


# ── with the function ────────────────────────────────────────────────────────────────────────────


class Unit(Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


def test_the_functions_annotations_apply_too() -> None:
    """A declared text arrives as the date or the enum member that the function asks for."""

    def forecast(day: date, unit: Unit = Unit.CELSIUS, context: Any = None) -> None:
        """Forecast."""

    declared = [
        {"name": "day", "type": "string"},
        {"name": "unit", "type": "string", "default": "f"},
    ]
    both = tool(declared, forecast)
    assert both.validate('{"day": "2024-02-29"}') == {
        "day": date(2024, 2, 29), "unit": Unit.FAHRENHEIT
    }  # fmt: skip
    with pytest.raises(ToolError, match="'day' must be a valid date"):
        both.validate('{"day": "tomorrow"}')


def test_a_description_that_is_missing_is_the_functions() -> None:
    """The spec's own words win; without any, the docstring's hold."""

    def forecast(city: str) -> None:
        """Say what comes."""

    declared = {"city": "string"}
    assert describe_arguments("f", "", declared, forecast).schema.description == "Say what comes."
    assert describe_arguments("f", "Mine.", declared, forecast).schema.description == "Mine."


def test_an_absent_argument_is_left_to_the_function() -> None:
    """Its own default holds where the declaration has none."""

    def forecast(city: str, days: int = 7) -> None:
        """Forecast."""

    declared = [
        {"name": "city", "type": "string"},
        {"name": "days", "type": "integer", "optional": True},
    ]
    assert tool(declared, forecast).validate('{"city": "Rome"}') == {"city": "Rome"}


def test_a_function_of_any_name_takes_what_is_declared() -> None:
    """With `**arguments`, even names that Python has no way to write."""

    def call(**arguments: Any) -> None:
        """Call."""

    declared = [{"name": "X-Request-Id", "type": "string"}]
    assert tool(declared, call).validate('{"X-Request-Id": "7"}') == {"X-Request-Id": "7"}


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"city": "string", "days": "integer", "hour": "integer"}, "does not take hour"),
        ({"city": "string"}, "cannot do without days"),
        ({"city": "string", "days?": "integer"}, "cannot do without days"),
    ],
)
def test_a_function_that_does_not_match_is_refused(declared: Any, message: str) -> None:
    """Before any model is asked."""

    def forecast(city: str, days: int, hour_of_day: int = 12) -> None:
        """Forecast."""

    with pytest.raises(UsageError) as caught:
        tool(declared, forecast)
    assert str(caught.value) == (
        f"the function forecast {message}, but the ToolNode forecast declares other arguments; "
        "change one of the two"
    )


def test_a_default_makes_up_for_a_required_parameter() -> None:
    """The declaration fills it in before the call."""

    def forecast(days: int) -> None:
        """Forecast."""

    declared = {"days": {"type": "integer", "default": 2}}
    assert tool(declared, forecast).validate("") == {"days": 2}


# ── wrong declarations ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("raw", "path", "message"),
    [
        ([{"type": "string"}], (0,), "has no name"),
        (["city"], (0,), "has no name"),
        ([{"name": " ", "type": "string"}], (0,), "an argument needs a name"),
        ([{"name": "a", "type": "strin"}], (0, "type"), "unknown type 'strin'"),
        ([{"name": "a"}], (0,), "is a mapping without 'type'"),
        ([{"name": "a", "type": "string"}, {"name": "a", "type": "string"}], (1,),
         "'a' is declared twice"),
        ([{"name": "o", "type": "object", "properties": [{"name": "b", "type": 1}]}],
         (0, "properties", 0, "type"),
         "must be the name of a type, or a list of names, not the number 1"),
        (3, (), "must be a mapping of names to types, not the number 3"),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_reported_at_its_path(raw: Any, path: Any, message: str) -> None:
    """As for yields; a declaration that is used anyway is a UsageError."""
    reported: list[tuple[Any, str]] = []
    shape = parse_arguments(raw, lambda where, what, _: reported.append((where, what)))
    assert (shape, reported) == (None, [(path, message)])
    with pytest.raises(UsageError, match=r"^the tool forecast: arguments"):
        tool(raw)


def test_every_declared_type_takes_its_values() -> None:
    """Text, numbers, booleans, lists, objects, several types, with and without fields."""
    declared = {
        "text": "string", "number": "number", "whole": "integer", "flag": "boolean",
        "list": "array", "texts": ["string"], "anything": "object",
        "either": {"type": ["string", "integer"]}, "maybe": {"type": ["string", "null"]},
    }  # fmt: skip
    arguments = {
        "text": "a", "number": 1.5, "whole": 2, "flag": True, "list": [1, "b", None],
        "texts": ["c"], "anything": {"d": {}}, "either": 3, "maybe": None,
    }  # fmt: skip
    assert tool(declared).validate(json.dumps(arguments)) == arguments
