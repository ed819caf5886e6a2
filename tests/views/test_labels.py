"""Labels are wrapped, elided and measured without a font."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import ImageFont

from liman_nb.views.labels import LABEL_LINES, LINE_COLUMNS, bold_width, columns, elide, wrap


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x > 3", ("x > 3",)),
        ("intent == 'refund'", ("intent == 'refund'",)),
        ("confidence < 0.8 and not resolved", ("confidence < 0.8 and not", "resolved")),
        ("a" * 24, ("a" * 24,)),
        ("a" * 48, ("a" * 24, "a" * 24)),
        ("a" * 49, ("a" * 24, "a" * 23 + "…")),
        ("a  b\n  c", ("a b c",)),
        ("漢" * 13, ("漢" * 12, "漢")),
        (
            "one two three four five six seven eight nine tenfold",
            ("one two three four five", "six seven eight nine te…"),
        ),
    ],
)
def test_a_condition_is_wrapped_at_spaces_onto_two_lines(text: str, lines: tuple[str, ...]):
    """24 columns a line, two lines, one ellipsis for the rest."""
    assert wrap(text) == lines


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_no_line_is_longer_than_its_columns(text: str):
    """Whatever the script."""
    lines = wrap(text)

    assert len(lines) <= LABEL_LINES
    assert all(0 < columns(line) <= LINE_COLUMNS for line in lines if line.isascii())
    assert all(columns(line) <= LINE_COLUMNS for line in lines)
    assert columns(elide(text)) <= LINE_COLUMNS


def test_a_short_name_is_not_elided_and_a_long_one_keeps_its_head():
    """A reader recognises the beginning."""
    assert elide("triage") == "triage"
    assert elide("a_very_long_name_for_a_single_node") == "a_very_long_name_for_a_…"


@pytest.mark.parametrize(
    "text", ["triage", "WWWWMMMM", "solver_checker", "~`|{}[]<>#%&@", "0123456789"]
)
def test_widths_are_those_of_a_wide_font(text: str):
    """What is measured without a font agrees with DejaVu Sans Bold, which matplotlib ships."""
    file = Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans-Bold.ttf"
    font = ImageFont.truetype(str(file), 1300)

    assert bold_width(text, 13) == pytest.approx(font.getlength(text) / 100, rel=0.02)
