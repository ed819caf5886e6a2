"""What an answer must be, in words, from the JSON schema of its question."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from liman_nb.views.answer_forms import answer_form, python_text

FITS = "a value that fits its schema"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, "any JSON value"),
        ({"description": "x"}, "any JSON value"),
        ({"type": "boolean"}, "true or false"),
        ({"type": "string", "maxLength": 5}, "text, at most 5 characters"),
        ({"type": "string", "pattern": "^a"}, "text, matching ^a"),
        ({"type": "integer", "minimum": 1, "maximum": 5}, "a whole number, at least 1, at most 5"),
        ({"type": "number", "exclusiveMinimum": 0}, "a number, above 0"),
        ({"enum": ["yes", "no", 3]}, 'one of "yes", "no" or 3'),
        ({"const": "yes"}, 'only "yes"'),
        ({"type": "array", "items": {"type": "string"}}, "a list, each item text"),
        ({"type": "object"}, "an object"),
        ({"type": ["string", "null"]}, "text or null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "a whole number or null"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "a whole number or text"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "boolean"}}}, "true or false"),
        ({"$ref": "#/$defs/a"}, FITS),
        ({"$ref": "https://example.invalid/schema"}, FITS),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, FITS),
        ({"not": {"type": "string"}}, FITS),
        ({"type": "unheard"}, FITS),
        ({"enum": "no list", "type": "string", "required": 3, "properties": []}, "text"),
    ],
)
def test_a_schema_in_words(schema: dict[str, Any], words: str):
    """Types, choices, bounds, null, references; what is not understood is left to the schema."""
    assert answer_form(schema).words == words


def test_the_fields_of_an_object():
    """In order, with what may be left out, also those that are only required."""
    schema = {"type": "object", "properties": {"a": {}, "b": {"enum": [1]}}, "required": ["b", "c"]}

    fields = answer_form(schema).fields

    assert [(f.name, f.required, f.form.words) for f in fields] == [
        ("a", False, "any JSON value"),
        ("b", True, "only 1"),
        ("c", True, "any JSON value"),
    ]


class Person(BaseModel):
    """A model that refers to itself."""

    name: str
    friends: list[Person] = []


def test_a_schema_that_refers_to_itself_ends():
    """As that of a pydantic model of a tree."""
    form = answer_form(TypeAdapter(Person).json_schema())

    assert [field.name for field in form.fields] == ["name", "friends"]
    assert form.example() == {"name": "…"}


def test_a_schema_that_doubles_with_each_reference_ends():
    """A few lines that stand for millions of parts."""
    part = {"type": "object", "properties": {f"p{n}": {"$ref": "#/$defs/a"} for n in range(50)}}

    assert len(answer_form({"$ref": "#/$defs/a", "$defs": {"a": part}}).fields) == 50


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


KINDS = st.sampled_from(["boolean", "string", "integer", "number", "null", "object", "array"])
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "type": KINDS | st.lists(KINDS, max_size=2) | JSON,
        **dict.fromkeys(
            ["enum", "items", "properties", "required", "$ref", "anyOf", "minimum", "description"],
            JSON,
        ),
        "default": JSON,
        "$defs": JSON,
    },
)


@given(PARTS)
def test_nothing_in_a_schema_is_trusted(schema: dict[str, Any]):
    """Stored rows may hold anything: there are always words and an example."""
    form = answer_form(schema)

    assert form.words
    form.example(every_field=True)


@given(JSON)
def test_python_text_is_python_on_one_line(value: Any):
    """It reads back as the value."""
    text = python_text(value)

    assert eval(text) == value  # noqa: S307 - our own text is what is tested
    assert "\n" not in text
