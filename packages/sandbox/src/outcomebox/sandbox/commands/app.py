"""`outcomebox-sandbox`: serve and mcp in one program, and what other packages add to it."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from outcomebox.sandbox.commands import mcp, serve

GROUP = "outcomebox.sandbox_commands"
"""Entry points of commands that know sandboxes and more: verdicts, say. Each is a function for
typer, with its examples in ``EXAMPLES`` of its module."""

EXAMPLES = """\
Examples:

  outcomebox-sandbox serve --servers servers.yaml --port 7111
      sessions over HTTP, as ThinkingBox's session proxy has them

  outcomebox-sandbox mcp retail/address-change/over-to-treptow
      one task as an MCP server for your own client

  outcomebox-sandbox play retail/address-change/over-to-treptow
      one task in the terminal, with the verdict (needs outcomebox-reward)

Exit status: 0 ended as asked; 2 bad input; 130 interrupted.
"""


def program() -> typer.Typer:
    """The program with all its commands."""
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        no_args_is_help=True,
        help="Sessions of tool servers for other programs and for people.",
        epilog=EXAMPLES,
    )
    app.command("serve", epilog=serve.EXAMPLES)(serve.serve)
    app.command("mcp", epilog=mcp.EXAMPLES)(mcp.mcp)
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        app.command(point.name)(point.load())

    @app.callback()
    def _program() -> None:
        """Sessions of tool servers for other programs and for people."""

    return app


def main() -> None:
    """Runs the program."""
    program()(prog_name="outcomebox-sandbox")
