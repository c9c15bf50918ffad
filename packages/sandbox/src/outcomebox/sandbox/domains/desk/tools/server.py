"""The desk domain's MCP server: two tools that read and three that write, with short answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from outcomebox.sandbox.toolserver import ToolError, ToolServer

server = ToolServer(
    "desk",
    instructions=(
        "Tools of a small service desk: tickets (T12), the orders that they are about (O34) and "
        "their owners (A1)."
    ),
)

TicketId = Annotated[str, Field(description="Ticket id, such as T12.")]
OrderId = Annotated[str, Field(description="Order id, such as O34.")]
Priority = Literal["P1", "P2", "P3"]


@server.tool(writes=False)
def ticket(id: TicketId) -> dict[str, Any]:  # noqa: A002 -- the shortest name an agent can write
    """A ticket: its order, its owner, its priority, and whether it is open or closed."""
    row = _ticket(id)
    return {
        "order": row["order_id"],
        "owner": row["owner"],
        "priority": row["priority"],
        "status": row["status"],
    }


@server.tool(writes=False)
def order(id: OrderId) -> dict[str, Any]:  # noqa: A002 -- see above
    """An order: its owner, and whether it is paid, lost, sent or refunded."""
    row = _order(id)
    return {"owner": row["owner"], "status": row["status"]}


@server.tool(writes=True)
def edit(
    id: TicketId,  # noqa: A002 -- see above
    owner: Annotated[str | None, Field(description="Its new owner, such as A1.")] = None,
    priority: Annotated[Priority | None, Field(description="Its new priority.")] = None,
) -> str:
    """Give a ticket another owner, another priority or both; what is left out stays."""
    row = _ticket(id)
    if owner is None and priority is None:
        raise ToolError("Nothing to edit: give owner, priority or both.")
    if owner is not None and server.one("SELECT owner FROM owners WHERE owner = ?", owner) is None:
        names = [each["owner"] for each in server.rows("SELECT owner FROM owners ORDER BY owner")]
        raise ToolError(f"No owner {owner!r}. There are {', '.join(names)}.")
    server.execute(
        "UPDATE tickets SET owner = ?, priority = ? WHERE ticket_id = ?",
        *(owner or row["owner"], priority or row["priority"], id),
    )
    return "ok"


@server.tool(writes=True)
def close(id: TicketId) -> str:  # noqa: A002 -- see above
    """Close an open ticket."""
    if _ticket(id)["status"] == "closed":
        raise ToolError(f"Ticket {id} is closed already.")
    server.execute("UPDATE tickets SET status = 'closed' WHERE ticket_id = ?", id)
    return "ok"


@server.tool(writes=True)
def refund(id: OrderId) -> str:  # noqa: A002 -- see above
    """Refund an order; one that is refunded cannot be refunded again."""
    if _order(id)["status"] == "refunded":
        raise ToolError(f"Order {id} is refunded already.")
    server.execute("UPDATE orders SET status = 'refunded' WHERE order_id = ?", id)
    return "ok"


def _ticket(ticket_id: str) -> dict[str, Any]:
    row = server.one("SELECT * FROM tickets WHERE ticket_id = ?", ticket_id)
    if row is None:
        raise ToolError(f"No ticket {ticket_id!r}.")
    return row


def _order(order_id: str) -> dict[str, Any]:
    row = server.one("SELECT * FROM orders WHERE order_id = ?", order_id)
    if row is None:
        raise ToolError(f"No order {order_id!r}.")
    return row


if __name__ == "__main__":
    server.run()
