"""Names of documents as specs write them: ``name``, ``Kind/name`` or ``Kind:name``."""

from __future__ import annotations

import re
from dataclasses import dataclass

KIND_ALIASES = {"Node": "FunctionNode", "HITLNode": "HumanNode", "HITL": "HumanNode"}
"""Other words for a kind."""

NAME_RULE = "a name is a letter or '_', then letters, digits, '_' or '-', at most 64 characters"
TOOL_NAME_RULE = (
    "a tool's name is letters A to Z and a to z, digits, '_' or '-', at most 64 characters"
)

_NAME = re.compile(r"[^\W\d][\w-]{0,63}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Reference:
    """A document that another one names.

    Attributes:
        name: its name.
        kind: its kind, aliases resolved; empty when only the name is written.
    """

    name: str
    kind: str = ""

    def __str__(self) -> str:
        """``Kind/name``, or the name alone."""
        return f"{self.kind}/{self.name}" if self.kind else self.name


def parse_reference(text: str) -> Reference:
    """The document that a text names; the name may turn out to be of no document."""
    kind, separator, name = text.strip().replace(":", "/", 1).partition("/")
    if not separator:
        return Reference(kind.strip())
    return Reference(name.strip(), true_kind(kind.strip()))


def true_kind(kind: str) -> str:
    """A kind's own word for one of its aliases."""
    return KIND_ALIASES.get(kind, kind)


def a_kind(kind: str) -> str:
    """A kind with its article."""
    return f"an {kind}" if kind == "LLMNode" else f"a {kind}"


def is_name(name: str, kind: str) -> bool:
    """Whether a document may have this name: :data:`NAME_RULE`.

    A tool's name is sent to the model, so OpenAI's rule holds for it: :data:`TOOL_NAME_RULE`
    (https://platform.openai.com/docs/api-reference/chat/create, ``tools.function.name``).
    """
    return (_TOOL_NAME if kind == "ToolNode" else _NAME).fullmatch(name) is not None
