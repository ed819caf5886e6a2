"""What specs may say that no part of the package acts on yet: one table, to be made shorter.

Such a field loads, and a warning names it; nothing is dropped in silence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from liman_nb.specs.located import Located


@dataclass(frozen=True, slots=True)
class NotRun:
    """A field, or a whole kind, that has no effect yet.

    Attributes:
        kinds: the kinds of documents that have it.
        field: its name; empty for the kind itself.
        instead: what happens instead.
        runs: values that do have their effect.
        foreign: whether no model knows the field, so that it is taken out before validation.
    """

    kinds: tuple[str, ...]
    field: str
    instead: str
    runs: tuple[Any, ...] = (None,)
    foreign: bool = False


_NODES = ("LLMNode", "ToolNode", "FunctionNode", "HumanNode")

TABLE: tuple[NotRun, ...] = (
    NotRun(("HumanNode",), "func", "a person is asked, no function"),
    NotRun(("FunctionNode",), "prompts", "a function has no prompts"),
    NotRun(("FunctionNode",), "tools", "a function calls no tools"),
    NotRun(_NODES, "metrics", "nothing is measured", foreign=True),
    NotRun(_NODES, "rate_limiter", "calls are not limited", foreign=True),
)

_ONLY_SYSTEM = "only 'system' is sent to the model"


def not_run(kind: str, tree: Located) -> Iterator[tuple[str, Located]]:
    """A warning for each part of a document that has no effect yet, with where it stands."""
    for entry in TABLE:
        if kind in entry.kinds:
            found = tree.fields.get(entry.field) if entry.field else tree
            if found is not None and found.plain() not in entry.runs:
                yield _words(entry.field or "this kind", entry.instead), found
    prompts = tree.fields.get("prompts") if kind == "LLMNode" else None
    for name, prompt in prompts.fields.items() if prompts else ():
        if name != "system":
            yield _words(f"prompts.{name}", _ONLY_SYSTEM), prompt


def _words(what: str, instead: str) -> str:
    return f"{what} is loaded but not run yet: {instead}"


def without_foreign(kind: str, tree: Located) -> Located:
    """The document without the fields that no model knows but this table does."""
    return tree.without(*(e.field for e in TABLE if e.foreign and kind in e.kinds))
