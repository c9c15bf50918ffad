"""The test servers of these tests as kinds of servers, and sessions of them."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from outcomebox.sandbox import Connection, Process, Sandbox, ServerSpec

SERVERS = Path(__file__).parent / "servers"


def kind(name: str, *arguments: str, **fields: Any) -> ServerSpec:
    """A test server by the name of its file."""
    command = (sys.executable, str(SERVERS / f"{name}.py"), *arguments)
    return ServerSpec(name=name, command=command, search_path=_path(), **fields)


def _path() -> tuple[str, ...]:
    return tuple(str(Path(entry or ".").resolve()) for entry in sys.path)


@asynccontextmanager
async def live(
    box: Sandbox, spec: ServerSpec, *, seed: int = 1, env: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[Connection, Process]]:
    """A connection to a fresh session of a started server, and its process."""
    async with box.connect(spec, seed=seed, env=env) as (connection, _, process):
        assert process is not None
        yield connection, process


async def ask(connection: Connection, tool: str, deadline_s: float = 20.0, **arguments: Any) -> Any:
    """The answer of a tool, read as JSON where it is."""
    result = await connection.call(tool, arguments, deadline_s=deadline_s)
    try:
        return json.loads(result.text)
    except ValueError:
        return result.text
