"""What the commands share: options, exit statuses, errors, where to listen, signals."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Annotated

import anyio
import typer

from outcomebox.sandbox.errors import InputError, SandboxFault
from outcomebox.sandbox.service.run import is_loopback
from outcomebox.sandbox.webserver import listening

BAD_INPUT = 2
"""Exit status: what was given cannot be used."""
INTERRUPTED = 130
"""Exit status: stopped by Ctrl-C before it ran."""

ServerPython = Annotated[
    Path | None, typer.Option(metavar="FILE", help="What {python} in servers.yaml stands for.")
]
Host = Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")]
TokenEnv = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Environment variable with the bearer token that clients must send. Needed on any "
        "address but loopback.",
    ),
]
Seed = Annotated[int, typer.Option(help="The servers' seed.", min=0)]


def tell(line: str) -> None:
    """Say something beside the result."""
    typer.echo(line, err=True)


@contextmanager
def reported() -> Iterator[None]:
    """Turn what a person can mend into one line and an exit status.

    Raises:
        typer.Exit: With 2 for bad input or infrastructure that cannot be used, 130 for Ctrl-C.
    """
    try:
        yield
    except (InputError, SandboxFault) as error:
        tell(f"error: {error}")
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        tell("Interrupted.")
        raise typer.Exit(INTERRUPTED) from None


def token_of(name: str | None, host: str) -> str | None:
    """The token that clients must send.

    Raises:
        InputError: The variable is not set, or a token is missing where others can connect.
    """
    if name is None:
        if not is_loopback(host):
            raise InputError(
                "can be reached from other machines: add --token-env NAME, or leave --host out",
                field="--host",
                value=host,
            )
        return None
    token = os.environ.get(name, "").strip()
    if not token:
        raise InputError(
            "names an environment variable that is not set; set it", field="--token-env", value=name
        )
    return token


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises:
        InputError: It cannot be had.
    """
    try:
        return listening(host, port)
    except OSError as error:
        raise InputError(
            f"cannot listen on {host}: {error.strerror}; take another --port or --host",
            field="--port",
            value=port,
        ) from error


@asynccontextmanager
async def until_signalled() -> AsyncIterator[anyio.Event]:
    """An event that SIGINT or SIGTERM sets; a second signal ends the program at once."""
    asked = anyio.Event()

    async def wait() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                asked.set()
                return

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        yield asked
        group.cancel_scope.cancel()
