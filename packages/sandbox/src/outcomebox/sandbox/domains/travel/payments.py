"""Payments: authorisations, captures and refunds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from outcomebox.sandbox.domains.travel.desk import (
    BookingId,
    booking_of,
    customer_of,
    euros,
    server,
)
from outcomebox.sandbox.toolserver import ToolError

PaymentId = Annotated[
    str, Field(description="Payment id, such as PAY-7012; list_payments has them.")
]


@server.tool(writes=False)
def list_payments(booking_id: BookingId) -> list[dict[str, Any]]:
    """[Payments] All payments of a booking, oldest first, each with its refunds.

    `authorised` money is reserved and not taken yet; `captured` money is taken (captured_cents);
    `released` reservations were given up. refundable_cents is what a refund could still return.
    """
    booking_of(booking_id)
    return [
        _shown(row)
        for row in server.rows(
            "SELECT * FROM payments WHERE booking_id = ? ORDER BY created_at, payment_id",
            booking_id,
        )
    ]


@server.tool(writes=True)
def take_payment(
    booking_id: BookingId,
    amount_cents: Annotated[int, Field(description="Amount in cents.", gt=0)],
    method: Annotated[
        Literal["card", "invoice"],
        Field(description="card: the customer's card on file; invoice: the corporate account."),
    ],
    capture: Annotated[
        bool, Field(description="true takes the money now; false only reserves it (authorised).")
    ],
) -> dict[str, Any]:
    """[Payments] Take a new payment for a booking, or reserve it.

    A held booking becomes confirmed as soon as its payments cover the total.
    """
    booking = booking_of(booking_id)
    if booking["status"] in ("cancelled", "no_show"):
        raise ToolError(f"Booking {booking_id} is {booking['status']}; nothing can be paid for it.")
    if booking["status"] == "held" and booking["hold_expires_at"] < server.now_text:
        raise ToolError(
            f"The hold on {booking_id} lapsed at {booking['hold_expires_at']}; it can no longer be"
            " paid. create_booking makes a new booking at today's rate."
        )
    card = customer_of(booking["customer_id"])["card_last4"]
    if method == "card" and card is None:
        raise ToolError(f"Customer {booking['customer_id']} has no card on file.")
    if method == "invoice" and booking["account_id"] is None:
        raise ToolError(f"Booking {booking_id} is private and cannot be invoiced; use card.")
    payment_id = server.next_id("payments", "payment_id", "PAY-")
    server.execute(
        "INSERT INTO payments (payment_id, booking_id, method, card_last4, amount_cents,"
        " captured_cents, status, created_at, settled_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(payment_id, booking_id, method, card if method == "card" else None, amount_cents),
        *(amount_cents if capture else 0, "captured" if capture else "authorised"),
        *(server.now_text, server.now_text if capture else None),
    )
    if booking["status"] == "held" and _covered(booking_id) >= booking["total_cents"]:
        server.execute(
            "UPDATE bookings SET status = 'confirmed', hold_expires_at = NULL, updated_at = ?"
            " WHERE booking_id = ?",
            *(server.now_text, booking_id),
        )
    return _shown(_payment(payment_id))


@server.tool(writes=True)
def capture_payment(
    payment_id: PaymentId,
    amount_cents: Annotated[
        int, Field(description="How much to take, in cents; 0 gives up the whole amount.", ge=0)
    ],
) -> dict[str, Any]:
    """[Payments] Take an authorised payment, in full or in part; the rest is given up for good."""
    payment = _payment(payment_id)
    if payment["status"] != "authorised":
        raise ToolError(
            f"Payment {payment_id} is {payment['status']}; only authorised ones can be captured."
        )
    if amount_cents > payment["amount_cents"]:
        raise ToolError(
            f"amount_cents {amount_cents} is above the authorised {payment['amount_cents']}"
            f" ({euros(payment['amount_cents'])})."
        )
    server.execute(
        "UPDATE payments SET captured_cents = ?, status = ?, settled_at = ? WHERE payment_id = ?",
        *(amount_cents, "captured" if amount_cents else "released", server.now_text, payment_id),
    )
    return _shown(_payment(payment_id))


@server.tool(writes=True)
def refund_payment(
    payment_id: PaymentId,
    amount_cents: Annotated[int, Field(description="How much to give back, in cents.", gt=0)],
    reason: Annotated[
        Literal["cancellation", "change", "duplicate", "overcharge", "service_failure"],
        Field(description="Why the money goes back."),
    ],
) -> dict[str, Any]:
    """[Payments] Give back a captured payment, in full or in part, the way it was paid."""
    payment = _shown(_payment(payment_id))
    if payment["status"] != "captured":
        raise ToolError(
            f"Payment {payment_id} is {payment['status']}; only captured ones can be refunded."
            " capture_payment settles authorised ones."
        )
    if amount_cents > payment["refundable_cents"]:
        raise ToolError(
            f"amount_cents {amount_cents} is above what is left on {payment_id}:"
            f" {payment['refundable_cents']} ({euros(payment['refundable_cents'])})."
        )
    refund_id = server.next_id("refunds", "refund_id", "REF-")
    server.execute(
        "INSERT INTO refunds (refund_id, payment_id, amount_cents, reason, created_at)"
        " VALUES (?, ?, ?, ?, ?)",
        *(refund_id, payment_id, amount_cents, reason, server.now_text),
    )
    return _shown(_payment(payment_id))


def _payment(payment_id: str) -> dict[str, Any]:
    row = server.one("SELECT * FROM payments WHERE payment_id = ?", payment_id)
    if row is None:
        raise ToolError(f"No payment {payment_id!r}. Use list_payments(booking_id) to find it.")
    return row


def _shown(payment: dict[str, Any]) -> dict[str, Any]:
    refunds = server.rows(
        "SELECT refund_id, amount_cents, reason, created_at FROM refunds WHERE payment_id = ?"
        " ORDER BY created_at, refund_id",
        payment["payment_id"],
    )
    left = payment["captured_cents"] - sum(refund["amount_cents"] for refund in refunds)
    return {**payment, "refunds": refunds, "refundable_cents": left}


def _covered(booking_id: str) -> int:
    """Money taken or reserved for a booking, in cents, refunds taken off."""
    total = 0
    for row in server.rows("SELECT * FROM payments WHERE booking_id = ?", booking_id):
        reserved = row["amount_cents"] if row["status"] == "authorised" else 0
        total += reserved + _shown(row)["refundable_cents"]
    return total
