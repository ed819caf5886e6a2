"""Statuses and outcomes are told by icon, word and colours with enough contrast."""

from __future__ import annotations

import pytest

from liman_nb.views.icons import OUTCOME_ICONS, STATUS_ICONS
from liman_nb.views.palette import INK, OUTCOMES, PAPER, STATUSES, contrast

LIGHT_PAGE, DARK_PAGE = "#ffffff", "#111111"
TEXT, LINE = 4.5, 3.0


def test_contrast_is_that_of_wcag():
    """Black on white is 21, a colour on itself 1, and a known pair in between."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#777777") == 1
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_reads_in_both_themes(status: str):
    """Text on its own ground 4.5:1, the border against the page 3:1, in light and dark."""
    style = STATUSES[status]

    assert contrast(style.light.text, style.light.ground) >= TEXT
    assert contrast(style.dark.text, style.dark.ground) >= TEXT
    assert contrast(style.light.border, LIGHT_PAGE) >= LINE
    assert contrast(style.dark.border, DARK_PAGE) >= LINE


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_edge_is_seen_in_both_themes(outcome: str):
    """Lines stand out 3:1, also the ones that must do on either page."""
    style = OUTCOMES[outcome]

    assert contrast(style.light, LIGHT_PAGE) >= LINE
    assert contrast(style.dark, DARK_PAGE) >= LINE
    assert min(contrast(style.both, page) for page in (LIGHT_PAGE, DARK_PAGE)) >= LINE


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_condition_reads_on_its_label(outcome: str):
    """The label's text on its own ground, whatever the page."""
    assert contrast(STATUSES[OUTCOMES[outcome].chip].light.text, PAPER) >= TEXT


@pytest.mark.parametrize("status", STATUSES)
def test_a_node_name_reads_on_every_status(status: str):
    """Names are drawn in one ink on the status' ground."""
    assert contrast(INK, STATUSES[status].light.ground) >= TEXT


def test_no_two_statuses_or_outcomes_share_an_icon():
    """Colour is never the only difference."""
    assert len({style.icon for style in STATUSES.values()}) == len(STATUSES)
    assert len({style.icon for style in OUTCOMES.values()}) == len(OUTCOMES)
    assert set(STATUS_ICONS) == set(STATUSES)
    assert len(set(STATUS_ICONS.values())) == len(STATUSES)
    assert set(OUTCOME_ICONS) == set(OUTCOMES)


def test_outcomes_differ_in_more_than_colour():
    """A line's width or dashes tell fired, not fired and undecided apart."""
    looks = {(style.width, style.dashes) for style in OUTCOMES.values()}

    assert len(looks) == len(OUTCOMES)
