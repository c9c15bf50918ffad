"""How a server's supervisor is started: by which Python, in which environment, told what."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from outcomebox.sandbox.clock import frozen_clock
from outcomebox.sandbox.servers import ServerSpec

# What a tool server may inherit: never keys, tokens or proxies of whoever runs it.
_INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
SEARCH_PORT = 8108
"""Where servers that search expect their index, on the loopback."""


def interpreter(spec: ServerSpec, *, fork: bool) -> list[str]:
    """What runs the supervisor: the server's own Python, with its flags, where it is to fork."""
    found = spec.python_arguments
    if fork and found is not None:
        return list(spec.command[: found[0]])
    return [sys.executable, "-I"]


def environment(
    spec: ServerSpec, *, fork: bool
) -> tuple[dict[str, str], str, list[str], tuple[Path, ...]]:
    """A server's environment, what its clock says, what there is to note, and what to remove."""
    env = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    # Sets and dicts of strings iterate alike in every run of one seed.
    env |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", "FASTMCP_LOG_LEVEL": "WARNING"}
    if not fork and spec.python_arguments:
        # It starts in a folder of its session, and is to find what it would find from here.
        start = str(spec.cwd or Path.cwd())
        env["PYTHONPATH"] = os.pathsep.join(spec.search_path or (start,))
    env |= spec.env
    if spec.clock is None:
        return env, "real", [], ()
    frozen = frozen_clock(spec.clock)
    if frozen is None:
        return env, "real", [f"{spec.name}: its clock is the real one (no libfaketime here)"], ()
    return {**env, **frozen.env}, f"frozen at {spec.clock}", [], frozen.files


def load_order(
    spec: ServerSpec, root: Path, *, fork: bool, leavings: Sequence[Path]
) -> dict[str, Any]:
    """The supervisor's first order; ``supervisor.py`` tells its fields."""
    command = list(spec.command)
    found = spec.python_arguments
    if found is not None and found[1][0] != "-m" and spec.home is not None:
        # A relative script is one beside servers.yaml, wherever the session stands.
        script = spec.home / command[found[0]]
        if script.is_file():
            command[found[0]] = str(script)
    return {
        "op": "load",
        "arguments": command[found[0] :] if found else [],
        "command": command,
        "fork": fork,
        "path": list(spec.search_path) or None,
        "root": str(root),
        "leavings": [str(path) for path in leavings],
        "confine": spec.network == "loopback",
        "ports": [SEARCH_PORT] if spec.search else [],
        "memory": spec.limits.memory_mb * 1024 * 1024,
        "files": spec.limits.open_files,
    }
