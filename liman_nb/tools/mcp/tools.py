"""`tools_from_mcp`: the tools of an MCP server."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from liman_nb.errors import SetupError, UsageError
from liman_nb.tools.mcp.server import McpServer
from liman_nb.tools.mcp.ways import Address, Process


def tools_from_mcp(  # noqa: PLR0913 - options, all keyword-only
    *,
    command: Sequence[str] | None = None,
    url: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    headers: Mapping[str, str] | None = None,
    only: Iterable[str] | None = None,
    prefix: str = "",
    timeout: float = 30.0,
) -> McpServer:
    """The tools of a server that speaks the `Model Context Protocol`_.

    Needs the official client: ``pip install 'liman_nb[mcp]'``. Nothing happens before the server is
    opened::

        async with tools_from_mcp(command=["python", "server.py"]) as tools:
            await Agent("specs/", tools=tools).step("…")

        server = tools_from_mcp(url="https://example.com/mcp")  # over several cells
        agent = Agent("specs/", tools=server.open())
        server.close()

    A tool's arguments are held against its ``inputSchema`` before the server sees them, and its
    output is JSON or text; images and other blocks that are no text are named in it.

    Args:
        command: program and arguments of a server to start, which is spoken to over stdio. It gets
            of this process's environment only what the official client hands on (``HOME``,
            ``LOGNAME``, ``PATH``, ``SHELL``, ``TERM``, ``USER``; on Windows their like), and `env`.
        url: address of a server that runs, which is spoken to over streamable HTTP. Redirects to
            another origin are not followed.
        env: environment variables for the command.
        cwd: working directory of the command; ``None`` for this one.
        headers: HTTP headers for the address, such as ``Authorization``. They are shown nowhere,
            which cannot be said of what stands in the address itself.
        only: names of the tools that are wanted, as the server has them. Default: all.
        prefix: what each tool's name begins with.
        timeout: seconds for connecting, and for each call.

    Returns:
        The server, not connected yet.

    Raises:
        SetupError: the ``mcp`` package is missing.
        UsageError: not exactly one of `command` and `url`, or an argument that does not go with it.

    .. _Model Context Protocol: https://modelcontextprotocol.io/specification/2025-11-25
    """
    if importlib.util.find_spec("mcp") is None:
        raise SetupError("MCP servers need the mcp package: pip install 'liman_nb[mcp]'")
    if (command is None) == (url is None):
        raise UsageError("tools_from_mcp takes either command=[…] or url=…")
    wanted = None if only is None else tuple(only)
    if url is not None:
        if env or cwd:
            raise UsageError("tools_from_mcp: env and cwd go with command=[…], not with url=…")
        return McpServer(Address(url, dict(headers or {}), timeout), wanted, prefix, timeout)
    if headers:
        raise UsageError("tools_from_mcp: headers go with url=…; a command gets env={…}")
    if isinstance(command, str) or not command:
        raise UsageError("tools_from_mcp: command is a list, such as ['python', 'server.py']")
    way = Process(tuple(map(str, command)), dict(env or {}), cwd)
    return McpServer(way, wanted, prefix, timeout)
