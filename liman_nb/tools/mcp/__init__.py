"""The tools of MCP servers: the one home of the `mcp` package."""
