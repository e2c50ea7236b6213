"""MCP servers as a source of tools: real ones over stdio and HTTP."""
