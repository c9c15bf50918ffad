"""The ticket desk: what customers asked for and what the desk did about it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from outcomebox.sandbox.domains.travel.desk import (
    CustomerId,
    TicketId,
    booking_of,
    customer_of,
    server,
)
from outcomebox.sandbox.toolserver import ToolError

Topic = Literal[
    "new_booking", "cancellation", "date_change", "room_change", "payment", "complaint", "other"
]
Queue = Literal["desk", "approvals", "hotel_relations", "supervisor"]
Priority = Literal["normal", "high"]
Status = Literal["open", "pending", "resolved"]


@server.tool(writes=False)
def list_tickets(
    customer_id: CustomerId,
    status: Annotated[Status | None, Field(description="Only tickets with this status.")] = None,
) -> list[dict[str, Any]]:
    """[Ticket desk] All tickets of a customer, oldest first, each with its notes in order."""
    customer_of(customer_id)
    return [
        _shown(row["ticket_id"])
        for row in server.rows(
            "SELECT ticket_id FROM tickets WHERE customer_id = ? AND status = coalesce(?, status)"
            " ORDER BY opened_at, ticket_id",
            customer_id,
            status,
        )
    ]


@server.tool(writes=True)
def create_ticket(
    *,
    customer_id: CustomerId,
    topic: Annotated[Topic, Field(description="What the customer asked for.")],
    subject: Annotated[str, Field(description="One line.", min_length=1, max_length=120)],
    note: Annotated[str, Field(description="Body of the ticket's first note.", min_length=1)],
    status: Annotated[Status, Field(description="The ticket's status from the start.")],
    booking_id: Annotated[
        str | None, Field(description="The booking that the ticket is about, if there is one.")
    ] = None,
    queue: Annotated[Queue, Field(description="The team that owns the ticket.")] = "desk",
    priority: Annotated[Priority, Field(description="How urgent it is.")] = "normal",
) -> dict[str, Any]:
    """[Ticket desk] Open a new ticket with its first note, which is signed by the desk."""
    customer_of(customer_id)
    if booking_id is not None and booking_of(booking_id)["customer_id"] != customer_id:
        raise ToolError(f"Booking {booking_id} is not one of customer {customer_id}.")
    ticket_id = server.next_id("tickets", "ticket_id", "TKT-")
    now = server.now_text
    server.execute(
        "INSERT INTO tickets (ticket_id, customer_id, booking_id, topic, subject, queue, priority,"
        " status, opened_at, updated_at, resolved_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(ticket_id, customer_id, booking_id, topic, subject, queue, priority, status, now, now),
        now if status == "resolved" else None,
    )
    _add_note(ticket_id, note)
    return _shown(ticket_id)


@server.tool(writes=True)
def add_ticket_note(
    ticket_id: TicketId,
    body: Annotated[str, Field(description="The note's text.", min_length=1)],
) -> dict[str, Any]:
    """[Ticket desk] Add a note, signed by the desk, to a ticket; its status stays."""
    _ticket(ticket_id)
    _add_note(ticket_id, body)
    server.execute(
        "UPDATE tickets SET updated_at = ? WHERE ticket_id = ?", server.now_text, ticket_id
    )
    return _shown(ticket_id)


@server.tool(writes=True)
def update_ticket(
    ticket_id: TicketId,
    status: Annotated[Status | None, Field(description="New status.")] = None,
    queue: Annotated[Queue | None, Field(description="New owning team.")] = None,
    priority: Annotated[Priority | None, Field(description="New priority.")] = None,
) -> dict[str, Any]:
    """[Ticket desk] Change a ticket's status, queue or priority; what is left out stays."""
    ticket = _ticket(ticket_id)
    wanted = {"status": status, "queue": queue, "priority": priority}
    changed = {k: v for k, v in wanted.items() if v is not None and v != ticket[k]}
    if not changed:
        raise ToolError(
            f"Nothing would change: ticket {ticket_id} is {ticket['status']}, in queue"
            f" {ticket['queue']}, priority {ticket['priority']}."
        )
    new = {**ticket, **changed}
    resolved = new["status"] == "resolved"
    resolved_at = (ticket["resolved_at"] or server.now_text) if resolved else None
    server.execute(
        "UPDATE tickets SET status = ?, queue = ?, priority = ?, updated_at = ?, resolved_at = ?"
        " WHERE ticket_id = ?",
        *(new["status"], new["queue"], new["priority"], server.now_text, resolved_at, ticket_id),
    )
    return _shown(ticket_id)


def _ticket(ticket_id: str) -> dict[str, Any]:
    row = server.one("SELECT * FROM tickets WHERE ticket_id = ?", ticket_id)
    if row is None:
        raise ToolError(
            f"No ticket {ticket_id!r}. Use list_tickets(customer_id) to find the ticket id."
        )
    return row


def _add_note(ticket_id: str, body: str) -> None:
    server.execute(
        "INSERT INTO ticket_notes (note_id, ticket_id, author, body, created_at)"
        " VALUES (?, ?, 'desk', ?, ?)",
        *(server.next_id("ticket_notes", "note_id", "NTE-"), ticket_id, body, server.now_text),
    )


def _shown(ticket_id: str) -> dict[str, Any]:
    notes = server.rows(
        "SELECT note_id, author, body, created_at FROM ticket_notes WHERE ticket_id = ?"
        " ORDER BY created_at, note_id",
        ticket_id,
    )
    return {**_ticket(ticket_id), "notes": notes}
