"""What a tool returned: as JSON values for the storage, as text for the model that called it."""

from __future__ import annotations

import json
from typing import Any

from liman_nb.errors import ToolError
from liman_nb.specs.json_text import JsonProblem
from liman_nb.specs.jsonable import jsonable

MAX_TEXT = 20_000
"""Characters of a result that a model reads, unless another bound is given."""


def as_json(value: Any) -> Any:
    """A function's result as JSON values, which come back equal from JSON.

    See :func:`liman_nb.specs.jsonable.jsonable` for what becomes of models, dataclasses, dates,
    sets, data frames and the rest.

    Raises:
        ToolError: something in it has no JSON form; the message names it, such as
            ``result.scores[3]``.
    """
    try:
        return jsonable(value, "result")
    except JsonProblem as exc:
        raise ToolError(f"the result cannot be used: {exc}") from exc


def tool_text(value: Any, limit: int = MAX_TEXT) -> str:
    """What a model reads of a result: text as it is, anything else as compact JSON.

    Args:
        value: a JSON value.
        limit: characters that are kept; a note at the end counts what was cut.
    """
    text = value if isinstance(value, str) else _compact(value)
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[cut: {len(text) - limit:,} more characters]"


def bounded(value: Any, limit: int) -> Any:
    """A JSON value as it is, or, when it is longer than `limit`, as :func:`tool_text` cuts it."""
    text = value if isinstance(value, str) else _compact(value)
    return value if len(text) <= limit else tool_text(value, limit)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
