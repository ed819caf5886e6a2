"""Templates of prompts and questions: ``{name}`` and ``{a.b}``, filled from mappings only.

Never ``str.format``: a template can reach neither attributes nor format specifications. A brace
that stands for itself is doubled. Anything else in braces (JSON in a prompt, say) stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_FIELD = re.compile(r"\{\{|\}\}|\{([^\W\d]\w*(?:\.[^\W\d]\w*)*)\}")


class _Missing:
    pass


_MISSING = _Missing()


def template_names(template: str) -> tuple[str, ...]:
    """The names a template reads, as written, in order and without repeats."""
    return tuple(dict.fromkeys(m[1] for m in _FIELD.finditer(template) if m[1]))


def fill(template: str, values: Mapping[str, Any]) -> str:
    """Fill a template.

    Args:
        template: the text.
        values: nested mappings.

    Raises:
        LookupError: a name is missing; its only argument is the name as written.
    """

    def put(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        value = _read(values, match[1])
        if isinstance(value, _Missing):
            raise LookupError(match[1])
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return _FIELD.sub(put, template)


def _read(values: Mapping[str, Any], name: str) -> Any:
    value: Any = values
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _MISSING
        value = value[part]
    return value
