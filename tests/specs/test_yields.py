"""What a spec may declare as yields, what is sent to a model for it, and what counts as fitting."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from liman_nb.errors import YieldsError
from liman_nb.specs.yields import RESERVED_NAMES, YieldsSchema, parse_yields

Reported = list[tuple[tuple[str | int, ...], str, str]]


def declared(raw: Any) -> YieldsSchema:
    """The schema of a declaration that must be right."""
    schema, reported = parsed(raw)
    assert reported == []
    assert schema is not None
    return schema


def parsed(raw: Any) -> tuple[YieldsSchema | None, Reported]:
    """A declaration's schema, and the mistakes in it."""
    reported: Reported = []
    return parse_yields(raw, lambda *mistake: reported.append(mistake)), reported


def errors_of(raw: Any, reply: str) -> tuple[str, ...]:
    """What is wrong with a reply."""
    with pytest.raises(YieldsError) as caught:
        declared(raw).parse_reply(reply)
    return caught.value.errors


def taken(validate: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """The fields, or `None` when they are refused with at least one sentence."""
    try:
        return validate()
    except YieldsError as exc:
        return None if exc.errors else {"refused without a reason": True}


# ── the notation ─────────────────────────────────────────────────────────────────────────────────

SCHEMAS = [
    ("string", {"type": "string"}),
    ("number", {"type": "number"}),
    ("integer", {"type": "integer"}),
    ("boolean", {"type": "boolean"}),
    (["string"], {"type": "array", "items": {"type": "string"}}),
    ([["integer"]], {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
    ({"type": "list", "items": "number"}, {"type": "array", "items": {"type": "number"}}),
    ({"items": "number"}, {"type": "array", "items": {"type": "number"}}),
    ("array", {"type": "array", "items": {"type": ["string", "number", "boolean"]}}),
    ("list", {"type": "array", "items": {"type": ["string", "number", "boolean"]}}),
    ("object", {"type": "object", "additionalProperties": True}),
    ({"type": "string", "description": "Why."}, {"type": "string", "description": "Why."}),
    ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    ({"enum": ["low", "high"]}, {"type": "string", "enum": ["low", "high"]}),
    ({"enum": [1, 2]}, {"type": "integer", "enum": [1, 2]}),
    ({"enum": [1, 2.5]}, {"type": "number", "enum": [1, 2.5]}),
    ({"enum": [True]}, {"type": "boolean", "enum": [True]}),
    ({"enum": ["a", None]}, {"type": ["string", "null"], "enum": ["a", None]}),
    ({"enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
    ({"type": "array", "max_items": 3, "items": "string"},
     {"type": "array", "items": {"type": "string"}, "maxItems": 3}),
    ({"type": "string", "maxLength": 9},
     {"type": "string", "description": "At most 9 characters."}),
    ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
    ({"type": ["string", "integer", "boolean"], "enum": ["a", 1]},
     {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer", "enum": [1]}]}),
    ({"type": ["object", "string"], "nullable": True, "fields": {"a": "string"}},
     {"anyOf": [
         {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
          "additionalProperties": False},
         {"type": "string"}, {"type": "null"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "schema"), SCHEMAS, ids=[str(n) for n, _ in SCHEMAS])
def test_each_notation_has_its_schema(notation: Any, schema: dict[str, Any]) -> None:
    """A type in any notation becomes one JSON schema."""
    assert declared({"x": notation}).json_schema()["properties"]["x"] == schema


def test_strict_schemas_require_every_property_and_allow_no_other() -> None:
    """OpenAI's rules: an optional property is a required one that may be null."""
    schema = declared({"a": "number", "b?": "string", "c?": ["string"]}).json_schema()
    assert schema == {
        "type": "object",
        "properties": {
            "a": {"type": "number"},
            "b": {"type": ["string", "null"]},
            "c": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        },
        "required": ["a", "b", "c"],
        "additionalProperties": False,
    }


def test_objects_nest_with_fields_or_properties() -> None:
    """`fields` and JSON schema's `properties` are the same, at any depth."""
    inner = {"type": "object", "fields": {"street": "string", "number?": "integer"}}
    schema = declared({"who": {"type": "object", "properties": {"home": inner}}}).json_schema()
    home = schema["properties"]["who"]["properties"]["home"]
    assert home["properties"]["number"] == {"type": ["integer", "null"]}
    assert home["additionalProperties"] is False


def test_the_whole_may_be_written_as_an_object() -> None:
    """`{type: object, fields: …}` at the top says the same as its fields alone."""
    plain = declared({"a": "number"})
    assert declared({"type": "object", "fields": {"a": "number"}}) == plain
    assert declared({"type": "object", "properties": {"a": "number"}}) == plain


def test_a_field_may_be_called_type() -> None:
    """Only a mapping under `fields` makes the top level an object in the long form."""
    assert declared({"type": "string", "fields": "number"}).field_names == ("type", "fields")


def test_bounded_schemas_bound_every_array_and_text() -> None:
    """A small model fills what is unbounded; what the spec bounds itself stays."""
    raw = {"a": ["string"], "b": {"type": "list", "max_items": 2}, "c": {"enum": ["x"]}}
    schema = declared({**raw, "d": {"type": "string", "max_length": 7}}).json_schema(bounded=True)
    a, b, c, d = (schema["properties"][name] for name in "abcd")
    assert a == {"type": "array", "items": {"type": "string", "maxLength": 400}, "maxItems": 8}
    assert b["maxItems"] == 2
    assert c == {"type": "string", "enum": ["x"]}
    assert d["maxLength"] == 7


def test_only_an_object_of_any_fields_breaks_the_strict_rules() -> None:
    """Strict schemas cannot say "any object", wherever it stands."""
    assert declared({"a": ["string"], "b": "array"}).is_strict
    assert not declared({"a": [{"type": "object"}]}).is_strict
    assert not declared({"a": {"type": ["object", "string"]}}).is_strict


def test_no_yields_are_none() -> None:
    """A spec without `yields:` has no schema and no mistake."""
    assert parsed(None) == (None, [])


MISTAKES = [
    ({"x": "str"}, ("x",), "unknown type 'str'", "did you mean 'string'?"),
    ({"x": "strnig"}, ("x",), "unknown type 'strnig'", "did you mean 'string'?"),
    ({"x": "STRING"}, ("x",), "unknown type 'STRING'", "did you mean 'string'?"),
    ({"x": "date"}, ("x",), "unknown type 'date'",
     "the types are string, number, integer, boolean, array, object, list"),
    ({"x": "string?"}, ("x",), "unknown type 'string?'",
     "a '?' at the end of the field's name makes it optional"),
    ({"x": 5}, ("x",), "must be a type, not the number 5", "write 'string', say"),
    ({"x": None}, ("x",), "must be a type, not empty", "write 'string', say"),
    ({"x": []}, ("x",), "a list holds one type, not 0", "write [string], say"),
    ({"x": ["string", "number"]}, ("x",), "a list holds one type, not 2", "write [string], say"),
    ({"x": ["strin"]}, ("x", 0), "unknown type 'strin'", "did you mean 'string'?"),
    ({"x": {"typ": "string", "enum": ["a"]}}, ("x", "typ"), "unknown key 'typ' in a type",
     "did you mean 'type'?"),
    ({"x": {"name": "string"}}, ("x",), "is a mapping without 'type'",
     "an object is written {type: object, fields: {…}}"),
    ({"x": {"optional": True}}, ("x",), "has no 'type'",
     "an object is written {type: object, fields: {…}}"),
    ({"x": {"type": "object", "required": ["a"]}}, ("x", "required"),
     "unknown key 'required' in a type", "a field is required unless its name ends with '?'"),
    ({"x": {"type": 3}}, ("x", "type"),
     "must be the name of a type, or a list of names, not the number 3", ""),
    ({"x": {"type": []}}, ("x", "type"),
     "must be the name of a type, or a list of names, not a list", ""),
    ({"x": {"type": "string", "items": "string"}}, ("x", "items"),
     "'items' has no meaning for the type string", ""),
    ({"x": {"type": "array", "enum": [1]}}, ("x", "enum"),
     "'enum' has no meaning for the type array", "put it into 'items'"),
    ({"x": {"type": "number", "enum": [1, "a"]}}, ("x", "enum", 1),
     "the text 'a' is not of the type number", ""),
    ({"x": {"type": "number", "enum": [True]}}, ("x", "enum", 0),
     "true is not of the type number", ""),
    ({"x": {"enum": []}}, ("x", "enum"), "must be a list of at least one value", ""),
    ({"x": {"enum": "a"}}, ("x", "enum"), "must be a list of at least one value", ""),
    ({"x": {"type": "string", "nullable": "yes"}}, ("x", "nullable"),
     "must be true or false, not the text 'yes'", ""),
    ({"x": {"type": "string", "description": 3}}, ("x", "description"),
     "must be text, not the number 3", ""),
    ({"x": {"type": "array", "max_items": 0}}, ("x", "max_items"),
     "must be a whole number from 1, not the number 0", ""),
    ({"x": {"type": "string", "maxLength": True}}, ("x", "maxLength"),
     "must be a whole number from 1, not true", ""),
    ({"x": {"type": "array", "max_items": 1, "maxItems": 1}}, ("x",),
     "says one thing twice, by two spellings of a key", ""),
    ({"x": {"type": "integer", "default": "4"}}, ("x", "default"),
     'the value must be a whole number, got "4"', ""),
    ({"x": {"enum": ["a"], "default": "b"}}, ("x", "default"),
     'the value must be one of "a", got "b"', ""),
    ({"x": {"type": "string", "default": None}}, ("x", "default"),
     "null is not among the values", "add 'nullable: true'"),
    ({"x": "string", "x?": "string"}, ("x?",), "'x' is declared twice", ""),
    ({"my field": "string"}, ("my field",),
     "'my field' cannot be read by conditions: use letters, digits and '_'", ""),
    ({"Not": "string"}, ("Not",), "'Not' is a word of the condition language", ""),
    ({"x": {"fields": {"a-b": "string"}}}, ("x", "fields", "a-b"),
     "'a-b' cannot be read by conditions: use letters, digits and '_'", ""),
    ({"x": {"fields": [{"type": "string"}]}}, ("x", "fields", 0), "has no name",
     "write {name: …, type: …}"),
    ("string", (), "must be a mapping of names to types, not the text 'string'", ""),
    ({}, (), "declares no field", "remove it, or name what the node gives"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "path", "message", "hint"), MISTAKES, ids=[str(row[0]) for row in MISTAKES]
)
def test_each_mistake_is_reported_at_its_path(
    raw: Any, path: tuple[str | int, ...], message: str, hint: str
) -> None:
    """A wrong declaration gives no schema, and says what is wrong, where, and what next."""
    schema, reported = parsed(raw)
    assert schema is None
    assert (path, message, hint) in reported


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_names_that_conditions_use_are_reserved_at_the_top_only(name: str) -> None:
    """A condition reads `input` as the node's input; `customer.input` is only a field."""
    message = f"'{name}' is a reserved name: conditions give it a meaning of their own"
    assert parsed({name: "string"}) == (None, [((name,), message, "")])
    assert parsed({f"{name}?": "string"})[0] is None
    assert declared({"customer": {"fields": {name: "string"}}}).field_names == ("customer",)


def test_every_mistake_is_found_in_one_reading() -> None:
    """The author sees them all at once."""
    _, reported = parsed({"a": "str", "b": {"items": "int"}, "c": {"fields": {"d": "bool"}}})
    assert [path for path, _, _ in reported] == [("a",), ("b", "items"), ("c", "fields", "d")]


def test_depth_is_bounded() -> None:
    """Eight levels load, nine are refused."""
    notation: Any = "string"
    for _ in range(8):
        notation = [notation]
    assert declared({"x": notation}).field_names == ("x",)
    _, reported = parsed({"x": [notation]})
    assert [message for _, message, _ in reported] == ["is nested deeper than 8 levels"]


def test_a_declaration_that_multiplies_by_aliases_ends() -> None:
    """YAML aliases can write 10^8 types in a few lines; each use of one is counted."""
    node: Any = "string"
    for _ in range(8):
        node = {"type": "object", "fields": {f"f{i}": node for i in range(10)}}
    schema, reported = parsed({"x": node})
    assert schema is None
    said = [message for _, message, _ in reported]
    assert said == ["there are more than 500 types in this declaration"]


# ── what fits ────────────────────────────────────────────────────────────────────────────────────

FITS = [
    ("string", "4", "4"),
    ("number", 4, 4),
    ("number", 4.5, 4.5),
    ("number", 2**62, 2**62),
    ("integer", 4, 4),
    ("integer", 4.0, 4),
    ("boolean", False, False),
    ("array", ["a", {"b": None}, 1], ["a", {"b": None}, 1]),
    ("object", {"any": [1]}, {"any": [1]}),
    (["integer"], [], []),
    ({"enum": ["a", "b"]}, "b", "b"),
    ({"enum": [1, 2]}, 2.0, 2),
    ({"type": "string", "nullable": True}, None, None),
    ({"type": ["integer", "string"]}, "4", "4"),
    ({"type": ["integer", "string"]}, 4.0, 4),
]

MISFITS = [
    ("string", 4, "'x' must be a string, got 4"),
    ("string", None, "'x' must be a string, got null"),
    ("number", "4", "'x' must be a number, got \"4\""),
    ("number", True, "'x' must be a number, got true"),
    ("integer", 4.5, "'x' must be a whole number, got 4.5"),
    ("integer", "4", "'x' must be a whole number, got \"4\""),
    ("integer", False, "'x' must be a whole number, got false"),
    ("boolean", "true", "'x' must be true or false, got \"true\""),
    ("boolean", 1, "'x' must be true or false, got 1"),
    ("array", "a", "'x' must be an array, got \"a\""),
    ("array", {"a": 1}, "'x' must be an array, got an object"),
    ("object", [1], "'x' must be an object, got an array"),
    (["integer"], [1, "2"], "'x[1]' must be a whole number, got \"2\""),
    ({"enum": ["a", "b"]}, "c", "'x' must be one of \"a\", \"b\", got \"c\""),
    ({"fields": {"a": "string"}}, "a", "'x' must be an object, got \"a\""),
    ({"fields": {"a": "string"}}, {}, "'x.a' is missing"),
    ({"fields": {"a": "string"}}, {"a": "", "b": 1}, "'x.b' is not expected here"),
    ({"type": "string", "max_length": 2}, "abc",
     "'x': string should have at most 2 characters"),
    ({"type": ["object", "string"], "fields": {"a": "string"}}, {"a": 1},
     "'x.a' must be a string, got 1"),
    ({"type": ["integer", "string"]}, [], "'x' must be a whole number or a string, got an array"),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "value", "result"), FITS, ids=map(str, FITS))
def test_a_value_of_the_declared_type_fits(notation: Any, value: Any, result: Any) -> None:
    """Types are taken at their word; a whole number may be written with a decimal point."""
    fields = declared({"x": notation}).parse_reply(json.dumps({"x": value}))
    assert fields == {"x": result}
    assert type(fields["x"]) is type(result)


@pytest.mark.parametrize(("notation", "value", "sentence"), MISFITS, ids=map(str, MISFITS))
def test_a_misfit_is_one_sentence(notation: Any, value: Any, sentence: str) -> None:
    """Nothing is converted: a text is no number, a boolean is no number, null is no text."""
    assert errors_of({"x": notation}, json.dumps({"x": value})) == (sentence,)


def test_every_misfit_has_its_sentence() -> None:
    """The model is told all that is wrong at once, misspelt names included."""
    raw = {"answer": "number", "steps": ["string"], "note?": "string"}
    assert errors_of(raw, '{"anser": 4, "steps": ["a", 2]}') == (
        "'answer' is missing",
        "'steps[1]' must be a string, got 2",
        "'anser' is not expected here; did you mean 'answer'?",
    )


def test_a_flood_of_misfits_is_counted_not_listed() -> None:
    """Twenty sentences and a count."""
    errors = errors_of({"x": ["string"]}, json.dumps({"x": [1] * 100}))
    assert len(errors) == 21
    assert errors[-1] == "and 80 more"


def test_absent_optional_fields_stay_absent() -> None:
    """Nothing is filled in where no default is written; null means absent."""
    schema = declared({"a": "string", "b?": "string", "c?": {"fields": {"d?": "string"}}})
    assert schema.parse_reply('{"a": ""}') == {"a": ""}
    assert schema.parse_reply('{"a": "", "b": null, "c": {"d": null}}') == {"a": "", "c": {}}


def test_a_default_takes_the_place_of_an_absent_value() -> None:
    """A field with a default is optional; each reply has a default of its own."""
    schema = declared({"a": {"type": "array", "default": [1]}})
    first, second = schema.parse_reply("{}"), schema.parse_reply('{"a": null}')
    assert first == second == {"a": [1]}
    first["a"].append(2)
    assert schema.parse_reply("{}") == {"a": [1]}


def test_null_is_a_value_where_it_is_declared() -> None:
    """`nullable` makes null a value of its own, which no default replaces."""
    notation = {"type": "string", "nullable": True, "default": "x"}
    schema = declared({"a": notation, "b?": {"type": "string", "nullable": True}})
    assert schema.parse_reply('{"a": null, "b": null}') == {"a": None, "b": None}
    assert schema.parse_reply("{}") == {"a": "x"}


def test_any_name_may_be_a_field() -> None:
    """Names that mean something to pydantic or Python are only names here."""
    names = ["model_config", "copy", "json", "schema", "_private", "class", "field_0", "größe"]
    value = dict.fromkeys(names, "x")
    assert declared(dict.fromkeys(names, "string")).validate(value) == value


# ── replies ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "reply",
    [
        '{"a": 1}',
        ' \n{"a": 1}\n ',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}```',
        'Sure! Here it is:\n```json\n{"a": 1}\n```\nAnything else?',
        'The answer is {"a": 1}.',
        'I fill in {name} and {"a": 1} it is',
    ],
)
def test_one_object_is_found_in_a_reply(reply: str) -> None:
    """JSON, JSON in a fence, or prose around exactly one object."""
    assert declared({"a": "number"}).parse_reply(reply) == {"a": 1}


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        ("", "the reply must be one JSON object, but no JSON object can be read in it"),
        ("It is 4.", "the reply must be one JSON object, but no JSON object can be read in it"),
        ('{"a": 1} or {"a": 2}',
         "the reply must be one JSON object, but 2 JSON objects can be read in it"),
        ("[1]", "expected a JSON object with the fields a, got an array"),
        ('"a"', 'expected a JSON object with the fields a, got "a"'),
        ('{"a": 1', "not valid JSON at line 1, column 8: expecting ',' delimiter"),
        ('Well, {"b": {"a": 1}, "c": "cut o',
         "not valid JSON at line 1, column 28: unterminated string starting at"),
        ('{"a": 1, "a": 2}', 'the key "a" occurs twice'),
        ('so {"a": 1, "a": 2}', 'the key "a" occurs twice'),
        ('{"a": NaN}', "NaN is not JSON; null says that there is no number"),
        ('{"a": -Infinity}', "-Infinity is not JSON; null says that there is no number"),
        ('{"a": 1e999}', "the number 1e999 is too large"),
        ('{"a": 9223372036854775808}',
         "the number 9223372036854775808… is too large: whole numbers have 64 bits"),
        ('{"a": ' + "9" * 10_000 + "}",
         "the number 99999999999999999999… is too large: whole numbers have 64 bits"),
        ('{"a": ' * 65 + "1" + "}" * 65, "nested more than 64 levels deep"),
        ('{"a": ' * 100_000, "nested more than 64 levels deep"),
        ('{"a": "\\ud800"}', "a text holds half a surrogate pair (\\ud800)"),
    ],
)  # fmt: skip
def test_what_is_no_object_is_refused_with_a_sentence(reply: str, sentence: str) -> None:
    """An array, prose, a cut-off reply, what JSON cannot say: an error to send back."""
    assert errors_of({"a": "number"}, reply) == (sentence,)


def test_a_line_break_may_stand_in_a_text() -> None:
    """Small models do not escape it; what they mean is clear."""
    assert declared({"a": "string"}).parse_reply('{"a": "x\ny"}') == {"a": "x\ny"}


def test_the_error_carries_the_reply() -> None:
    """What the model said is kept beside what was wrong with it."""
    with pytest.raises(YieldsError) as caught:
        declared({"a": "number"}).parse_reply("four")
    assert caught.value.reply == "four"
    assert str(caught.value) == (
        "the yields do not fit their declaration: the reply must be one JSON object, but no JSON "
        "object can be read in it"
    )


# ── return values ────────────────────────────────────────────────────────────────────────────────


class Point(BaseModel):
    x: int
    y: int = 0


@dataclass
class Found:
    where: Point
    names: tuple[str, ...]


def test_functions_may_return_models_and_dataclasses() -> None:
    """They are checked as the JSON they stand for."""
    point = {"type": "object", "fields": {"x": "integer", "y": "integer"}}
    schema = declared({"where": point, "names": ["string"]})
    found = Found(Point(x=1), ("a", "b"))
    assert schema.validate(found) == {"where": {"x": 1, "y": 0}, "names": ["a", "b"]}
    assert declared({"x": "integer", "y": "integer"}).validate(Point(x=1)) == {"x": 1, "y": 0}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "expected a JSON object with the fields a, got null"),
        ([1], "expected a JSON object with the fields a, got an array"),
        ({"a": float("nan")},
         "value.a is nan, which is not JSON; use None for a missing number"),
        ({"a": b"1"},
         "value.a is of type bytes, which has no JSON form; return text, numbers, lists, "
         "dictionaries, dataclasses or pydantic models"),
        ({1: 2}, "value has the key 1 of type int; keys of a JSON object are texts"),
        ({"a": "1"}, "'a' must be a number, got \"1\""),
    ],
)  # fmt: skip
def test_a_wrong_return_value_is_refused(value: Any, sentence: str) -> None:
    """A function is held to its declaration as a model is."""
    with pytest.raises(YieldsError) as caught:
        declared({"a": "number"}).validate(value)
    assert caught.value.errors == (sentence,)


def test_validation_changes_nothing_that_it_is_given() -> None:
    """Defaults and dropped nulls appear in the result only."""
    value = {"a": None, "b": {"c": None}}
    before = copy.deepcopy(value)
    schema = declared({"a?": "string", "b": {"fields": {"c": {"type": "string", "default": "x"}}}})
    assert schema.validate(value) == {"b": {"c": "x"}}
    assert value == before


def test_a_number_of_any_size_may_be_returned() -> None:
    """Python's whole numbers have no bound."""
    assert declared({"a": "integer", "b": "number"}).validate({"a": 10**400, "b": 10**400}) == {
        "a": 10**400, "b": 10**400
    }  # fmt: skip


def test_the_description_shows_the_expected_json() -> None:
    """For a model without structured output: the JSON, with types for values."""
    schema = declared(
        {
            "kind": {"enum": ["bill", "other"], "description": "What it is\nabout."},
            "tags": {"type": "array", "items": "string", "max_items": 3},
            "from?": {"type": "object", "fields": {"name": "string", "more": "object"}},
            "language": {"type": ["string", "integer"], "default": "en"},
        }
    )
    assert schema.describe() == (
        "{\n"
        '  "kind": "bill" | "other",  // What it is about.\n'
        '  "tags": [string, …],  // at most 3 items\n'
        '  "from": {\n'
        '    "name": string,\n'
        '    "more": object\n'
        "  } | null,\n"
        '  "language": string | integer | null  // null means "en"\n'
        "}"
    )


# ── rules that hold for all ──────────────────────────────────────────────────────────────────────

NOTATIONS = st.recursive(
    st.sampled_from(["string", "number", "integer", "boolean", "array", "object"])
    | st.just({"enum": ["a", "b"]}),
    lambda inner: st.one_of(
        inner.map(lambda n: [n]),
        st.dictionaries(st.sampled_from(["p", "q", "r?"]), inner, min_size=1).map(
            lambda fields: {"type": "object", "fields": fields}
        ),
    ),
    max_leaves=6,
)
DECLARATIONS = st.dictionaries(st.sampled_from(["a", "b", "c?"]), NOTATIONS, min_size=1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@st.composite
def fitting(draw: st.DrawFn, notation: Any) -> Any:
    """A value that fits a notation of `NOTATIONS`."""
    simple: dict[str, st.SearchStrategy[Any]] = {
        "string": st.text(max_size=5),
        "number": st.integers(-9, 9) | st.floats(-9, 9),
        "integer": st.integers(-9, 9),
        "boolean": st.booleans(),
        "array": st.lists(st.text(max_size=3) | st.booleans(), max_size=3),
        "object": st.dictionaries(st.text(max_size=3), st.booleans(), max_size=3),
    }
    if isinstance(notation, str):
        return draw(simple[notation])
    if isinstance(notation, list):
        return [draw(fitting(notation[0])) for _ in range(draw(st.integers(0, 2)))]
    if "enum" in notation:
        return draw(st.sampled_from(notation["enum"]))
    return draw(fitting_fields(notation["fields"]))


@st.composite
def fitting_fields(draw: st.DrawFn, fields: dict[str, Any]) -> Any:
    """An object with every field of a declaration."""
    return {name.removesuffix("?"): draw(fitting(inner)) for name, inner in fields.items()}


@settings(deadline=None)
@given(st.data())
def test_what_fits_the_schema_is_taken_unchanged(data: st.DataObject) -> None:
    """A value that a strict schema allows passes the validation, and comes out equal."""
    raw = data.draw(DECLARATIONS)
    value = data.draw(fitting_fields(raw))
    schema = declared(raw)
    jsonschema.Draft202012Validator(schema.json_schema()).validate(value)
    assert schema.parse_reply(json.dumps(value)) == value
    assert schema.validate(value) == value


@settings(deadline=None)
@given(DECLARATIONS, JSON)
def test_validation_takes_or_refuses_and_never_breaks(raw: Any, value: Any) -> None:
    """Any JSON either fits or is a YieldsError with at least one sentence; what fits stays so."""
    schema = declared(raw)
    fields = taken(lambda: schema.validate(value))
    assert fields is None or schema.validate(fields) == fields


@settings(deadline=None)
@given(st.text() | st.text(alphabet='{}[]":,\\ \n0123456789.eE-`jsonabctrufl').map(str))
def test_a_reply_of_any_text_is_taken_or_refused(text: str) -> None:
    """No text raises anything but a YieldsError."""
    schema = declared({"a?": "number"})
    fields = taken(lambda: schema.parse_reply(text))
    assert fields is None or set(fields) <= {"a"}


@settings(deadline=None)
@given(JSON)
def test_a_declaration_of_any_json_is_read_or_reported(raw: Any) -> None:
    """Nothing in `yields:` raises; what gives no schema has a mistake reported."""
    schema, reported = parsed(raw)
    assert (schema is None) == (bool(reported) or raw is None)
