"""The desk's one tool server, and what its four groups of tools share.

The tools are in ``bookings``, ``approvals``, ``payments`` and ``tickets``; ``server`` puts them
together. They hold up data integrity (what exists, what is possible); the written policy is the
agent's to keep.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Annotated, Any, Final

from pydantic import Field

from outcomebox.sandbox.toolserver import ToolError, ToolServer

server = ToolServer(
    "travel",
    instructions=(
        "Tools of a hotel booking desk in four systems: the booking system, corporate approvals, "
        "payments and the ticket desk. Amounts are whole euro cents, dates are YYYY-MM-DD, "
        "timestamps are UTC."
    ),
)

MAX_NIGHTS: Final = 30
ROOM_CLASSES: Final = ("standard", "superior", "deluxe", "suite")

BookingId = Annotated[str, Field(description="Booking reference, such as BKG-3012.")]
CustomerId = Annotated[str, Field(description="Customer id, such as CUS-1004.")]
RoomId = Annotated[str, Field(description="Room id, such as RM-103-SUP; search_rooms lists them.")]
TicketId = Annotated[str, Field(description="Ticket id, such as TKT-6003.")]


def euros(cents: int) -> str:
    """An amount as people read it: 12350 becomes ``123.50 EUR``."""
    return f"{cents // 100}.{cents % 100:02d} EUR"


def booking_of(booking_id: str) -> dict[str, Any]:
    """The booking's row.

    Raises:
        ToolError: There is no such booking.
    """
    row = server.one("SELECT * FROM bookings WHERE booking_id = ?", booking_id)
    if row is None:
        raise ToolError(
            f"No booking {booking_id!r}. Use list_bookings(customer_id) to find the reference."
        )
    return row


def customer_of(customer_id: str) -> dict[str, Any]:
    """The customer's row.

    Raises:
        ToolError: There is no such customer.
    """
    row = server.one("SELECT * FROM customers WHERE customer_id = ?", customer_id)
    if row is None:
        raise ToolError(f"No customer {customer_id!r}. Use find_customer to find the customer id.")
    return row


def room_of(room_id: str) -> dict[str, Any]:
    """The room type's row.

    Raises:
        ToolError: There is no such room type.
    """
    row = server.one("SELECT * FROM rooms WHERE room_id = ?", room_id)
    if row is None:
        raise ToolError(f"No room {room_id!r}. Use search_rooms to find the room id.")
    return row


def stay(check_in: str, check_out: str) -> tuple[date, date]:
    """Both dates of a stay.

    Raises:
        ToolError: A date is malformed, or the stay is empty or longer than ``MAX_NIGHTS``.
    """
    first, last = _date("check_in", check_in), _date("check_out", check_out)
    nights = (last - first).days
    if not 1 <= nights <= MAX_NIGHTS:
        raise ToolError(
            f"check_out {check_out} must be 1 to {MAX_NIGHTS} nights after check_in {check_in}."
        )
    return first, last


def _date(field: str, text: str) -> date:
    try:
        value = date.fromisoformat(text)
    except ValueError:
        value = None
    if value is None or value.isoformat() != text:
        raise ToolError(f"{field} {text!r} is not a date; write it as YYYY-MM-DD.")
    return value


def free_rooms(room: dict[str, Any], check_in: date, check_out: date, except_for: str = "") -> int:
    """How many rooms of a type are free on every night of a stay (0 or less: sold out).

    Args:
        room: The room type's row.
        check_in: First night.
        check_out: Day of departure, whose night isn't needed.
        except_for: A booking whose own room counts as free.
    """
    taken = server.rows(
        "SELECT check_in, check_out FROM bookings"
        " WHERE room_id = ? AND booking_id <> ? AND check_in < ? AND check_out > ?"
        " AND (status IN ('confirmed', 'checked_in')"
        "      OR (status = 'held' AND hold_expires_at >= ?))",
        room["room_id"],
        except_for,
        check_out.isoformat(),
        check_in.isoformat(),
        server.now_text,
    )
    nights = [
        (check_in + timedelta(days=offset)).isoformat()
        for offset in range((check_out - check_in).days)
    ]
    busiest = max(sum(row["check_in"] <= n < row["check_out"] for row in taken) for n in nights)
    left: int = room["inventory"] - busiest
    return left
