"""Foreign text becomes text that can be seen, cut to a length, and nothing else."""

from __future__ import annotations

import json
import time
from html import unescape
from html.parser import HTMLParser

import pytest
from hostile_texts import ENDLESS, HOSTILE, NEVER_SHOWN
from hypothesis import given
from hypothesis import strategies as st

from liman_nb.views.escape import json_text, one_line, safe, safe_value, value_text, visible

any_text = st.text(st.characters(), max_size=200)  # lone surrogates included


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode 漢字 🙂", "plain ünïcode 漢字 🙂"),
        ("\u202eabc", "⟨U+202E⟩abc"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("a\x00b", "a⟨U+0000⟩b"),
        ("\x1b[31m", "⟨U+001B⟩[31m"),
        ("\ud800", "⟨U+D800⟩"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("a\r\nb\rc", "a\nb⟨U+000D⟩c"),
        ("tab\tline\n", "tab\tline\n"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("x\ufe0f\ufe0f", "x\ufe0f⟨U+FE0F⟩"),
        ("e" + "\u0301" * 8, "e" + "\u0301" * 6 + "⟨U+0301⟩⟨U+0301⟩"),
    ],
)
def test_what_hides_or_reorders_text_is_written_out(text: str, shown: str):
    """Controls, zero-width, bidi and more are shown by number; joiners stay where they spell."""
    assert visible(text) == shown


def test_what_is_cut_is_counted():
    """The reader learns how much is missing."""
    assert visible("a" * 12, 10) == "aaaaaaaaaa… [2 more characters]"
    assert visible("a" * 10, 10) == "aaaaaaaaaa"


def test_one_line_stays_one_line():
    """A name cannot fake a row of a drawing."""
    assert one_line("a\nRoot Executor\tb") == "a↵Root Executor b"


def test_safe_text_is_text_in_content_and_in_attributes():
    """Every character of HTML's own is escaped, quotes too."""
    assert safe("<a href=\"x\" b='y'>&") == "&lt;a href=&#34;x&#34; b=&#39;y&#39;&gt;&amp;"


@given(any_text)
def test_any_text_is_read_back_as_it_was_made_visible(text: str):
    """Whoever reads the escaped text sees the visible text, in content and in an attribute."""
    seen: list[str | None] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.extend([tag, *(part for pair in attrs for part in pair)])

        def handle_data(self, data: str) -> None:
            seen.append(data)

    reader = Reader()
    reader.feed(f'<p title="{safe(text)}">')
    assert seen == ["p", "title", visible(text)]
    assert unescape(safe(text)) == visible(text)
    assert "<" not in safe(text)


@given(any_text)
def test_making_visible_twice_changes_nothing(text: str):
    """What is visible stays as it is."""
    assert visible(visible(text, 1000), 5000) == visible(text, 1000)


@given(any_text)
def test_visible_text_can_be_encoded_and_holds_nothing_hidden(text: str):
    """No lone surrogate is left, and no character of the known hiding ones."""
    shown = visible(text)

    assert shown.encode().decode() == shown
    assert not set(NEVER_SHOWN) & set(shown)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_hold_nothing_hidden(text: str):
    """The corpus comes out visible."""
    assert not set(NEVER_SHOWN) & set(visible(text))


def test_ten_megabytes_are_cut_at_once():
    """Work is done on what is shown only."""
    start = time.perf_counter()

    shown = [safe(ENDLESS), one_line(ENDLESS), value_text({"a": ENDLESS}), json_text([ENDLESS])]

    assert time.perf_counter() - start < 1
    assert all(len(text) < 9_000 for text in shown)
    assert "more characters]" in shown[0]


def test_values_are_shown_as_text_or_indented_json():
    """Text as it is, a mapping as JSON that can be read."""
    assert value_text("plain") == "plain"
    assert value_text({"a": [1, "ü"]}) == '{\n  "a": [\n    1,\n    "ü"\n  ]\n}'
    assert safe_value({"a": "<b>"}) == "{\n  &#34;a&#34;: &#34;&lt;b&gt;&#34;\n}"


def test_json_is_cut_where_it_ends_to_be_shown():
    """A long value is encoded no further than its cap."""
    text = json_text(list(range(1_000_000)), 50)

    assert text.startswith("[0, 1, 2")
    assert text.endswith("… [cut after 50 characters]")


def test_json_of_anything_is_text():
    """Foreign types, cycles and depth end in words, not in an error."""
    cycle: list[object] = []
    cycle.append(cycle)
    deep: object = 1
    for _ in range(5000):
        deep = [deep]

    assert json_text({"x": object()}) == '{"x": "<object>"}'
    assert "not JSON: ValueError" in json_text(cycle)
    assert json_text(deep, 20_000).startswith("[[[[")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists))
def test_short_json_is_complete(value: object):
    """What fits is not touched: it reads back equal, unless a hiding character was written out."""
    text = json_text(value)
    if "⟨U+" not in text:
        assert json.loads(text) == value
