"""YAML and JSON text: what values it has, where each stands, and what is refused."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liman_nb.errors import Place
from liman_nb.specs.findings import Findings
from liman_nb.specs.located import Located
from liman_nb.specs.source import MAX_CHARACTERS, read_text


def read(text: str, file: str = "f.yaml") -> tuple[list[Located], list[str]]:
    """The documents of a text, and what is wrong with it."""
    findings = Findings()
    documents = read_text(text, file, findings)
    return documents, [str(problem) for problem in findings.problems]


def plain(text: str) -> object:
    """The only document of a text that must be readable."""
    documents, problems = read(text)
    assert problems == []
    assert len(documents) == 1
    return documents[0].plain()


def problems(text: str) -> list[str]:
    """What is wrong with a text."""
    return read(text)[1]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *[
            (word, word)
            for word in ("on", "off", "yes", "no", "y", "n", "On", "YES", "None", "nil")
        ],
        *[(word, True) for word in ("true", "True", "TRUE")],
        *[(word, False) for word in ("false", "False", "FALSE")],
        *[(word, None) for word in ("null", "Null", "NULL", "~", "")],
        ("0", 0),
        ("-0", 0),
        ("12", 12),
        ("+12", 12),
        ("0x1F", 31),
        ("0o17", 15),
        ("010", "010"),
        ("-007", "-007"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("190:20:30", "190:20:30"),
        ("0b1", "0b1"),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-2.5e-3", -0.0025),
        ("1e3", 1000.0),
        ("01.5", "01.5"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("2024-02-29", "2024-02-29"),
        ("2024-02-29T10:00:00Z", "2024-02-29T10:00:00Z"),
        ("1.2.3", "1.2.3"),
        ("=", "="),
        ('"12"', "12"),
        ("'true'", "true"),
        ("'null'", "null"),
        ("!!str 12", "12"),
        ("<<", "<<"),
    ],
)
def test_a_scalar_is_what_the_core_schema_says_and_everything_doubtful_stays_text(written, value):
    """`on`, dates, times and numbers with a leading zero are text; nothing is guessed."""
    found = plain(f"a: {written}")["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("word", ["on", "off", "yes", "no", "y", "n"])
def test_keys_that_yaml_takes_for_booleans_elsewhere_are_text_here(word):
    """`on:` is the key 'on', not `True`."""
    assert plain(f"{word}: 1") == {word: 1}


def test_every_part_has_its_place():
    """Values, list items, and keys know their line and column, counted from 1."""
    documents, _ = read("kind: LLMNode\nprompts:\n  system: hi\ntools: [a, b]\n")
    tree = documents[0]
    assert tree.place == Place("f.yaml", 1, 1)
    assert tree.at(("prompts", "system")).place == Place("f.yaml", 3, 11)
    assert tree.at(("prompts", "system")).key == Place("f.yaml", 3, 3)
    assert tree.at(("tools", 1)).place == Place("f.yaml", 4, 12)


def test_json_has_places_too():
    """JSON is read by the same reader."""
    documents, _ = read('{\n  "kind": "LLMNode",\n  "tools": ["a"]\n}')
    assert documents[0].at(("tools", 0)).place == Place("f.yaml", 3, 13)


def test_a_path_that_ends_early_gives_the_deepest_part_that_exists():
    """So a problem in something that is missing points to what should hold it."""
    documents, _ = read("a:\n  b: 1\n")
    assert documents[0].at(("a", "x", 3)).place == Place("f.yaml", 2, 3)


def test_several_documents_and_empty_ones_between_them():
    """Documents that hold nothing are passed over when there are others."""
    documents, found = read("---\na: 1\n---\n---\nb: 2\n---\n")
    assert [d.plain() for d in documents] == [{"a": 1}, {"b": 2}]
    assert found == []


def test_documents_before_a_syntax_error_are_kept():
    """One broken document does not hide the others."""
    documents, found = read("a: 1\n---\nb: [1\n")
    assert [d.plain() for d in documents] == [{"a": 1}]
    assert found == ["f.yaml:4:1: a list in [ ] has no ',' or ']' here"]


def test_anchors_and_aliases_share_what_they_stand_for():
    """An alias has the value, and the place, of its anchor."""
    documents, found = read("a: &x {n: 1}\nb: *x\n")
    assert found == []
    assert documents[0].plain() == {"a": {"n": 1}, "b": {"n": 1}}
    assert documents[0].at(("b", "n")).place == Place("f.yaml", 1, 11)
    assert documents[0].at(("b",)).key == Place("f.yaml", 2, 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[Is it cold?, really]", ["Is it cold?", "really"]),
        ("{note?: string, a: b?}", {"note?": "string", "a": "b?"}),
        ("[a ? b]", ["a ? b"]),
        ("{a: 1}", {"a": 1}),
        ("note?: is it?\n", {"note?": "is it?"}),
        ("[what?", None),
    ],
)
def test_a_question_mark_in_a_text_needs_no_quotes(text, value):
    """In brackets either, as YAML 1.2 has it."""
    documents, found = read(text)
    assert [d.plain() for d in documents] == ([value] if value else [])
    assert bool(found) == (value is None)


def test_a_byte_order_mark_is_passed_over():
    """Editors on Windows write one."""
    assert plain("\ufeffa: 1") == {"a": 1}


def test_characters_beyond_the_first_plane_in_json():
    """JSON writes them as two escapes."""
    assert plain('{"a": "\\ud83d\\ude00"}') == {"a": "😀"}


MISTAKES = {
    "": "f.yaml: there is no document: it is empty, or only comments",
    "# nothing": "f.yaml: there is no document: it is empty, or only comments",
    "---\n---\n": "f.yaml: there is no document: it is empty, or only comments",
    "a: 1\n\tb: 2": "f.yaml:2:1: a tab stands where YAML wants spaces; indent with spaces",
    "a: b: c": "f.yaml:1:5: there is a second ': ' in this entry, or the line above is indented "
    "differently; put a text that contains ': ' in quotes",
    "a: 1\nb\nc: 2": "f.yaml:2:1: a key without ':'; write 'key: value'; a text of several lines "
    "starts with '|'",
    "a: 1\nb": "f.yaml:2:1: a key without ':'; write 'key: value'; a text of several lines starts "
    "with '|'",
    "a: {x} is": "f.yaml:1:8: this does not line up with the entries above, or follows a closed "
    "quote or bracket; indent it like its neighbours; put a text that starts with '{', '[' or a "
    "quote in quotes",
    "a: [1, 2": "f.yaml:1:9: a list in [ ] has no ',' or ']' here",
    "a: {b: 1": "f.yaml:1:9: a mapping in { } has no ',' or '}' here",
    'a: "x': "f.yaml:1:4: this quote is not closed",
    "a: *x": "f.yaml:1:4: the alias '*x' has no anchor '&x' above it; put a text that starts with "
    "'*' in quotes",
    "a: &x 1\nb: &x 2": "f.yaml:2:4: an anchor '&…' of this name stands above already",
    'a: "\\q"': "f.yaml:1:6: there is no escape '\\q' in double quotes; use single quotes for a "
    "text with backslashes",
    "a: @x": "f.yaml:1:4: a text cannot start with '@'; put the text in quotes",
    "a: `x": "f.yaml:1:4: a text cannot start with '`'; put the text in quotes",
    "a: - b": "f.yaml:1:4: a list cannot begin in the line of its key; begin it in the next line, "
    "or write it in [ ]",
    "}": "f.yaml:1:1: nothing is open that '}' could close",
    "a: !x!y z": "f.yaml:1:4: the tag handle '!x!' is not declared; put the text in quotes",
    "&: 1": "f.yaml:1:2: an anchor or alias has no name; put the text in quotes",
    "a: b\n...\nc: d": "f.yaml:3:1: a second value follows the document; separate documents with a "
    "line '---'",
    "%YAML x": "f.yaml:1:7: this is not valid YAML: expected a digit, but found 'x'",
    "ab: \x07": "f.yaml:1:5: the character U+0007 is not allowed in YAML",
    "a: 1\nb: \x00": "f.yaml:2:4: the character U+0000 is not allowed in YAML",
    "a: 1\na: 2": "f.yaml:2:1: the key 'a' stands twice; the first is at f.yaml:1:1",
    "1: a": 'f.yaml:1:1: the key 1 is not a text; write "1" in quotes',
    "true: a": 'f.yaml:1:1: the key true is not a text; write "true" in quotes',
    "? \n: a": "f.yaml:1:2: the key null is not a text; write a key before ':'",
    "? [a]\n: b": "f.yaml:1:3: a key is a list; keys are text; put '{…}' and '[…]' in quotes",
    "{name}: b": "f.yaml:1:1: a key is a mapping; keys are text; put '{…}' and '[…]' in quotes",
    "a: &x {b: 1}\nc:\n  <<: *x": "f.yaml:3:3: the merge key '<<' is not read; write the fields "
    "out, or add them with an Overlay",
    "a: &x [*x]": "f.yaml:1:4: an alias stands inside the very value that it stands for",
    "a: 1e999": "f.yaml:1:4: the text '1e999' is not a number that can be held",
    "a: !!int x": "f.yaml:1:4: the text 'x' is not a number that can be held",
    '{"\\ud83d": "a"}': "f.yaml:1:2: half of a surrogate pair (\\ud800 to \\udfff) is not a text",
    '{"a": "\\ud83d"}': "f.yaml:1:7: half of a surrogate pair (\\ud800 to \\udfff) is not a text",
}


@pytest.mark.parametrize("text", MISTAKES, ids=repr)
def test_a_mistake_is_one_problem_with_its_place(text):
    """In plain words, and with what to do; pyyaml's own report is not shown."""
    assert problems(text) == [MISTAKES[text]]


