"""What programs that work for a developer ask: short, ranked answers of bounded size, and the MCP server that gives them."""
