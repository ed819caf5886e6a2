"""Parameters as they are sent: the specification's own examples, and independent decoders."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liman_nb.errors import ToolError
from liman_nb.tools.openapi.serialise import Parameter, header_text, path_text, query_pairs

ARRAY = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.text(st.sampled_from("abAB.-_[] &=ü"), min_size=1, max_size=6)
scalars = st.one_of(texts, st.booleans(), st.integers(-(10**6), 10**6))


def spoken(value: Any) -> str:
    """A scalar as JSON says it, text as it is."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def of(place: Any, style: str, *, explode: bool, name: str = "color", **more: Any) -> Parameter:
    """A parameter."""
    return Parameter("color", name, place, style, explode, **more)


def query(parameter: Parameter, value: Any) -> str:
    """A query parameter as it stands in the address."""
    return "&".join(f"{name}={text}" for name, text in query_pairs(parameter, value))


@pytest.mark.parametrize(
    ("style", "explode", "array", "mapping"),
    [
        ("matrix", False, ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
        ("matrix", True, ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"),
        ("label", False, ".blue,black,brown", ".R,100,G,200,B,150"),
        ("label", True, ".blue.black.brown", ".R=100.G=200.B=150"),
        ("simple", False, "blue,black,brown", "R,100,G,200,B,150"),
        ("simple", True, "blue,black,brown", "R=100,G=200,B=150"),
    ],
)
def test_paths_are_written_as_the_specification_s_table_says(
    style: str, explode: bool, array: str, mapping: str
) -> None:
    """Style Examples of OpenAPI 3.1.1 and RFC 6570."""
    parameter = of("path", style, explode=explode)
    assert path_text(parameter, ARRAY) == array
    assert path_text(parameter, OBJECT) == mapping
    single = {"matrix": ";color=blue", "label": ".blue", "simple": "blue"}
    assert path_text(parameter, "blue") == single[style]


@pytest.mark.parametrize(
    ("style", "explode", "array", "mapping"),
    [
        ("form", False, "color=blue,black,brown", "color=R,100,G,200,B,150"),
        ("form", True, "color=blue&color=black&color=brown", "R=100&G=200&B=150"),
        (
            "spaceDelimited",
            False,
            "color=blue%20black%20brown",
            "color=R%20100%20G%20200%20B%20150",
        ),
        ("pipeDelimited", False, "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"),
        (
            "deepObject",
            True,
            "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown",
            "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
        ),
    ],
)
def test_queries_are_written_as_the_specification_s_table_says(
    style: str, explode: bool, array: str, mapping: str
) -> None:
    """Style Examples of OpenAPI 3.1.1; lists in a deep object are ours."""
    parameter = of("query", style, explode=explode)
    assert query(parameter, ARRAY) == array
    assert query(parameter, OBJECT) == mapping
    assert query(parameter, "blue") == "color=blue"


def test_headers_are_written_as_the_specification_s_table_says() -> None:
    """Style `simple`, which is the only one there."""
    assert header_text(of("header", "simple", explode=False), ARRAY) == "blue,black,brown"
    assert header_text(of("header", "simple", explode=False), OBJECT) == "R,100,G,200,B,150"
    assert header_text(of("header", "simple", explode=True), OBJECT) == "R=100,G=200,B=150"


@given(name=names, value=st.one_of(scalars, st.lists(scalars, max_size=4)))
def test_a_form_reads_any_exploded_query_back(name: str, value: Any) -> None:
    """Whatever characters name and values have, a decoder of forms finds them again."""
    text = query(of("query", "form", explode=True, name=name), value)
    wanted = value if isinstance(value, list) else [value]
    pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text))
    assert pairs == [(name, spoken(item)) for item in wanted]


@given(value=st.dictionaries(names, scalars, max_size=4))
def test_a_form_reads_an_exploded_object_back(value: dict[str, Any]) -> None:
    """Its members are parameters of their own."""
    text = query(of("query", "form", explode=True), value)
    assert dict(parse_qsl(text, keep_blank_values=True)) == {k: spoken(v) for k, v in value.items()}


