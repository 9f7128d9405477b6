"""``shapelog mcp``."""

import gc
import sys

import click

from shapelog.cli.output import message

_CONFIGURATION = '{"mcpServers": {"shapelog": {"command": "shapelog", "args": ["mcp"]}}}'


@click.command(short_help="Answer a coding agent over the Model Context Protocol.")
def mcp() -> None:
    """Answer a coding agent's questions over the Model Context Protocol.

    An agent starts this command itself and talks to it on standard input and output. The tools are report, explain, suggest, compare,
    rules and verify. All are read-only except verify, which runs the agent's command twice. Answers have at most 12,000 characters.
    Needs the official SDK: pip install "shapelog[mcp]".
    """
    try:
        from shapelog.agents.server import server
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "mcp":
            raise
        message('the MCP server needs the MCP SDK, version 2 or later: pip install "shapelog[mcp]"')
        sys.exit(2)
    if sys.stdin.isatty():
        message(f"waiting for an agent on standard input (Ctrl-C ends); the entry for its settings: {_CONFIGURATION}")
    gc.enable()  # unlike other commands, this one lives on after its answer
    server().run("stdio")
