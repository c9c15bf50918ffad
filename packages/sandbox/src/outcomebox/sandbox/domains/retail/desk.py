"""Tools of the ticket desk."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from outcomebox.sandbox.domains.retail._app import (
    customer_row,
    exception_row,
    order_row,
    required,
    server,
    ticket_row,
)
from outcomebox.sandbox.toolserver import ToolError

_REASONS = {
    "on_hold": ("awaiting_carrier", "awaiting_return"),
    "resolved": ("done", "declined"),
}


@server.tool(writes=False)
def desk_list_tickets(
    customer_id: Annotated[str, Field(description="Such as CUS-1001.")],
) -> dict[str, Any]:
    """All tickets of a customer, whatever their status, newest first, without the notes."""
    customer_row(customer_id)
    tickets = server.rows(
        "SELECT * FROM tickets WHERE customer_id = ? ORDER BY opened_at DESC, ticket_id",
        customer_id,
    )
    return {"tickets": tickets}


@server.tool(writes=False)
def desk_get_ticket(
    ticket_id: Annotated[str, Field(description="Such as TKT-9001.")],
) -> dict[str, Any]:
    """One ticket with its notes, oldest first."""
    ticket = ticket_row(ticket_id)
    ticket["notes"] = server.rows(
        "SELECT note_id, author, body, created_at FROM ticket_notes "
        "WHERE ticket_id = ? ORDER BY created_at, note_id",
        ticket_id,
    )
    return ticket


@server.tool(writes=True)
def desk_open_ticket(
    order_id: Annotated[str, Field(description="The order that the ticket is about.")],
    category: Literal["delivery", "return", "cancellation", "address", "price"],
    subject: Annotated[str, Field(description="One line; names the order id.")],
    exception_id: Annotated[
        str | None, Field(description="The carrier exception that the ticket is about, if any.")
    ] = None,
) -> dict[str, Any]:
    """Open a ticket for the customer of an order. It has no notes yet: desk_add_note adds one."""
    order = order_row(order_id)
    if exception_id is not None:
        exception = exception_row(exception_id)
        if exception["order_id"] != order_id:
            raise ToolError(
                f"{exception_id} is about {exception['order_id']}, not about {order_id}."
            )
    ticket_id = server.next_id("tickets", "ticket_id", "TKT-")
    server.execute(
        "INSERT INTO tickets (ticket_id, customer_id, order_id, exception_id, category, subject, "
        "opened_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        ticket_id,
        order["customer_id"],
        order_id,
        exception_id,
        category,
        required(subject, "subject"),
        server.now_text,
    )
    return ticket_row(ticket_id)


@server.tool(writes=True)
def desk_add_note(
    ticket_id: str,
    body: Annotated[str, Field(description="The note's text.")],
) -> dict[str, Any]:
    """Add a note to a ticket. Notes cannot be changed or taken back."""
    ticket_row(ticket_id)
    row = {
        "note_id": server.next_id("ticket_notes", "note_id", "NOT-"),
        "ticket_id": ticket_id,
        "author": "agent",
        "body": required(body, "body"),
        "created_at": server.now_text,
    }
    server.execute("INSERT INTO ticket_notes VALUES (?, ?, ?, ?, ?)", *row.values())
    return row


@server.tool(writes=True)
def desk_set_status(
    ticket_id: str,
    status: Literal["on_hold", "resolved"],
    reason: Annotated[
        Literal["awaiting_carrier", "awaiting_return", "done", "declined"],
        Field(description="awaiting_* goes with on_hold; done and declined go with resolved."),
    ],
) -> dict[str, Any]:
    """Put a ticket on hold or resolve it. A resolved ticket stays resolved."""
    ticket = ticket_row(ticket_id)
    if ticket["status"] == "resolved":
        raise ToolError(f"{ticket_id} was resolved at {ticket['resolved_at']} and stays so.")
    if reason not in _REASONS[status]:
        allowed = " or ".join(_REASONS[status])
        raise ToolError(f"reason is {reason!r}; with status {status!r} it must be {allowed}.")
    server.execute(
        "UPDATE tickets SET status = ?, reason = ?, resolved_at = ? WHERE ticket_id = ?",
        status,
        reason,
        server.now_text if status == "resolved" else None,
        ticket_id,
    )
    return ticket_row(ticket_id)
