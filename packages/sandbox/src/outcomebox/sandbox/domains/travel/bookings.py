"""The booking system: customers, hotels, rooms and stays."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from outcomebox.sandbox.domains.travel.desk import (
    BookingId,
    CustomerId,
    RoomId,
    booking_of,
    customer_of,
    euros,
    free_rooms,
    room_of,
    server,
    stay,
)
from outcomebox.sandbox.toolserver import ToolError

RatePlan = Literal["flexible", "standard", "saver"]
BookingStatus = Literal["held", "confirmed", "checked_in", "completed", "cancelled", "no_show"]

_BOOKING = (
    "SELECT b.*, c.full_name AS customer_name, h.hotel_id, h.name AS hotel_name, h.city,"
    " r.room_class FROM bookings b JOIN customers c USING (customer_id)"
    " JOIN rooms r USING (room_id) JOIN hotels h USING (hotel_id)"
)


@server.tool(writes=False)
def find_customer(
    email: Annotated[str | None, Field(description="The whole e-mail address.")] = None,
    full_name: Annotated[str | None, Field(description="The name or a part of it.")] = None,
    employee_id: Annotated[
        str | None, Field(description="A corporate traveller's employee id, such as EMP-2113.")
    ] = None,
) -> list[dict[str, Any]]:
    """[Booking system] Find customers that fit all of the given criteria (at least one).

    Each has the loyalty tier, the last digits of the card on file and, for employees of a
    corporate account, the employee record with account, role and status. An empty list means
    that nobody fits.
    """
    if not (email or full_name or employee_id):
        raise ToolError("Give at least one of email, full_name and employee_id.")
    found = []
    for row in server.rows("SELECT * FROM customers ORDER BY customer_id"):
        employee = server.one(
            "SELECT employee_id, account_id, role, cost_centre, status FROM employees"
            " WHERE customer_id = ?",
            row["customer_id"],
        )
        if email and row["email"].casefold() != email.strip().casefold():
            continue
        if full_name and full_name.strip().casefold() not in row["full_name"].casefold():
            continue
        if employee_id and (employee is None or employee["employee_id"] != employee_id.strip()):
            continue
        found.append({**row, "employee": employee})
    return found


@server.tool(writes=False)
def list_bookings(
    customer_id: CustomerId,
    status: Annotated[
        BookingStatus | None, Field(description="Only bookings with this status.")
    ] = None,
) -> list[dict[str, Any]]:
    """[Booking system] All bookings of a customer with hotel and room class, by check-in date."""
    customer_of(customer_id)
    return server.rows(
        f"{_BOOKING} WHERE b.customer_id = ? AND b.status = coalesce(?, b.status)"
        " ORDER BY b.check_in, b.booking_id",
        customer_id,
        status,
    )


@server.tool(writes=False)
def get_booking(booking_id: BookingId) -> dict[str, Any]:
    """[Booking system] One booking with its customer, hotel, room class, rate plan and prices."""
    booking_of(booking_id)
    return _shown(booking_id)


@server.tool(writes=False)
def search_rooms(
    check_in: Annotated[str, Field(description="First night, YYYY-MM-DD.")],
    check_out: Annotated[str, Field(description="Day of departure, YYYY-MM-DD.")],
    city: Annotated[str | None, Field(description="The hotel's city, such as Berlin.")] = None,
    hotel: Annotated[
        str | None, Field(description="Hotel id, or the hotel's name or a part of it.")
    ] = None,
    for_booking_id: Annotated[
        str | None, Field(description="A booking to be changed: its own room counts as free.")
    ] = None,
) -> list[dict[str, Any]]:
    """[Booking system] Room types of a city or hotel that are free for a whole stay.

    Each has its class, the greatest number of guests, today's nightly rate in cents for each
    rate plan, and how many rooms are free. Sold-out room types are left out.
    """
    first, last = stay(check_in, check_out)
    if not (city or hotel):
        raise ToolError("Give a city or a hotel.")
    if for_booking_id:
        booking_of(for_booking_id)
    wanted_city, wanted_hotel = (city or "").strip().casefold(), (hotel or "").strip().casefold()
    rooms, known = [], False
    for row in server.rows(
        "SELECT r.*, h.name AS hotel_name, h.city, h.stars FROM rooms r JOIN hotels h"
        " USING (hotel_id) ORDER BY r.hotel_id, r.flexible_cents"
    ):
        if wanted_city and row["city"].casefold() != wanted_city:
            continue
        if wanted_hotel != row["hotel_id"].casefold() and (
            wanted_hotel not in row["hotel_name"].casefold()
        ):
            continue
        known = True
        inventory = free_rooms(row, first, last, for_booking_id or "")
        del row["inventory"]
        if inventory > 0:
            rooms.append({**row, "free": inventory})
    if not known:
        cities = ", ".join(r["city"] for r in server.rows("SELECT DISTINCT city FROM hotels"))
        raise ToolError(f"No hotel fits city {city!r}, hotel {hotel!r}. Cities: {cities}.")
    return rooms


@server.tool(writes=True)
def create_booking(
    *,
    customer_id: CustomerId,
    room_id: RoomId,
    check_in: Annotated[str, Field(description="First night, YYYY-MM-DD, today or later.")],
    check_out: Annotated[str, Field(description="Day of departure, YYYY-MM-DD.")],
    guests: Annotated[int, Field(description="How many people stay.", ge=1)],
    rate_plan: Annotated[RatePlan, Field(description="Decides the rate and the conditions.")],
    account_id: Annotated[
        str | None,
        Field(description="The corporate account of a business stay; left out if private."),
    ] = None,
) -> dict[str, Any]:
    """[Booking system] Make a new, confirmed booking at today's rate of the room and rate plan.

    No money is taken: use take_payment afterwards.
    """
    customer_of(customer_id)
    room = room_of(room_id)
    _free_stay(room, check_in, check_out, guests)
    if account_id is not None and not server.rows(
        "SELECT 1 FROM employees WHERE customer_id = ? AND account_id = ?", customer_id, account_id
    ):
        raise ToolError(
            f"Customer {customer_id} is no employee of account {account_id!r}."
            " find_customer shows the account."
        )
    first, last = stay(check_in, check_out)
    nights, nightly = (last - first).days, room[f"{rate_plan}_cents"]
    booking_id = server.next_id("bookings", "booking_id", "BKG-")
    server.execute(
        "INSERT INTO bookings (booking_id, customer_id, account_id, room_id, rate_plan, check_in,"
        " check_out, nights, guests, nightly_cents, total_cents, status, booked_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'confirmed', ?, ?)",
        *(booking_id, customer_id, account_id, room_id, rate_plan, check_in, check_out, nights),
        *(guests, nightly, nights * nightly, server.now_text, server.now_text),
    )
    return _shown(booking_id)


@server.tool(writes=True)
def change_booking(
    *,
    booking_id: BookingId,
    room_id: Annotated[
        str | None, Field(description="New room of the same hotel; leave out to keep the room.")
    ] = None,
    check_in: Annotated[
        str | None, Field(description="New first night, YYYY-MM-DD; leave out to keep it.")
    ] = None,
    check_out: Annotated[
        str | None, Field(description="New day of departure, YYYY-MM-DD; leave out to keep it.")
    ] = None,
    fee_cents: Annotated[
        int, Field(description="Change fee in cents, added to the booking's change fees.", ge=0)
    ] = 0,
    approval_id: Annotated[
        str | None, Field(description="The approval this change rests on; it becomes used.")
    ] = None,
) -> dict[str, Any]:
    """[Booking system] Change the room, the dates, or both, of a held or confirmed booking.

    A new room comes at its current rate in the booking's rate plan; without a new room the nightly
    rate stays. For guests who are checked in only check_out can move, to a later day.
    No money is moved: use take_payment or refund_payment.
    """
    booking = booking_of(booking_id)
    new_room = room_id or booking["room_id"]
    first, last = check_in or booking["check_in"], check_out or booking["check_out"]
    if (new_room, first, last) == tuple(booking[k] for k in ("room_id", "check_in", "check_out")):
        raise ToolError(f"Booking {booking_id} has this room and these dates already.")
    room = room_of(new_room)
    _may_change(booking, room, first, last)
    _free_stay(room, first, last, booking["guests"], booking)
    nightly = booking["nightly_cents"]
    if new_room != booking["room_id"]:
        nightly = room[f"{booking['rate_plan']}_cents"]
    if approval_id is not None:
        _use_approval(approval_id, booking_id)
    start, end = stay(first, last)
    nights = (end - start).days
    server.execute(
        "UPDATE bookings SET room_id = ?, check_in = ?, check_out = ?, nights = ?,"
        " nightly_cents = ?, total_cents = ?, change_fee_cents = change_fee_cents + ?,"
        " updated_at = ? WHERE booking_id = ?",
        *(new_room, first, last, nights, nightly, nights * nightly, fee_cents),
        *(server.now_text, booking_id),
    )
    return _shown(booking_id)


@server.tool(writes=True)
def cancel_booking(
    booking_id: BookingId,
    fee_cents: Annotated[int, Field(description="Cancellation fee in cents; 0 if free.", ge=0)],
    reason: Annotated[
        Literal["customer_request", "duplicate"], Field(description="Why it is cancelled.")
    ],
) -> dict[str, Any]:
    """[Booking system] Cancel a held or confirmed booking for good.

    No money is moved: use refund_payment or capture_payment.
    """
    booking = booking_of(booking_id)
    if booking["status"] not in ("held", "confirmed"):
        raise ToolError(
            f"Booking {booking_id} is {booking['status']}; only held and confirmed bookings can be"
            " cancelled."
        )
    if fee_cents > booking["total_cents"]:
        raise ToolError(
            f"fee_cents {fee_cents} is above the booking's total of"
            f" {booking['total_cents']} ({euros(booking['total_cents'])})."
        )
    server.execute(
        "UPDATE bookings SET status = 'cancelled', cancellation_fee_cents = ?, cancel_reason = ?,"
        " cancelled_at = ?, updated_at = ? WHERE booking_id = ?",
        *(fee_cents, reason, server.now_text, server.now_text, booking_id),
    )
    return _shown(booking_id)


def _shown(booking_id: str) -> dict[str, Any]:
    (row,) = server.rows(f"{_BOOKING} WHERE b.booking_id = ?", booking_id)
    return row


def _may_change(booking: dict[str, Any], room: dict[str, Any], first: str, last: str) -> None:
    booking_id, status = booking["booking_id"], booking["status"]
    if room["hotel_id"] != room_of(booking["room_id"])["hotel_id"]:
        raise ToolError(
            f"Room {room['room_id']} is in another hotel. Cancel the booking and make a new one,"
            " or use search_rooms with the booking's hotel_id."
        )
    if status == "checked_in":
        same = room["room_id"] == booking["room_id"] and first == booking["check_in"]
        if not same or last <= booking["check_out"]:
            raise ToolError(
                f"The guests of {booking_id} are checked in: only check_out can change, to a day"
                f" after {booking['check_out']}."
            )
    elif status not in ("held", "confirmed"):
        raise ToolError(f"Booking {booking_id} is {status} and cannot be changed.")


def _free_stay(
    room: dict[str, Any],
    check_in: str,
    check_out: str,
    guests: int,
    booking: dict[str, Any] | None = None,
) -> None:
    """Raise ToolError unless the room takes the guests for the whole stay."""
    first, last = stay(check_in, check_out)
    today = server.now.date()
    begun = booking is not None and check_in == booking["check_in"]
    if first < today and not begun:
        raise ToolError(f"check_in {check_in} is in the past; today is {today.isoformat()}.")
    if guests > room["max_guests"]:
        raise ToolError(
            f"Room {room['room_id']} takes {room['max_guests']} guests, not {guests}."
            " search_rooms shows max_guests."
        )
    if free_rooms(room, first, last, booking["booking_id"] if booking else "") < 1:
        raise ToolError(
            f"Room {room['room_id']} is sold out on at least one night from {check_in} to"
            f" {check_out}. Use search_rooms to see what is free."
        )


def _use_approval(approval_id: str, booking_id: str) -> None:
    row = server.one("SELECT * FROM approvals WHERE approval_id = ?", approval_id)
    if row is None or row["booking_id"] != booking_id:
        raise ToolError(
            f"Booking {booking_id} has no approval {approval_id!r}. Use list_approvals(booking_id)."
        )
    if row["status"] != "approved":
        raise ToolError(f"Approval {approval_id} is {row['status']}, not approved.")
    server.execute(
        "UPDATE approvals SET status = 'used', used_at = ? WHERE approval_id = ?",
        *(server.now_text, approval_id),
    )
