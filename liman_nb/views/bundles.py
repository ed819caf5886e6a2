"""What notebooks and terminals ask of a view: text and HTML, which never fail and never block.

IPython swallows exceptions of a repr, so a view that cannot be shown says so: it warns, and what is
left of it is shown.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from markupsafe import Markup


class ViewWarning(UserWarning):
    """A view could not be shown in full: a defect of this package."""


class View(ABC):
    """A frozen record of something, with a text form and a static HTML form.

    A view holds plain data taken when it was made; what happens later does not change it.
    """

    @abstractmethod
    def text(self) -> str:
        """The text form, for terminals."""

    @abstractmethod
    def html(self) -> Markup:
        """The HTML form: one element, without script or style sheet."""

    def __str__(self) -> str:
        return _attempt(self, self.text) or f"<{type(self).__name__}: could not be shown>"

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows and stores. IPython itself picks from it by its two arguments."""
        del include, exclude
        bundle = {"text/plain": str(self)}
        html = _attempt(self, self.html)
        return {**bundle, "text/html": str(html)} if html else bundle


def _attempt(view: View, form: Callable[[], str]) -> str:
    """A form of the view; empty, after a warning, when making it failed."""
    try:
        return form()
    except Exception as error:  # noqa: BLE001 - a repr never raises
        kind = f"{type(view).__name__}.{form.__name__}()"
        warnings.warn(f"{kind} failed: {type(error).__name__}: {error}", ViewWarning, stacklevel=3)
        return ""
