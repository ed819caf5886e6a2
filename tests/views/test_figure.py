"""The matplotlib drawing: without pyplot, without warnings, at any size."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from drawn_graphs import HARD, model
from hostile_texts import HOSTILE
from matplotlib.figure import Figure
from PIL import Image

from liman_nb.views.figure import figure
from liman_nb.views.layout import lay_out


def drawn(graph, ax=None) -> Figure:
    """The figure of a graph."""
    return figure(graph, lay_out(graph, without_graphviz=True), ax)


@pytest.mark.parametrize("name", HARD)
def test_every_hard_graph_becomes_a_picture(name: str):
    """Names in any script too: a missing glyph would be a warning, and warnings are errors here."""
    target = BytesIO()
    drawn(HARD[name]).savefig(target, format="png", dpi=30)

    assert Image.open(target).size[0] > 20


def test_a_figure_has_the_drawing_s_own_size():
    """At 96 pixels per inch it is as large as the SVG."""
    graph = HARD["cycles"]
    layout = lay_out(graph, without_graphviz=True)
    width, height = figure(graph, layout).get_size_inches() * 96

    assert (width, height) == pytest.approx((layout.width + 16, layout.height + 16))


def test_a_notebook_shows_the_figure_by_itself():
    """Twice the pixels for sharp screens, shown at the drawing's size."""
    picture, size = drawn(HARD["cycles"])._repr_png_()
    pixels = Image.open(BytesIO(picture)).size

    assert pixels == pytest.approx((2 * size["width"], 2 * size["height"]), abs=2)


def test_a_graph_is_drawn_on_a_given_axis():
    """For a paper: one of several axes, everything within its own coordinates."""
    whole = Figure(figsize=(8, 4))
    left, right = whole.subplots(1, 2)
    right.plot([1, 2])

    assert drawn(HARD["a session"], left) is whole
    assert len(left.patches) > 20
    assert not left.texts
    assert len(right.patches) == 0


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_labels_are_drawn_as_text(text: str):
    """No formula, no markup, no warning."""
    graph = model([text, f"{text}2"], [(text, f"{text}2", text or "$x^{2}$ and $\\frac{1}{2}$")])
    target = BytesIO()
    drawn(graph).savefig(target, format="png", dpi=30)

    assert target.tell() > 500


def test_no_figure_is_left_behind():
    """The module that registers figures, pyplot, is not even imported."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from drawn_graphs import HARD\n"
        "from liman_nb.views.layout import lay_out\n"
        "from liman_nb.views.figure import figure\n"
        "graph = HARD['cycles']\n"
        "figure(graph, lay_out(graph))._repr_png_()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    paths = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]
    command = [sys.executable, "-W", "error", "-c", code, *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
