"""The travel domain's MCP server: eighteen tools in four systems.

Importing the four modules registers their tools on the one server of ``desk``.
"""

from __future__ import annotations

from outcomebox.sandbox.domains.travel import approvals, bookings, payments, tickets
from outcomebox.sandbox.domains.travel.desk import server

__all__ = ["approvals", "bookings", "payments", "server", "tickets"]

if __name__ == "__main__":
    server.run()
