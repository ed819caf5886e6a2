"""An MCP server, run as a process: over stdio, or over streamable HTTP on the port it is given."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import EmbeddedResource, ResourceLink, TextContent, TextResourceContents

server = MCPServer("test server", log_level="ERROR")
notes = list[str]()


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def remember(note: str) -> list[str]:
    """Keep a note in this process."""
    notes.append(note)
    return notes


@server.tool()
def process() -> int:
    """The number of this process."""
    return os.getpid()


@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ToolError(why)


@server.tool(structured_output=False)
def say(text: str) -> str:
    """Repeat a text."""
    return text


@server.tool()
def environment() -> dict[str, str]:
    """The variables of this process."""
    return dict(os.environ)


@server.tool(structured_output=False)
def blocks() -> list[Any]:
    """Blocks of every kind."""
    inner = TextResourceContents(uri="memo://1", text="inside", mime_type="text/plain")
    return [
        TextContent(type="text", text="first"),
        Image(data=b"12345", format="png"),
        ResourceLink(type="resource_link", name="more", uri="https://example.com/more"),
        EmbeddedResource(type="resource", resource=inner),
    ]


@server.tool()
async def slow(mark: str) -> str:
    """Take a minute; leave a mark when cancelled."""
    Path(mark + ".begun").touch()  # noqa: ASYNC240
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        Path(mark).touch()  # noqa: ASYNC240
        raise
    return "late"


@server.tool(name="dotted.name/with~signs")
def odd() -> str:
    """Has a name that no model can call."""
    return "odd"


@server.tool()
def die() -> str:
    """End the process."""
    sys.stderr.write(f"last words {os.environ.get('CANARY', '')}")
    sys.stderr.flush()
    os._exit(3)


if __name__ == "__main__":
    sys.stderr.write("x" * 200_000)  # more than a pipe holds
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
