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
_AGENTS = ("LLMNode", "FunctionNode", "HumanNode")
_ONE_BY_ONE = "its runs go one after another"

TABLE: tuple[NotRun, ...] = (
    NotRun(("HumanNode",), "func", "a person is asked, no function"),
    NotRun(("FunctionNode",), "prompts", "a function has no prompts"),
    NotRun(("FunctionNode",), "tools", "a function calls no tools"),
    NotRun(_AGENTS, "inputs", "its input is not compared with them"),
    NotRun(
        _AGENTS,
        "communication_type",
        "an output goes along the node's edges, and a turn waits for its whole tree",
        runs=(None, "chain"),
    ),
    NotRun(
        _AGENTS,
        "enforce_yields",
        "what does not fit the yields is refused, and nothing is filled in",
        runs=(None, True),
    ),
    NotRun(
        ("FunctionNode",),
        "enforce_yields_retry",
        "a function is not called again for its yields",
        runs=(None, 0),
    ),
    NotRun(("HumanNode",), "enforce_yields_retry", "a person may answer until the answer fits"),
    NotRun(_AGENTS, "auto_store_yields", "they are stored", runs=(None, True)),
    NotRun(_AGENTS, "auto_store_response", "it is stored", runs=(None, True)),
    NotRun(("LLMNode", "HumanNode"), "parallel", _ONE_BY_ONE, runs=(None, False)),
    NotRun(
        ("FunctionNode",),
        "parallel",
        "its runs go side by side, unless its function asks for the state",
        runs=(None, True),
    ),
    NotRun(("LLMNode", "HumanNode"), "max_concurrent", _ONE_BY_ONE, runs=(None, 1)),
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
                yield words_for(entry.field or "this kind", entry.instead), found
    prompts = tree.fields.get("prompts") if kind == "LLMNode" else None
    for name, prompt in prompts.fields.items() if prompts else ():
        if name != "system":
            yield words_for(f"prompts.{name}", _ONLY_SYSTEM), prompt


def words_for(what: str, instead: str) -> str:
    """The warning for a part of a document, with what happens instead."""
    return f"{what} is loaded but not run yet: {instead}"


def without_foreign(kind: str, tree: Located) -> Located:
    """The document without the fields that no model knows but this table does."""
    return tree.without(*(e.field for e in TABLE if e.foreign and kind in e.kinds))
