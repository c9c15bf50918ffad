"""A tool server in the ThinkingBox form, on the official SDK: accounts in memory, and its golden end."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import time
from typing import Any

try:
    from mcp.server.mcpserver import MCPServer
except ModuleNotFoundError:  # mcp 1
    from mcp.server.fastmcp import FastMCP as MCPServer  # type: ignore[no-redef]

server = MCPServer("ledger", log_level="WARNING")
STATE: dict[str, Any] = {"accounts": {}, "entries": []}
CONFIG: dict[str, Any] = {}


def pay_in(state: dict[str, Any], source: str, target: str, amount: int) -> dict[str, Any]:
    """Move money in a state."""
    accounts = state["accounts"]
    for name in (source, target):
        if name not in accounts:
            return {"error": f"no account {name}"}
    accounts[source] -= amount
    accounts[target] += amount
    entry = {"id": len(state["entries"]) + 1, "from": source, "to": target, "amount": amount}
    state["entries"].append(entry)
    return entry


def hash_of(state: dict[str, Any]) -> str:
    """What a state is, as a hash."""
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


@server.tool(name="__reserved__init", structured_output=False)
def init(config: dict[str, Any], session_id: str = "") -> str:
    """Take the world state."""
    how = config.get("misbehave")
    if how == "refuse":
        return json.dumps({"status": "error", "message": "no such world"})
    if how == "die":
        os._exit(9)
    if how == "garbage":
        return "ready!"
    STATE.update(copy.deepcopy({"accounts": config.get("accounts", {}), "entries": []}))
    CONFIG.update(config)
    CONFIG["start"] = copy.deepcopy(STATE)
    if config.get("quiet"):
        return "{}"
    return json.dumps({"status": "ok", "session": session_id, "owner": config.get("owner", "Kim")})


@server.tool(name="__reserved__geteffects", structured_output=False)
def effects() -> str:
    """What is the case, and what should be."""
    how = CONFIG.get("misbehave")
    if how == "no effects":
        return "nothing to tell"
    if how == "error effects":
        return json.dumps({"status": "error", "message": "disk on fire"})
    golden = copy.deepcopy(CONFIG.get("start", STATE))
    for call in CONFIG.get("golden_test_case", {}).get("tool_interactions", []):
        if call["tool"] == "pay":
            pay_in(golden, **call["parameters"])
    told = {
        "result_db_state": STATE,
        "result_db_hash": hash_of(STATE),
        "golden_db_state": golden,
        "golden_db_hash": hash_of(golden),
    }
    return json.dumps(told)


@server.tool(name="__reserved__teardown", structured_output=False)
def teardown() -> str:
    """Say goodbye, or hang."""
    if CONFIG.get("misbehave") == "hang at the end":
        time.sleep(3600)
    return json.dumps({"status": "ok"})


@server.tool(structured_output=False)
def pay(source: str, target: str, amount: int) -> str:
    """Move money between accounts."""
    return json.dumps(pay_in(STATE, source, target, amount))


@server.tool(structured_output=False)
def balance(account: str) -> str:
    """How much an account holds."""
    return json.dumps({"account": account, "balance": STATE["accounts"].get(account)})


@server.tool(structured_output=False)
def crash() -> str:
    """End the server."""
    os._exit(4)


if __name__ == "__main__":
    server.run("stdio")
