"""What an MCP tool gave back, as a model can read it.

See `Tool Result`_: structured content is the result; else the content blocks as text, and a word
about those that are none.

.. _Tool Result: https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from liman_nb.errors import ToolError
from liman_nb.tools.results import bounded

if TYPE_CHECKING:
    from mcp.types import CallToolResult


def read_result(name: str, result: CallToolResult, limit: int) -> Any:
    """A tool's result.

    Args:
        name: the tool's name, for errors.
        result: as the server sent it.
        limit: characters that are kept; the result says what was cut.

    Returns:
        The structured content, or a text. Images and other blocks that are no text are named;
        beside structured content as ``{"result": …, "notes": […]}``.

    Raises:
        ToolError: the server says that the call failed.
    """
    blocks = [_block(block) for block in result.content]
    text = "\n".join(text for _, text in blocks)
    if result.is_error:
        raise ToolError(f"{name} failed: {bounded(text, limit) or 'the server does not say why'}")
    structured = result.structured_content
    if structured is None:
        return bounded(text, limit)
    notes = [text for is_text, text in blocks if not is_text]
    return bounded({"result": structured, "notes": notes} if notes else structured, limit)


def _block(block: Any) -> tuple[bool, str]:
    """Whether a block is text, and the block as text."""
    match block.type:
        case "text":
            return True, block.text
        case "resource":
            return _resource(block.resource)
        case "resource_link":
            return False, f"[resource {block.name}: {block.uri}]"
        case "image" | "audio" as kind:
            return False, _binary(kind, block.mime_type, block.data)
    return False, f"[{block.type}: not passed on]"


def _resource(resource: Any) -> tuple[bool, str]:
    text = getattr(resource, "text", None)
    if text is not None:
        return True, str(text)
    return False, _binary(f"resource {resource.uri}", resource.mime_type, resource.blob)


def _binary(what: str, kind: str | None, data: str) -> str:
    try:
        size = f"{len(base64.b64decode(data)):,} bytes"
    except binascii.Error:
        size = "of unknown size"
    return f"[{what}: {kind or 'unknown type'}, {size}, not passed on]"
