"""A session service of the tests' own servers, with a client."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
from anyio.from_thread import start_blocking_portal

from outcomebox.sandbox import ServerSpec, load_tasks, sandbox
from outcomebox.sandbox.service import Offers, ServiceSettings, SessionService, session_service
from outcomebox.sandbox.webserver import listening
from server_kinds import kind

SHELF = Path(__file__).parent / "domains" / "shelf"
WORLD = {"ledger": {"accounts": {"A": 10, "B": 0}}}
TOOLS = ["pay", "balance"]
DEFAULTS = ServiceSettings()


def specs() -> dict[str, ServerSpec]:
    """The tool servers that are served."""
    return {name: kind(name) for name in ("ledger", "rogue")}


@asynccontextmanager
async def _service(settings: ServiceSettings) -> AsyncIterator[SessionService]:
    async with sandbox() as box:
        offers = Offers(box, specs(), load_tasks([str(SHELF)]))
        async with session_service(offers, listening("127.0.0.1", 0), settings) as service:
            yield service


@contextmanager
def served(settings: ServiceSettings = DEFAULTS) -> Iterator[Client]:
    """A service in a thread of its own, and a client of it."""
    with start_blocking_portal() as portal:
        running = portal.wrap_async_context_manager(_service(settings))
        with running as service, httpx.Client(base_url=service.url, timeout=60) as http:
            yield Client(http)


@contextmanager
def serve_command(folder: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[str], Client]]:
    """The command itself in a process of its own, with the tests' ledger."""
    script = Path(__file__).parent / "servers" / "ledger.py"
    servers = folder / "servers.yaml"
    servers.write_text(
        f'servers: {{ledger: {{type: mcp-process, command: ["{{python}}", "{script}"]}}}}'
    )
    command = [sys.executable, "-m", "outcomebox.sandbox.commands", "serve"]
    command += ["--servers", str(servers), "--port", "0", *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = process.stdout
    assert said is not None
    try:
        url = said.readline().split()[0]
        with httpx.Client(base_url=url, timeout=60) as http:
            yield process, Client(http)
    finally:
        process.kill()
        process.wait()
        said.close()


class Client:
    """A client of the API."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def ask(self, endpoint: str, /, **body: Any) -> tuple[int, Any]:
        """The status and the value of an answer; its envelope must be right."""
        # In ASCII: half a character is one that a model may write.
        answer = self.http.post(f"/{endpoint}", content=json.dumps(body))
        data = answer.json()
        assert data["success"] is (answer.status_code == 200)
        assert set(data) == {"success", "content"}
        kind = "string" if isinstance(data["content"]["value"], str) else "object"
        assert data["content"]["type"] == kind
        return answer.status_code, data["content"]["value"]

    def value(self, endpoint: str, /, **body: Any) -> Any:
        """The value of an answer that must be a success."""
        status, value = self.ask(endpoint, **body)
        assert status == 200, value
        return value

    def open(self, name: str, world: Mapping[str, Any] | None = None, **more: Any) -> Any:
        """Open a session of the ledger, or of another world."""
        order = {"server_config": world or WORLD, "available_tools": TOOLS, **more}
        return self.value("session_create", session_id=name, **order)

    def call(self, name: str, tool: str, **arguments: Any) -> tuple[int, Any]:
        """Call a tool."""
        return self.ask("call_tool", session_id=name, tool_name=tool, arguments=arguments)

    def metric(self, name: str) -> float:
        """A figure."""
        lines = self.http.get("/metrics").text.splitlines()
        return float(next(line for line in lines if line.startswith(name)).split()[-1])

    def until(self, name: str, value: float, within_s: float = 20.0) -> None:
        """Wait for a figure."""
        deadline = time.monotonic() + within_s
        while self.metric(name) != value:
            assert time.monotonic() < deadline, f"{name} is {self.metric(name)}, not {value}"
            time.sleep(0.02)
