"""A document's tree to its model, with every misfit as one sentence at its place.

pydantic finds the misfits; its own wording is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from liman_nb.specs.documents import MODELS, PARTS
from liman_nb.specs.findings import Findings, did_you_mean
from liman_nb.specs.located import Located, in_words, path_text

M = TypeVar("M", bound=BaseModel)

_STATE_STORAGE = "where state is kept is said in code: Agent(state_storage=…)"
IN_CODE: Mapping[str, str] = {"store": _STATE_STORAGE, "persistence": _STATE_STORAGE}
"""Fields that belong into the code, and how they are written there."""


INSIDE: Mapping[str, str] = {"system": "it belongs inside prompts: {system: …}"}
"""Fields that belong into another one, where they are first looked for."""


def validate(model: type[M], tree: Located, subject: str, findings: Findings) -> M | None:
    """The model of a document.

    Args:
        model: the model of its kind.
        tree: the document, without edges.
        subject: kind and name, for problems.
        findings: told of every misfit.

    Returns:
        ``None`` if the document does not fit. Without strictness, unknown fields are left out.
    """
    try:
        return model.model_validate(tree.plain())
    except ValidationError as error:
        misfits = error.errors(include_url=False)
    unknown = [m for m in misfits if m["type"] == "extra_forbidden"]
    for misfit in misfits:
        _report(misfit, model, tree, subject, findings)
    if findings.strict or len(unknown) < len(misfits):
        return None
    rest = tree
    for misfit in unknown:
        rest = _removed(rest, _path(misfit, tree))
    return validate(model, rest, subject, findings)


def _removed(tree: Located, path: tuple[str | int, ...]) -> Located:
    step, *rest = path
    if not rest:
        return tree.without(str(step))
    child = _removed(tree.at((step,)), tuple(rest))
    if isinstance(step, int):
        items = [child if i == step else item for i, item in enumerate(tree.items)]
        return tree.with_value(tuple(items))
    return tree.with_value({**tree.fields, step: child})


def _report(
    misfit: ErrorDetails, model: type[BaseModel], tree: Located, subject: str, findings: Findings
) -> None:
    path = _path(misfit, tree)
    where = tree.at(path)
    if misfit["type"] == "extra_forbidden":
        name = str(path[-1])
        hint = IN_CODE.get(name) or INSIDE.get(name) or _known_field(name, model, path)
        findings.refuse(
            f"unknown field {path_text(path)!r}", where.key or where.place, subject, hint
        )
        return
    sentence, hint = _sentence(misfit, where)
    shown = path_text(path)
    findings.error(f"{shown}: {sentence}" if shown else sentence, where.place, subject, hint)


def _path(misfit: ErrorDetails, tree: Located) -> tuple[str | int, ...]:
    """The place in the document; pydantic also names the branches of unions."""
    path: list[str | int] = []
    here, steps = tree, misfit["loc"]
    for number, step in enumerate(steps):
        child = here.at((step,))
        if child is not here:
            path.append(step)
            here = child
        elif number == len(steps) - 1 and misfit["type"] == "missing":
            path.append(step)
    return tuple(path)


def _known_field(name: str, model: type[BaseModel], path: tuple[str | int, ...]) -> str:
    """The nearest field of this part, or the kind that has such a field."""
    parts = [PARTS[step] for step in path[:-1] if step in PARTS]
    fields = (parts[-1] if parts else model).model_fields
    hint = did_you_mean(name, [f for f in fields if f != "kind"])
    owners = [kind for kind, other in MODELS.items() if name in other.model_fields]
    return hint or (f"it is a field of {', '.join(owners)}" if owners and not parts else "")


_SENTENCES: Mapping[str, str] = {
    "missing": "this field is missing",
    "string_type": "a text is expected, this is {this}",
    "string_too_short": "the text is empty",
    "int_type": "a whole number is expected, this is {this}",
    "int_from_float": "a whole number is expected, this is {this}",
    "float_type": "a number is expected, this is {this}",
    "bool_type": "true or false is expected, this is {this}",
    "tuple_type": "a list is expected, this is {this}",
    "dict_type": "a mapping is expected, this is {this}",
    "model_type": "a mapping is expected, this is {this}",
    "literal_error": "one of {expected} is expected, this is {this}",
    "greater_than": "a number above {gt:g} is expected, this is {this}",
    "greater_than_equal": "a number of at least {ge:g} is expected, this is {this}",
    "less_than_equal": "a number of at most {le:g} is expected, this is {this}",
    "value_error": "{error}",
}
"""pydantic's error types, in our words; a test finds those that are missing."""

_ENGLISH = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


def _sentence(misfit: ErrorDetails, where: Located) -> tuple[str, str]:
    """What is wrong, and what to do."""
    context = {**(misfit.get("ctx") or {}), "this": in_words(where.plain())}
    sentence = _SENTENCES.get(misfit["type"], "{this} is not allowed here").format_map(context)
    hint = ""
    if misfit["type"] == "string_type" and isinstance(where.value, int | float):
        hint = "put it in quotes"
    elif misfit["type"] == "literal_error" and where.text:
        hint = did_you_mean(where.text, re.findall(r"'([^']*)'", str(context["expected"])))
    elif misfit["type"] == "bool_type" and where.text in _ENGLISH:
        hint = f"write {_ENGLISH[where.text]}"
    return sentence, hint
