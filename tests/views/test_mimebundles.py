"""What a notebook is given: text and HTML, never a failure."""

from __future__ import annotations

import pytest
from markupsafe import Markup
from view_examples import refund_done

from liman_nb.views import GraphView, TreeView, View, ViewWarning


class Broken(View):
    """A view with a defect."""

    def __init__(self, *parts: str) -> None:
        self.parts = parts

    def text(self) -> str:
        """The text form, or the defect."""
        if "text" in self.parts:
            raise KeyError("text")
        return "fine"

    def html(self) -> Markup:
        """The HTML form, or the defect."""
        if "html" in self.parts:
            raise ZeroDivisionError("html")
        return Markup("<div>fine</div>")


def test_a_bundle_has_text_and_html():
    """Nothing live, nothing that needs a kernel."""
    bundle = TreeView(refund_done().tree)._repr_mimebundle_(include=None, exclude=None)

    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"].startswith("Root Executor (")
    assert bundle["text/html"].startswith("<div ")
    assert {type(part) for part in bundle.values()} == {str}


def test_a_broken_html_form_leaves_the_text():
    """The reader is told; the output is what is left."""
    with pytest.warns(ViewWarning, match=r"Broken\.html\(\) failed: ZeroDivisionError: html"):
        bundle = Broken("html")._repr_mimebundle_()

    assert bundle == {"text/plain": "fine"}


def test_a_broken_text_form_is_said_to_be_broken():
    """A repr never raises."""
    with pytest.warns(ViewWarning, match=r"Broken\.text\(\) failed: KeyError: 'text'"):
        assert repr(Broken("text")) == "<Broken: could not be shown>"


def test_repr_and_str_are_the_text():
    """In a terminal and in print."""
    view = Broken()

    assert repr(view) == str(view) == "fine"


def test_a_view_shows_itself_in_ipython_only_through_its_bundle():
    """The live view is asked for by name; nothing displays on its own."""
    view = GraphView(refund_done().graph)

    assert not hasattr(view, "_ipython_display_")
    assert not hasattr(view, "_repr_html_")


def test_the_root_is_left_alone_by_mathjax():
    """Dollar signs of conditions are no formulas."""
    html = GraphView(refund_done().graph)._repr_mimebundle_()["text/html"]

    assert html.split(">")[0].endswith('class="tex2jax_ignore mathjax_ignore"')
