"""The domain's MCP server: 18 tools over four systems, on one database.

The tools keep the data whole (ids exist, amounts fit, steps are possible) and say which tool helps
when they refuse. The desk's policy is the agent's business: a tool does what it is told.
"""

from __future__ import annotations

from outcomebox.sandbox.domains.retail import aftersale, carrier, crm, desk, orders
from outcomebox.sandbox.domains.retail._app import server

__all__ = ["aftersale", "carrier", "crm", "desk", "orders", "server"]

if __name__ == "__main__":
    server.run()