deep = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, min_size=1, max_size=3),
    ),
    max_leaves=6,
)


@given(value=st.dictionaries(st.text("xyz", min_size=1, max_size=2), deep, min_size=1, max_size=3))
def test_brackets_of_a_deep_object_lead_back_to_every_value(value: dict[str, Any]) -> None:
    """Each bracket is a step into the value."""
    text = query(of("query", "deepObject", explode=True), value)
    found = 0
    for name, said in parse_qsl(text, keep_blank_values=True):
        here: Any = value
        for step in name.removeprefix("color[").removesuffix("]").split("]["):
            here = here[int(step)] if isinstance(here, list) else here[step]
        assert spoken(here) == said
        found += 1
    assert found == len(list(leaves(value)))


def leaves(value: Any) -> Any:
    """Every scalar in a value."""
    if not isinstance(value, list | dict):
        yield value
        return
    for inner in value.values() if isinstance(value, dict) else value:
        yield from leaves(inner)


@given(value=st.lists(texts, min_size=1, max_size=4).filter(any))
def test_between_delimiters_every_item_is_encoded(value: list[str]) -> None:
    """A comma in an item is no delimiter."""
    for style, between in (("form", ","), ("pipeDelimited", "%7C"), ("spaceDelimited", "%20")):
        text = query(of("query", style, explode=False), value).removeprefix("color=")
        if style == "form" or not any(set(item) & {" ", "|"} for item in value):
            assert [unquote(part) for part in text.split(between)] == value


@given(value=scalars.filter(lambda value: value != ""))
def test_a_path_parameter_is_one_segment(value: Any) -> None:
    """No slash, question mark or fragment escapes from it."""
    text = path_text(of("path", "simple", explode=False), value)
    assert not set(text) & set("/?#\\ \r\n")
    assert unquote(text) == spoken(value)


@pytest.mark.parametrize("value", ["", [], {}, None, [""]])
def test_an_empty_part_of_an_address_is_refused(value: Any) -> None:
    """It would make the address another one."""
    with pytest.raises(ToolError, match="color must not be empty"):
        path_text(of("path", "simple", explode=False), value)


@pytest.mark.parametrize("value", [[[1]], [{"a": 1}], {"a": [1]}, {"a": {"b": 1}}])
@pytest.mark.parametrize("explode", [True, False])
def test_what_the_specification_leaves_undefined_is_refused(value: Any, explode: bool) -> None:
    """A list within a list has no form in these styles."""
    with pytest.raises(ToolError, match="cannot be sent in the query"):
        query(of("query", "form", explode=explode), value)
    with pytest.raises(ToolError, match="cannot be sent in the path"):
        path_text(of("path", "simple", explode=explode), value)


@pytest.mark.parametrize("text", ["a\r\nEvil: 1", "a\nb", "ü", "\x00", "a\tb"])
def test_a_header_cannot_begin_another_one(text: str) -> None:
    """Line breaks and what headers do not hold are refused."""
    with pytest.raises(ToolError, match="a header holds printable ASCII"):
        header_text(of("header", "simple", explode=False), text)


def test_nothing_is_sent_for_nothing() -> None:
    """Null and empty lists are left out; an empty text is a value."""
    exploded, flat = of("query", "form", explode=True), of("query", "form", explode=False)
    assert query(exploded, []) == query(flat, []) == query(exploded, [None]) == ""
    assert query(exploded, {"a": None, "b": 1}) == "b=1"
    assert query(exploded, "") == "color="


def test_whole_numbers_are_whole_and_reserved_characters_may_stay() -> None:
    """JSON knows one kind of number; `allowReserved` keeps what does not end a value."""
    parameter = of("query", "form", explode=True, reserved=True)
    assert query(parameter, 4.0) == "color=4"
    assert query(parameter, "a/b?c:d&e=f#g") == "color=a/b?c:d%26e%3Df%23g"
    assert query(of("query", "form", explode=True, as_json=True), {"a": [1]}) == (
        "color=%7B%22a%22%3A%5B1%5D%7D"
    )
