"""Bounds go into a schema wherever it leaves a size open, and nowhere else."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from liman_nb.models.bounded_schema import bounded_schema

STRING, ARRAY = {"type": "string"}, {"type": "array"}
BOUND_STRING = {"type": "string", "maxLength": 200}
BOUND_ARRAY = {"type": "array", "maxItems": 5}


@pytest.mark.parametrize(
    ("schema", "bounded"),
    [
        (STRING, BOUND_STRING),
        (ARRAY, BOUND_ARRAY),
        ({"type": "integer"}, {"type": "integer"}),
        ({}, {}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"], "maxLength": 200}),
        ({"type": ["array", "null"]}, {"type": ["array", "null"], "maxItems": 5}),
        ({"type": "string", "maxLength": 900}, {"type": "string", "maxLength": 900}),
        ({"type": "array", "maxItems": 90}, {"type": "array", "maxItems": 90}),
        ({"type": "array", "minItems": 8}, {"type": "array", "minItems": 8, "maxItems": 8}),
        ({**STRING, "minLength": 300}, {**STRING, "minLength": 300, "maxLength": 300}),
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        ({"type": "string", "const": "a"}, {"type": "string", "const": "a"}),
        ({"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^a"}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"type": "array", "items": STRING}, {**BOUND_ARRAY, "items": BOUND_STRING}),
        ({"properties": {"type": STRING}}, {"properties": {"type": BOUND_STRING}}),
        ({"properties": {"items": ARRAY}}, {"properties": {"items": BOUND_ARRAY}}),
        ({"anyOf": [STRING, {"type": "null"}]}, {"anyOf": [BOUND_STRING, {"type": "null"}]}),
        ({"prefixItems": [STRING]}, {"prefixItems": [BOUND_STRING]}),
        ({"$defs": {"t": STRING}}, {"$defs": {"t": BOUND_STRING}}),
        ({"additionalProperties": STRING}, {"additionalProperties": BOUND_STRING}),
        ({"additionalProperties": False}, {"additionalProperties": False}),
        ({"default": STRING, "examples": [ARRAY]}, {"default": STRING, "examples": [ARRAY]}),
    ],
)
def test_where_bounds_go(schema: dict[str, Any], bounded: dict[str, Any]):
    """Each keyword that holds schemas is followed; values that only look like schemas are not."""
    assert bounded_schema(schema) == bounded


def test_other_bounds():
    """The bounds can be chosen, and reach the depth."""
    schema = {"properties": {"tags": {"type": "array", "items": STRING}}}
    tags = bounded_schema(schema, items=2, characters=9)["properties"]["tags"]
    assert tags == {"type": "array", "items": {"type": "string", "maxLength": 9}, "maxItems": 2}


SCHEMAS = st.recursive(
    st.sampled_from(
        [STRING, {"type": "integer"}, {"type": ["string", "null"]}, {"enum": ["a", 1]}]
    ),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(
            lambda fields: {"type": "object", "properties": fields, "required": list(fields)},
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        )
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3) | st.text(min_size=201, max_size=210),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)


@given(SCHEMAS, VALUES)
def test_a_bounded_reply_fits(schema: dict[str, Any], value: Any):
    """What satisfies the bounded schema satisfies the schema itself."""
    valid = jsonschema.Draft202012Validator(schema).is_valid(value)
    bounded = jsonschema.Draft202012Validator(bounded_schema(schema)).is_valid(value)
    assert valid or not bounded


@given(SCHEMAS)
def test_bounding_again(schema: dict[str, Any]):
    """Bounding twice is bounding once, and the given schema is left alone."""
    before = copy.deepcopy(schema)
    once = bounded_schema(schema)
    assert bounded_schema(once) == once
    assert schema == before
