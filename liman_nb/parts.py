"""What an agent is made with: its constructor's arguments, each in one form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from liman_nb.engine.bounds import Bounds
from liman_nb.errors import UsageError
from liman_nb.settings import Settings
from liman_nb.state.storage import StateStorage

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Parts:
    """What an agent was made with: the arguments of :class:`liman_nb.Agent`."""

    source: Any
    start_node: str | None
    tools: tuple[Function, ...]
    functions: tuple[Function, ...] | Mapping[str, Function]
    allow_imports: tuple[str, ...]
    language: str | None
    strict: bool
    llm: Any
    llms: Mapping[str, Any]
    state_storage: StateStorage | None
    bounds: Bounds
    name: str | None
    settings: Settings | None
    clock: Callable[[], datetime]


def one_source(specs: Any, specs_dir: str | Path | None) -> Any:
    """The specs, under whichever of the two names they came.

    Raises:
        UsageError: under both, or none.
    """
    if (specs is None) == (specs_dir is None):
        raise UsageError(
            "an Agent needs its specs, once: Agent('specs/'), Agent(specs_dir='specs/'), or "
            "Agent(specs='''kind: LLMNode …''')"
        )
    return specs if specs_dir is None else Path(specs_dir)


def several(
    functions: Iterable[Callable[..., Any]], argument: str
) -> tuple[Callable[..., Any], ...]:
    """Functions that were passed as a list.

    Raises:
        UsageError: something else was passed.
    """
    if callable(functions) or not isinstance(functions, Iterable):
        raise UsageError(f"{argument}= takes a list of functions, such as {argument}=[get_weather]")
    return tuple(functions)


def by_node(llms: Mapping[str, Any] | None) -> dict[str, Any]:
    """Models by the names of their nodes.

    Raises:
        UsageError: something else was passed.
    """
    if llms is not None and not isinstance(llms, Mapping):
        raise UsageError(
            "llms= gives single nodes their models: llms={'chat': …}; one model for all is llm=…"
        )
    return dict(llms or {})


def names(names: Iterable[str]) -> tuple[str, ...]:
    """One name, or several."""
    return (names,) if isinstance(names, str) else tuple(names)