REFUSED = "a spec holds text, numbers, true, false, null, lists and mappings, never objects"


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/object/apply:os.system ['touch pwned']",
        "!!python/object/new:os.system ['touch pwned']",
        "!!python/name:os.system ''",
        "!!python/module:os ''",
        "!!python/tuple [1]",
        "!!binary aGk=",
        "!!set {a}",
        "!!timestamp 2024-01-01",
        "!local x",
    ],
)
@pytest.mark.parametrize("layout", ["a: {}", "- {}", "a: [b, {}]", "{}"])
def test_no_tag_makes_an_object(tag, layout, tmp_path, monkeypatch):
    """A tag is refused wherever it stands, and nothing runs."""
    monkeypatch.chdir(tmp_path)
    found = problems(layout.replace("{}", tag))
    assert [REFUSED in problem for problem in found] == [True]
    assert list(tmp_path.iterdir()) == []


def test_laughing_aliases_end_in_an_error_at_once():
    """A few lines that stand for a billion values cost milliseconds."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    started = time.perf_counter()
    assert problems("\n".join(lines)) == [
        "f.yaml:6:5: aliases make this larger than 2,000,000 characters"
    ]
    assert time.perf_counter() - started < 1


def test_aliases_that_nest_ever_deeper_end_in_an_error():
    """Each line is flat; what they stand for is not."""
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 300))]
    assert problems("\n".join(lines)) == ["f.yaml:65:6: aliases nest this deeper than 64 levels"]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_ends_in_an_error_at_once(opening):
    """The bound is reached before Python's recursion limit."""
    started = time.perf_counter()
    found = problems(opening * 100_000)
    assert [p.split(": ", 1)[1] for p in found] == ["this is nested deeper than 64 levels"]
    assert time.perf_counter() - started < 2


def test_a_text_that_is_too_long_is_not_read():
    """A megabyte is more than any spec needs."""
    found = problems("a" * (MAX_CHARACTERS + 1))
    assert found == ["f.yaml: the text has 1,000,001 characters; at most 1,000,000 are read"]


@given(st.text(max_size=200))
def test_any_text_is_read_or_reported(text):
    """The reader raises nothing, and never answers with neither document nor problem."""
    documents, found = read(text)
    assert documents or found


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.text(st.characters(categories=["L"]), min_size=1), inner, max_size=4
            )
        ),
        max_leaves=12,
    ).map(lambda value: {"a": value})
)
def test_json_comes_back_equal(value):
    """Whatever json writes is read as the same value, with the same types."""
    assert json.dumps(plain(json.dumps(value))) == json.dumps(value)
