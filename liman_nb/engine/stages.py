"""The stages around an LLM node's model, and the functions that may stand there."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from liman_nb.errors import UsageError
from liman_nb.tools.calling import OFFERED_NAMES, function_name

Stage = Literal["pre_compose", "intelligence"]
Function = Callable[..., Any]

PARAMETERS: Mapping[Stage, tuple[str, ...]] = {
    "pre_compose": ("input_data", "context"),
    "intelligence": ("llm_response", "input_data", "context"),
}
"""What the function of each stage is called with, by name. It takes those that it names."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The functions of one node; ``None`` where it has none."""

    pre_compose: Function | None = None
    intelligence: Function | None = None


def check_stage(stage: Stage, function: Function) -> None:
    """Refuse a function that a stage could not call.

    Raises:
        UsageError: it is no function, or it needs a parameter that nobody supplies.
    """
    name, wanted = function_name(function), ", ".join(PARAMETERS[stage])
    if not callable(function) or inspect.isclass(function):
        raise UsageError(f"{stage} takes a function({wanted}), not {function!r:.80}")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise UsageError(f"{stage}: the signature of {name} cannot be read: {error}") from error
    known = {*PARAMETERS[stage], *OFFERED_NAMES}
    required = [p for p in parameters if p.default is p.empty and p.kind not in _OPEN]
    surplus = [p.name for p in required if p.name not in known or p.kind is p.POSITIONAL_ONLY]
    if surplus:
        raise UsageError(
            f"{stage}: {name} needs {', '.join(surplus)}, which nobody supplies; it is called as "
            f"{name}({wanted}), and may also ask for {', '.join(sorted(OFFERED_NAMES))}"
        )


_OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
