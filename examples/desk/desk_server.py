"""A small order desk as a tool server in the ThinkingBox form, on the official MCP SDK.

The desk keeps its tables in memory. The harness gives it the tables and the golden calls at the
start, and asks at the end what is there and what should be.
"""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

try:
    from mcp.server.mcpserver import MCPServer
except ModuleNotFoundError:  # mcp 1
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("desk", log_level="WARNING")

SEED: dict[str, dict[str, dict[str, Any]]] = {
    "orders": {
        f"O-{number}": {"customer": f"C-{number % 7}", "status": "paid", "total": 10 + number}
        for number in range(1, 41)
    },
    "refunds": {},
    "notes": {},
}


class Desk:
    """The tables, and what may be done to them."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self.tables = copy.deepcopy(tables)

    def get_order(self, order_id: str) -> dict[str, Any]:
        """One order."""
        order = self.tables["orders"].get(order_id)
        return {"error": f"no order {order_id}"} if order is None else {"id": order_id, **order}

    def list_orders(self, customer: str) -> dict[str, Any]:
        """A customer's orders."""
        orders = self.tables["orders"].items()
        return {"orders": [key for key, row in orders if row["customer"] == customer]}

    def refund(self, order_id: str, amount: int) -> dict[str, Any]:
        """Give money back."""
        order = self.tables["orders"].get(order_id)
        if order is None or order["status"] == "cancelled" or not 0 < amount <= order["total"]:
            return {"error": "this cannot be refunded"}
        key = f"R-{len(self.tables['refunds']) + 1}"
        self.tables["refunds"][key] = {"order": order_id, "amount": amount}
        return {"id": key}

    def cancel_order(self, order_id: str) -> dict[str, Any]:
        """Cancel an order."""
        order = self.tables["orders"].get(order_id)
        if order is None:
            return {"error": f"no order {order_id}"}
        order["status"] = "cancelled"
        return {"id": order_id, "status": "cancelled"}

    def add_note(self, order_id: str, text: str) -> dict[str, Any]:
        """Write a note about an order."""
        key = f"N-{len(self.tables['notes']) + 1}"
        self.tables["notes"][key] = {"order": order_id, "text": text}
        return {"id": key}

    def hash(self) -> str:
        """SHA-256 of the tables."""
        return hashlib.sha256(json.dumps(self.tables, sort_keys=True).encode()).hexdigest()


START = Desk(SEED)
LIVE = Desk(SEED)
GOLDEN: list[dict[str, Any]] = []


@server.tool(name="__reserved__init", structured_output=False)
def init(config: dict[str, Any]) -> str:
    """Take the tables and the golden calls."""
    tables = copy.deepcopy(SEED)
    for table, rows in config.get("data_patch", {}).items():
        for row in rows:
            key = row["id"]
            tables[table][key] = {name: value for name, value in row.items() if name != "id"}
    START.tables, LIVE.tables = tables, copy.deepcopy(tables)
    GOLDEN[:] = config.get("golden_test_case", {}).get("tool_interactions", [])
    return json.dumps({"status": "ok", "orders": len(tables["orders"])})


@server.tool(name="__reserved__geteffects", structured_output=False)
def effects() -> str:
    """What is there, and what should be."""
    golden = Desk(START.tables)
    for call in GOLDEN:
        getattr(golden, call["tool"])(**call["parameters"])
    told = {
        "initial_db_state": START.tables,
        "result_db_state": LIVE.tables,
        "result_db_hash": LIVE.hash(),
        "golden_db_state": golden.tables,
        "golden_db_hash": golden.hash(),
    }
    return json.dumps(told)


@server.tool(structured_output=False)
def get_order(order_id: str) -> str:
    """Look up an order."""
    return json.dumps(LIVE.get_order(order_id))


@server.tool(structured_output=False)
def list_orders(customer: str) -> str:
    """List the orders of a customer."""
    return json.dumps(LIVE.list_orders(customer))


@server.tool(structured_output=False)
def refund(order_id: str, amount: int) -> str:
    """Refund an amount of an order, in whole euros."""
    return json.dumps(LIVE.refund(order_id, amount))


@server.tool(structured_output=False)
def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    return json.dumps(LIVE.cancel_order(order_id))


@server.tool(structured_output=False)
def add_note(order_id: str, text: str) -> str:
    """Write a note about an order."""
    return json.dumps(LIVE.add_note(order_id, text))


if __name__ == "__main__":
    server.run("stdio")
