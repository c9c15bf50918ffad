"""An MCP server written by hand on the standard streams, that can misbehave in every way tried.

It uses no event loop: a session is forked where it first reads standard input.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TOOLS: dict[str, Callable[..., Any]] = {}
# Counts this process's imports of the file: a forked session inherits it, a started one makes it.
IMPORTED_BY = os.getpid()
CALLS: list[str] = []


def tool(function: Callable[..., Any]) -> Callable[..., Any]:
    """Offer a function as a tool."""
    TOOLS[function.__name__] = function
    return function


@tool
def echo(text: str = "") -> str:
    """Say it again."""
    CALLS.append(text)
    return text


@tool
def remember() -> list[str]:
    """All that this session was told."""
    return CALLS


@tool
def seen() -> dict[str, Any]:
    """What this process can see of itself."""
    return {
        "pid": os.getpid(),
        "imported_by": IMPORTED_BY,
        "env": dict(os.environ),
        "cwd": str(Path.cwd()),
        "now": datetime.now(UTC).isoformat(),
        "random": random.random(),
        "arguments": sys.argv[1:],
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }


@tool
def hang() -> None:
    """Never answer."""
    while True:
        time.sleep(3600)


@tool
def deaf() -> None:
    """Ignore every signal that can be ignored, and never answer."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    hang()


@tool
def die(status: int = 3) -> None:
    """End with last words."""
    sys.stderr.write("last words\n")
    sys.stderr.flush()
    os._exit(status)


@tool
def killed() -> None:
    """End by SIGKILL, as by the kernel when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    os.killpg(0, signal.SIGKILL)  # the first process of a namespace cannot kill itself
    os.abort()


@tool
def babble(lines: int = 3) -> str:
    """Print what is no protocol, then answer."""
    for number in range(lines):
        print(f"debug line {number}", flush=True)
        print('{"jsonrpc": "2.0", "half', flush=True)
    return "said"


@tool
def long(size: int) -> str:
    """Answer at length."""
    return "x" * size


@tool
def endless() -> None:
    """Answer with a line that never ends."""
    while True:
        sys.stdout.write("x" * 1_000_000)
        sys.stdout.flush()


@tool
def daemon(marker: str) -> str:
    """Start a process that leaves the session's group and goes on writing to a file."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 64)
            while True:
                Path(marker).write_text(str(time.monotonic()))
                time.sleep(0.02)
        os._exit(0)
    return "started"


@tool
def eat(mib: int) -> str:
    """Take memory."""
    kept = bytearray(mib * 1024 * 1024)
    return str(len(kept))


@tool
def open_many(count: int) -> str:
    """Open files."""
    try:
        kept = [open(os.devnull) for _ in range(count)]  # noqa: SIM115
    except OSError as error:
        return str(error)
    return str(len(kept))


@tool
def reach(host: str, port: int) -> str:
    """Try to connect."""
    try:
        with socket.create_connection((host, port), timeout=5) as connection:
            return connection.recv(100).decode()
    except OSError as error:
        return f"no: {error}"


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to one message; None to a notification."""
    if "id" not in message:
        return None
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        if os.environ.get("ROGUE_EXIT_IN_INIT"):
            die(5)
        result: dict[str, Any] = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "rogue", "version": "1"},
        }
    elif method == "tools/list":
        # Two pages, as the protocol allows.
        names = list(TOOLS)
        half = len(names) // 2
        first = not params.get("cursor")
        result = {"tools": [_listed(name) for name in (names[:half] if first else names[half:])]}
        if first:
            result["nextCursor"] = "more"
    elif method == "tools/call" and params["name"] in TOOLS:
        try:
            said = TOOLS[params["name"]](**params.get("arguments") or {})
            text = said if isinstance(said, str) else json.dumps(said)
            result = {"content": [{"type": "text", "text": text}], "isError": False}
        except (TypeError, MemoryError) as error:
            text = f"{type(error).__name__}: {error}"
            result = {"content": [{"type": "text", "text": text}], "isError": True}
    else:
        error = {"code": -32601, "message": f"no {method} {params.get('name', '')}"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _listed(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    return {"name": name, "description": TOOLS[name].__doc__, "inputSchema": schema}


def main() -> None:
    """Serve until standard input ends."""
    if "--thread" in sys.argv:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    if "--socket" in sys.argv:
        globals()["kept"] = socket.socket()
    if "--file" in sys.argv:
        globals()["kept"] = open("rogue.log", "w", encoding="utf-8")  # noqa: SIM115
    if "--never" in sys.argv:
        return
    for line in sys.stdin:
        reply = answer(json.loads(line))
        if reply is not None:
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
