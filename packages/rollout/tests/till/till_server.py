"""A till as a tool server in the ThinkingBox form: honest tools, and some that break in one way."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

try:
    from mcp.server.mcpserver import MCPServer
except ModuleNotFoundError:  # mcp 1
    from mcp.server.fastmcp import FastMCP as MCPServer  # type: ignore[no-redef]

server = MCPServer("till", log_level="WARNING")
STATE: dict[str, Any] = {}
CONFIG: dict[str, Any] = {}


def pay_in(state: dict[str, Any], account: str, amount: int) -> dict[str, Any]:
    """Pay into an account of a state."""
    if account not in state["accounts"]:
        return {"error": f"no account {account}"}
    state["accounts"][account] += amount
    state["entries"].append([account, amount])
    return {"account": account, "receipt": {"number": len(state["entries"]), "amount": amount}}


def hash_of(state: dict[str, Any]) -> str:
    """What a state is, as a hash."""
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


@server.tool(name="__reserved__init", structured_output=False)
def init(config: dict[str, Any], session_id: str = "") -> str:
    """Take the world state."""
    if config.get("misbehave") == "init":
        return json.dumps({"status": "error", "message": "no such till"})
    CONFIG.update(config)
    STATE.update({"accounts": dict(config["accounts"]), "entries": []})
    CONFIG["start"] = copy.deepcopy(STATE)
    return json.dumps({"status": "ok", "session": session_id, "clerk": {"name": "Ann"}})


@server.tool(name="__reserved__geteffects", structured_output=False)
def effects() -> str:
    """What is the case, and what should be."""
    if CONFIG.get("misbehave") == "effects":
        return "nothing to tell"
    golden = copy.deepcopy(CONFIG["start"])
    for call in CONFIG.get("golden_test_case", {}).get("tool_interactions", []):
        if call["tool"] == "pay":
            pay_in(golden, **call["parameters"])
    told = {
        "result_db_state": STATE,
        "result_db_hash": hash_of(STATE),
        "golden_db_hash": hash_of(golden),
        "entries": STATE["entries"],
        "env": os.environ.get("TILL_MARK", ""),
    }
    return json.dumps(told)


@server.tool(structured_output=False)
def pay(account: str, amount: int) -> str:
    """Pay into an account."""
    return json.dumps(pay_in(STATE, account, amount))


@server.tool(structured_output=False)
def balance(account: str) -> str:
    """How much an account holds."""
    if account not in STATE["accounts"]:
        raise ValueError(f"no account {account}")
    return json.dumps({"balance": STATE["accounts"][account]})


@server.tool(structured_output=False)
def announce(text: str) -> str:
    """Tell the customer something."""
    return json.dumps({"text": text}) if text else "nothing to say"


@server.tool(structured_output=False)
def close_till() -> str:
    """Close the till for today."""
    STATE["closed"] = True
    return json.dumps({"closed": True})


@server.tool(structured_output=False)
def hang(balance_is: int = -1) -> str:
    """Never answer; with a balance, only when account `a` holds it."""
    while balance_is in {-1, STATE["accounts"]["a"]}:
        time.sleep(3600)
    return "not today"


@server.tool(structured_output=False)
def die(balance_is: int = -1) -> str:
    """End the server; with a balance, only when account `a` holds it."""
    if balance_is in {-1, STATE["accounts"]["a"]}:
        os._exit(4)
    return "not today"


@server.tool(structured_output=False)
def once(marker: str, how: str) -> str:
    """Break the first time and work from then on; `marker` is a file that remembers it."""
    path = Path(marker)
    if path.exists():
        return "works"
    path.touch()
    return hang() if how == "hang" else die()


if __name__ == "__main__":
    server.run("stdio")
