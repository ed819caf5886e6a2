"""What a function's docstring says about it, in Google, NumPy or Sphinx style."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import docstring_parser


@dataclass(frozen=True, slots=True)
class Documentation:
    """A docstring, taken apart.

    Attributes:
        text: what the function does; without the sections.
        parameters: what each described parameter is, by name, in one line.
    """

    text: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_docstring(function: Callable[..., Any]) -> Documentation:
    """A function's docstring; a docstring in no known style is text as a whole."""
    while isinstance(function, functools.partial):
        function = function.func
    doc = _docstring(function)
    try:
        parsed = docstring_parser.parse(doc)
    except docstring_parser.ParseError:
        return Documentation(doc)
    parts = (parsed.short_description, parsed.long_description)
    described = {p.arg_name: " ".join((p.description or "").split()) for p in parsed.params}
    return Documentation("\n\n".join(p.strip() for p in parts if p), described)


def _docstring(function: Callable[..., Any]) -> str:
    """The docstring of a function, or of an object's ``__call__``, or else of its class."""
    if inspect.isroutine(function):
        return inspect.getdoc(function) or ""
    return inspect.getdoc(type(function).__call__) or inspect.getdoc(type(function)) or ""
