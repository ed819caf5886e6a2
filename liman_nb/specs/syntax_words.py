"""What is wrong with a YAML text, in plain words, from what pyyaml reports."""

from __future__ import annotations

import re

from yaml.error import Mark, MarkedYAMLError, YAMLError

from liman_nb.errors import Place, Problem
from liman_nb.specs.located import MAX_DEPTH

_QUOTE_IT = "put the text in quotes"

_WORDS: tuple[tuple[str, str, str], ...] = (
    (r"too deep", f"this is nested deeper than {MAX_DEPTH} levels", ""),
    (
        r"found character '\\t'",
        "a tab stands where YAML wants spaces",
        "indent with spaces",
    ),
    (
        r"found character '(.+)' that cannot start",
        "a text cannot start with {0!r}",
        _QUOTE_IT,
    ),
    (
        r"mapping values are not allowed",
        "there is a second ': ' in this entry, or the line above is indented differently",
        "put a text that contains ': ' in quotes",
    ),
    (
        r"could not find expected ':'",
        "a key without ':'",
        "write 'key: value'; a text of several lines starts with '|'",
    ),
    (
        r"expected <block end>",
        "this does not line up with the entries above, or follows a closed quote or bracket",
        "indent it like its neighbours; put a text that starts with '{', '[' or a quote in quotes",
    ),
    (r"expected ',' or '\]'", "a list in [ ] has no ',' or ']' here", ""),
    (r"expected ',' or '\}'", "a mapping in { } has no ',' or '}' here", ""),
    (r"unexpected end of stream|unexpected document separator", "this quote is not closed", ""),
    (
        r"found undefined alias '(.+)'",
        "the alias '*{0}' has no anchor '&{0}' above it",
        "put a text that starts with '*' in quotes",
    ),
    (
        r"found undefined alias (.+)",
        "the alias '*{0}' has no anchor '&{0}' above it",
        "put a text that starts with '*' in quotes",
    ),
    (
        r"sequence entries are not allowed",
        "a list cannot begin in the line of its key",
        "begin it in the next line, or write it in [ ]",
    ),
    (r"expected the node content, but found '(.)'", "nothing is open that {0!r} could close", ""),
    (r"second occurrence", "an anchor '&…' of this name stands above already", ""),
    (
        r"found unknown escape character '(.+)'",
        "there is no escape '\\{0}' in double quotes",
        "use single quotes for a text with backslashes",
    ),
    (r"expected alphabetic or numeric", "an anchor or alias has no name", _QUOTE_IT),
    (r"undefined tag handle '(.+)'", "the tag handle '{0}' is not declared", _QUOTE_IT),
    (
        r"expected '<document start>'",
        "a second value follows the document",
        "separate documents with a line '---'",
    ),
)

_AT_THE_START = re.compile(
    r"unexpected end of stream|unexpected document separator|could not find expected ':'"
)
"""What is best shown where the quote or key begins, not where pyyaml gave up."""


def explain_syntax(error: YAMLError, file: str) -> Problem:
    """One problem, with its place, for an error of pyyaml's scanner, parser or composer."""
    if not isinstance(error, MarkedYAMLError):
        return Problem(f"this is not valid YAML: {error}", Place(file))
    reported = str(error.problem or error.context or "")
    mark = error.problem_mark or error.context_mark
    if _AT_THE_START.search(reported) and error.context_mark:
        mark = error.context_mark
    message, hint = _in_words(reported)
    return Problem(message, _place(file, mark), hint=hint)


def _in_words(reported: str) -> tuple[str, str]:
    for pattern, message, hint in _WORDS:
        found = re.search(pattern, reported)
        if found:
            return (message.format(*found.groups()) if found.groups() else message), hint
    return f"this is not valid YAML: {reported}", ""


def _place(file: str, mark: Mark | None) -> Place:
    return Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
