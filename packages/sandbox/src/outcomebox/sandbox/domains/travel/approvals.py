"""Corporate approvals: what an account allows, and what its approver has decided."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from outcomebox.sandbox.domains.travel.desk import (
    ROOM_CLASSES,
    BookingId,
    booking_of,
    room_of,
    server,
    stay,
)
from outcomebox.sandbox.toolserver import ToolError

VALID_DAYS: Final = 14


@server.tool(writes=False)
def get_travel_policy(
    account_id: Annotated[str, Field(description="Corporate account, such as ACC-12.")],
) -> dict[str, Any]:
    """[Corporate approvals] A corporate account with its travel policy.

    The highest nightly rate in cents, the allowed room classes, which changes need an approval
    (approval_rule), the approver, and the cancellation terms (rate_plan or contract).
    """
    row = server.one(
        "SELECT a.account_id, a.name, a.status, p.policy_id, p.max_nightly_cents, p.approval_rule,"
        " p.approver_employee_id, c.full_name AS approver_name, p.cancellation_terms"
        " FROM corporate_accounts a JOIN travel_policies p USING (account_id)"
        " JOIN employees e ON e.employee_id = p.approver_employee_id"
        " JOIN customers c USING (customer_id) WHERE a.account_id = ?",
        account_id,
    )
    if row is None:
        known = ", ".join(
            a["account_id"] for a in server.rows("SELECT account_id FROM corporate_accounts")
        )
        raise ToolError(f"No corporate account {account_id!r}. Accounts: {known}.")
    allowed = {
        c["room_class"]
        for c in server.rows(
            "SELECT room_class FROM policy_room_classes WHERE policy_id = ?", row["policy_id"]
        )
    }
    return {**row, "allowed_room_classes": [c for c in ROOM_CLASSES if c in allowed]}


@server.tool(writes=False)
def list_approvals(booking_id: BookingId) -> list[dict[str, Any]]:
    """[Corporate approvals] All approval requests for a booking, oldest first, with decisions.

    `approved` ones name the last day on which they count (valid_until).
    """
    booking_of(booking_id)
    return server.rows(
        "SELECT a.*, r.room_class AS to_room_class FROM approvals a"
        " LEFT JOIN rooms r ON r.room_id = a.to_room_id"
        " WHERE a.booking_id = ? ORDER BY a.requested_at, a.approval_id",
        booking_id,
    )


@server.tool(writes=True)
def request_approval(
    *,
    booking_id: BookingId,
    kind: Annotated[
        Literal["downgrade", "over_cap", "date_change"],
        Field(description="downgrade and over_cap are for a room, date_change for dates."),
    ],
    reason: Annotated[str, Field(description="What the approver reads.", min_length=1)],
    room_id: Annotated[
        str | None, Field(description="The wanted room: for downgrade and over_cap.")
    ] = None,
    check_in: Annotated[
        str | None, Field(description="The wanted first night, YYYY-MM-DD: for date_change.")
    ] = None,
    check_out: Annotated[
        str | None, Field(description="The wanted day of departure, YYYY-MM-DD: for date_change.")
    ] = None,
) -> dict[str, Any]:
    """[Corporate approvals] Ask the account's approver to allow a change of a corporate booking.

    The answer has the new approval with its status: `pending` until the approver decides, or
    `approved` at once where the account approves such requests by rule. The booking stays as it is.
    """
    booking = booking_of(booking_id)
    if booking["account_id"] is None:
        raise ToolError(f"Booking {booking_id} is private; approvals are for corporate bookings.")
    if booking["status"] not in ("held", "confirmed"):
        raise ToolError(f"Booking {booking_id} is {booking['status']} and cannot be changed.")
    (policy,) = server.rows(
        "SELECT * FROM travel_policies WHERE account_id = ?", booking["account_id"]
    )
    rate = _wanted_rate(booking, kind, room_id, check_in, check_out)
    at_once = kind == "downgrade" and rate <= (policy["auto_approve_max_cents"] or 0)
    until = (server.now.date() + timedelta(days=VALID_DAYS)).isoformat() if at_once else None
    approval_id = server.next_id("approvals", "approval_id", "APR-")
    server.execute(
        "INSERT INTO approvals (approval_id, booking_id, kind, to_room_id, to_check_in,"
        " to_check_out, approver_employee_id, reason, status, requested_at, decided_at,"
        " valid_until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(approval_id, booking_id, kind, room_id, check_in, check_out),
        *(policy["approver_employee_id"], reason, "approved" if at_once else "pending"),
        *(server.now_text, server.now_text if at_once else None, until),
    )
    (row,) = server.rows("SELECT * FROM approvals WHERE approval_id = ?", approval_id)
    return row


def _wanted_rate(
    booking: dict[str, Any],
    kind: str,
    room_id: str | None,
    check_in: str | None,
    check_out: str | None,
) -> int:
    """The nightly rate in cents that the booking would have after the change.

    Raises:
        ToolError: The request doesn't name a room, or dates, as its kind needs.
    """
    if kind == "date_change":
        if room_id is not None or check_in is None or check_out is None:
            raise ToolError("A date_change needs check_in and check_out, and no room_id.")
        stay(check_in, check_out)
        return int(booking["nightly_cents"])
    if room_id is None or check_in is not None or check_out is not None:
        raise ToolError(f"An approval of kind {kind} needs room_id, and no dates.")
    room = room_of(room_id)
    if room["hotel_id"] != room_of(booking["room_id"])["hotel_id"]:
        raise ToolError(f"Room {room_id} is in another hotel than booking {booking['booking_id']}.")
    if room_id == booking["room_id"]:
        raise ToolError(f"Booking {booking['booking_id']} has room {room_id} already.")
    return int(room[f"{booking['rate_plan']}_cents"])
