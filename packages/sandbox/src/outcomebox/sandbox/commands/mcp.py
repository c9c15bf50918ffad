"""`outcomebox-sandbox mcp`: one session as a plain MCP server, for a person's own client."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from starlette.routing import Route

from outcomebox.sandbox.box import sandbox
from outcomebox.sandbox.commands.shared import (
    Host,
    Seed,
    ServerPython,
    TokenEnv,
    listen,
    reported,
    tell,
    token_of,
    until_signalled,
)
from outcomebox.sandbox.connection import ToolResult
from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.service.api import guarded_errors
from outcomebox.sandbox.service.guard import Guard
from outcomebox.sandbox.service.lines import serve_standard_streams
from outcomebox.sandbox.service.mcpanswers import Served
from outcomebox.sandbox.service.mcphttp import mcp_endpoint
from outcomebox.sandbox.service.metrics import Metrics
from outcomebox.sandbox.service.run import is_loopback
from outcomebox.sandbox.trial import Choice, Trial, choose_task, open_trial
from outcomebox.sandbox.webserver import web_server

EXAMPLES = """\
Examples:

  outcomebox-sandbox mcp retail/address-change/over-to-treptow
      on standard input and output; this is the command that a client is given

  outcomebox-sandbox mcp retail/address-change/over-to-treptow --transport http --port 7112
      http://127.0.0.1:7112/mcp

  outcomebox-sandbox mcp desk_refunds.py:whole_refund --dataset examples/desk

Exit status: 0 the client has left, or a signal came; 2 bad input.
"""


def mcp(  # noqa: PLR0917 -- typer reads the parameters as flags
    task: Annotated[str, typer.Argument(metavar="TASK", help="A uid, or file.py:test.")],
    transport: Annotated[str, typer.Option(metavar="NAME", help="stdio or http.")] = "stdio",
    tasks: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME|PATH", help="Where to look for it; may be repeated."),
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A dataset in the ThinkingBox form to look in."),
    ] = None,
    servers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Its servers.yaml. Default: the one in its folder."),
    ] = None,
    server_python: ServerPython = None,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for a free one.", min=0, max=65535)] = 7112,
    token_env: TokenEnv = None,
    seed: Seed = 0,
) -> None:
    """Open a task's session as an MCP server: its tools, with policy and query as instructions."""
    with reported():
        if transport not in ("stdio", "http"):
            raise InputError("write stdio or http", field="--transport", value=transport)
        choice = choose_task(
            task, tasks=tasks, dataset=dataset, servers=servers, python=server_python
        )
        if transport == "stdio":
            anyio.run(_stdio, choice, seed)
            return
        token = token_of(token_env, host)
        with listen(host, port) as listener:
            anyio.run(_http, choice, seed, listener, token)


def served(trial: Trial) -> Served:
    """The tools of an open task, called one at a time."""
    turn = anyio.Lock()

    async def call(tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        async with turn:
            return await trial.session.call(tool, arguments, deadline_s=trial.deadline_s)

    return Served(trial.uid, lambda: trial.session.tools, call, trial.instructions)


async def _stdio(choice: Choice, seed: int) -> None:
    async with sandbox() as box, open_trial(box, choice, seed=seed) as trial:
        for warning in trial.warnings:
            tell(warning)
        async with anyio.create_task_group() as group, until_signalled() as asked:

            async def answer() -> None:
                await serve_standard_streams(served(trial))
                asked.set()

            group.start_soon(answer)
            await asked.wait()
            group.cancel_scope.cancel()


async def _http(choice: Choice, seed: int, listener: socket.socket, token: str | None) -> None:
    async with (
        until_signalled() as asked,
        sandbox() as box,
        open_trial(box, choice, seed=seed) as trial,
    ):
        for warning in trial.warnings:
            tell(warning)
        host, port = listener.getsockname()[:2]
        whose = served(trial)
        endpoint = mcp_endpoint(lambda _: whose)
        app = guarded_errors(
            [Route(path, endpoint, methods=["POST"]) for path in ("/mcp", "/mcp/")]
        )
        guard = Guard(
            app, endpoints=["/mcp"], metrics=Metrics(), token=token, local=is_loopback(host)
        )
        async with web_server(guard, listener, keep_alive_s=75, last_answers_s=5.0):
            shown = f"[{host}]" if ":" in host else host
            typer.echo(f"http://{shown}:{port}/mcp serves {trial.uid}")
            await asked.wait()
