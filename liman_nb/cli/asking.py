"""A person at the terminal is asked, field by field; what does not fit is told and asked again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from liman_nb.cli.terminal import say
from liman_nb.tools.answers import answer_problems
from liman_nb.views.answer_forms import Field, Form
from liman_nb.views.escape import json_text, one_line

_YES = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
_CAP = 200


class LeftOpen(Exception):
    """The person ended the input (Ctrl-D): the question stays open."""


class _Wrong(Exception):
    """What was typed cannot be read as what is wanted."""


def ask_person(form: Form) -> Any:
    """Read an answer.

    Args:
        form: what it must be.

    Returns:
        A JSON value. Each part fits its own form; the whole is checked by who gets it.

    Raises:
        LeftOpen: the person ended the input.
    """
    return _value("answer", form)


def _value(name: str, form: Form) -> Any:
    if form.kind == "object" and form.fields and not form.nullable:
        return dict(_fields(name, form))
    _list_choices(form)
    return _asked(f"{one_line(name)}{_hint(form)}: ", form, _needed)


def _fields(name: str, form: Form) -> Iterator[tuple[str, Any]]:
    """The fields that are answered."""
    inner = "" if name == "answer" else f"{name}."
    for field in form.fields:
        full = f"{inner}{field.name}"
        if field.required:
            yield field.name, _value(full, field.form)
            continue
        value = _optional(full, field)
        if value is not _LEFT_OUT:
            yield field.name, value


_LEFT_OUT = object()


def _optional(name: str, field: Field) -> Any:
    _list_choices(field.form)
    prompt = f"{one_line(name)}{_hint(field.form)}, or Enter to leave it out: "
    return _asked(prompt, field.form, lambda _: _LEFT_OUT)


def _asked(prompt: str, form: Form, when_empty: Callable[[Form], Any]) -> Any:
    """Ask until the line can be read as what is wanted, and fits."""
    while True:
        line = _line(prompt)
        try:
            value = _read(line, form) if line else when_empty(form)
        except _Wrong as wrong:
            say(f"  {wrong}")
            continue
        problems = [] if value is _LEFT_OUT else _problems(form, value)
        if not problems:
            return value
        say(f"  {one_line('; '.join(problems), _CAP)}")


def _problems(form: Form, value: Any) -> list[str]:
    """What does not fit of a part. One whose schema refers to others is judged with the whole."""
    if '"$ref"' in json.dumps(dict(form.schema)):
        return []
    return answer_problems(form.schema, value)


def _line(prompt: str) -> str:
    say(prompt, end=False)
    try:
        return input().strip()
    except EOFError:
        raise LeftOpen from None


def _needed(form: Form) -> Any:
    """What an empty line stands for where an answer is needed."""
    if form.nullable or form.kind == "null":
        return None
    empty = '; "" is an empty text' if form.kind == "text" else ""
    raise _Wrong(f"An answer is needed{empty}.")


def _read(line: str, form: Form) -> Any:
    """A line as a value of the form's kind.

    Raises:
        _Wrong: it cannot be.
    """
    if form.nullable and line == "null":
        return None
    match form.kind:
        case "boolean":
            return _boolean(line)
        case "choice":
            return _choice(line, form)
        case "text":
            return "" if line == '""' else line
        case "any":
            return _json_or_text(line)
    try:
        return json.loads(line)
    except ValueError:
        written = "" if form.kind in ("integer", "number", "null") else ", written as JSON"
        raise _Wrong(f"This must be {_words(form)}{written}.") from None


def _boolean(line: str) -> bool:
    if line.lower() not in _YES:
        raise _Wrong("Answer y or n.")
    return _YES[line.lower()]


def _choice(line: str, form: Form) -> Any:
    """A choice by its word, else by its number in the list."""
    for choice in form.choices:
        if line in (choice, json.dumps(choice, ensure_ascii=False)):
            return choice
    if line.isdecimal() and _is_numbered(form) and 0 < int(line) <= len(form.choices):
        return form.choices[int(line) - 1]
    raise _Wrong("Choose one of the list.")


def _json_or_text(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


# ── what is said of a form ───────────────────────────────────────────────────────────────────────


def _list_choices(form: Form) -> None:
    for number, choice in enumerate(form.choices, 1):
        shown = choice if isinstance(choice, str) else json_text(choice, _CAP)
        say(f"  {f'{number} ' if _is_numbered(form) else ''}{one_line(shown, _CAP)}")


def _is_numbered(form: Form) -> bool:
    """Whether choices may be told by number: not where they are numbers themselves."""
    return not any(
        (isinstance(choice, int | float) and not isinstance(choice, bool))
        or (isinstance(choice, str) and choice.isdecimal())
        for choice in form.choices
    )


def _hint(form: Form) -> str:
    about = f" ({one_line(form.description, _CAP)})" if form.description else ""
    match form.kind:
        case "boolean":
            return f"{about} [y/n]"
        case "choice" if _is_numbered(form):
            return f"{about} [1-{len(form.choices)}]"
        case "choice" | "text" | "any":
            return about
    return f"{about} [{_words(form)}]"


def _words(form: Form) -> str:
    return one_line(form.words, _CAP)
