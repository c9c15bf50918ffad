"""The records that a task brings along: a few tickets and orders, drawn by chance."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from outcomebox.sandbox.expect import TableEdits

OWNERS = ("A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8")
PRIORITIES = ("P1", "P2", "P3")
REFUNDABLE = ("paid", "lost")
ORDER_STATUSES = (*REFUNDABLE, "sent")

_IDS = range(10, 100)  # those below are the seed's
_EACH = 3


@dataclass
class Order:
    """A row of ``orders``."""

    id: str
    owner: str
    status: str

    def row(self) -> dict[str, Any]:
        """As the table has it."""
        return {"order_id": self.id, "owner": self.owner, "status": self.status}


@dataclass
class Ticket:
    """A row of ``tickets``, with the order that it is about."""

    id: str
    order: Order
    owner: str
    priority: str
    status: str = "open"

    def row(self) -> dict[str, Any]:
        """As the table has it."""
        return {
            "ticket_id": self.id,
            "order_id": self.order.id,
            "owner": self.owner,
            "priority": self.priority,
            "status": self.status,
        }


@dataclass
class Records:
    """A task's own records, to be bent to what its family needs.

    Attributes:
        tickets: Open ones, each about one of the orders.
        orders: Paid, lost or sent.
    """

    tickets: list[Ticket] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)

    def init(self) -> dict[str, TableEdits]:
        """As a task's ``init`` has them: equal records are equal there too."""
        return {
            "orders": TableEdits(
                insert=tuple(each.row() for each in sorted(self.orders, key=lambda each: each.id))
            ),
            "tickets": TableEdits(
                insert=tuple(each.row() for each in sorted(self.tickets, key=lambda each: each.id))
            ),
        }


def draw_records(rng: Random) -> Records:
    """Three tickets and three orders; which ticket is about which order is drawn too."""
    orders = [
        Order(f"O{number}", rng.choice(OWNERS), rng.choice(ORDER_STATUSES))
        for number in rng.sample(_IDS, _EACH)
    ]
    tickets = [
        Ticket(f"T{number}", order, rng.choice(OWNERS), rng.choice(PRIORITIES))
        for number, order in zip(
            rng.sample(_IDS, _EACH), rng.sample(orders, len(orders)), strict=True
        )
    ]
    return Records(tickets, orders)
