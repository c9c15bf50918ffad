"""`outcomebox-sandbox serve`: sessions over HTTP, as ThinkingBox's session proxy has them."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import anyio
import typer

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
from outcomebox.sandbox.errors import InputError
from outcomebox.sandbox.servers import ServerSpec, load_servers
from outcomebox.sandbox.service.offers import Offers
from outcomebox.sandbox.service.run import ServiceSettings, session_service
from outcomebox.sandbox.taskfile import TaskSet, load_tasks

EXAMPLES = """\
Examples:

  outcomebox-sandbox serve --servers servers.yaml
      http://127.0.0.1:7111, for clients of ThinkingBox's session proxy

  outcomebox-sandbox serve --domain retail --domain shop/
      domains too: server_config {"retail": {"task": "retail/address-change/over-to-treptow"}}

  TOKEN=... outcomebox-sandbox serve --servers servers.yaml --host 0.0.0.0 --token-env TOKEN

SIGTERM or Ctrl-C ends it: what is being answered is answered, and all sessions are torn down.
Exit status: 0 ended so; 2 bad input.
"""


def serve(  # noqa: PLR0917 -- typer reads the parameters as flags
    servers: Annotated[Path | None, typer.Option(metavar="FILE", help="servers.yaml.")] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME|PATH", help="A domain to serve too; may be repeated."),
    ] = None,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for a free one.", min=0, max=65535)] = 7111,
    token_env: TokenEnv = None,
    max_sessions: Annotated[int, typer.Option(help="Sessions at a time.", min=1, max=4096)] = 64,
    wait: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="How long a request waits for a place; then 429.", min=0
        ),
    ] = 5.0,
    idle_minutes: Annotated[
        float,
        typer.Option(help="End sessions that nobody uses for so long; 0: never.", min=0),
    ] = 15.0,
    server_tool: Annotated[
        bool,
        typer.Option(
            "--server-tool",
            help="Take __reserved__server_tool in call_tool, which checks of some datasets use. "
            "Only where the agent cannot name it.",
        ),
    ] = False,
    server_python: ServerPython = None,
    clock: Annotated[
        str | None,
        typer.Option(metavar="MOMENT", help="Freeze the servers' clock there (ISO 8601)."),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A real Typesense. Default: an embedded index."),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Serve sessions over HTTP: isolated, bounded in number, ended when nobody uses them.

    The API is that of ThinkingBox's session proxy, at /mcp MCP's streamable HTTP for the session
    that X-TB-Session-Id names, and at /metrics figures for Prometheus.
    """
    with reported():
        if servers is None and not domain:
            raise InputError(
                "there is nothing to serve; give --servers servers.yaml or --domain NAME",
                field="--servers",
            )
        specs = {} if servers is None else load_servers(servers, python=server_python, clock=clock)
        settings = ServiceSettings(
            most=max_sessions,
            wait_s=wait,
            idle_s=idle_minutes * 60 or None,
            token=token_of(token_env, host),
            server_tool=server_tool,
        )
        given = _Given(specs, load_tasks(domain) if domain else None, search, seed)
        with listen(host, port) as listener:
            anyio.run(_serve, listener, given, settings)


@dataclass(frozen=True, slots=True)
class _Given:
    """Which sessions are to be had."""

    specs: Mapping[str, ServerSpec]
    tasks: TaskSet | None
    search: str | None
    seed: int


async def _serve(listener: socket.socket, given: _Given, settings: ServiceSettings) -> None:
    async with until_signalled() as asked, sandbox(search_url=given.search) as box:
        offers = Offers(box, given.specs, given.tasks, seed=given.seed)
        for problem in await offers.start():
            tell(f"not started, tried again when asked for: {problem}")
        for note in box.notes:
            tell(f"note: {note}")
        async with session_service(offers, listener, settings) as service:
            typer.echo(f"{service.url} serves {', '.join(offers.names)}")
            await asked.wait()
            tell("Ending: no more requests are taken, sessions are torn down.")
