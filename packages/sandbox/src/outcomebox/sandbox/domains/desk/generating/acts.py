"""What a wish may ask for: each act with its words, its call and the change that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from outcomebox.sandbox.domains.desk.generating.records import (
    OWNERS,
    PRIORITIES,
    Order,
    Ticket,
)
from outcomebox.sandbox.expect import TableExpect, UpdateExpect
from outcomebox.sandbox.task import Call


@dataclass(frozen=True)
class Act:
    """One write.

    Attributes:
        words: How a wish says it, to stand inside of a sentence.
        call: The call that does it.
        table: The table that it changes.
        key: The changed row's key.
        change: What the row's columns then hold; something else before.
    """

    words: str
    call: Call
    table: str
    key: dict[str, Any]
    change: dict[str, Any]


def close(rng: Random, ticket: Ticket) -> Act:
    """Close an open ticket."""
    words = rng.choice(("close {}", "shut {}")).format(ticket.id)
    return _ticket_act(words, Call(tool="close", arguments={"id": ticket.id}), status="closed")


def assign(rng: Random, ticket: Ticket, owner: str | None = None) -> Act:
    """Give a ticket to an owner who does not have it; who, is drawn where it is not given."""
    owner = owner or rng.choice([each for each in OWNERS if each != ticket.owner])
    words = rng.choice(("give {} to {}", "assign {} to {}")).format(ticket.id, owner)
    return _ticket_act(words, _edit(ticket, owner=owner), owner=owner)


def rank(rng: Random, ticket: Ticket, priority: str | None = None) -> Act:
    """Give a ticket another priority; which, is drawn where it is not given."""
    priority = priority or rng.choice([each for each in PRIORITIES if each != ticket.priority])
    words = rng.choice(("set {} to {}", "make {} {}")).format(ticket.id, priority)
    return _ticket_act(words, _edit(ticket, priority=priority), priority=priority)


def refund(rng: Random, order: Order) -> Act:
    """Refund an order."""
    return Act(
        words=rng.choice(("refund {}", "pay back {}")).format(order.id),
        call=Call(tool="refund", arguments={"id": order.id}),
        table="orders",
        key={"order_id": order.id},
        change={"status": "refunded"},
    )


TICKET_ACTS: tuple[Callable[[Random, Ticket], Act], ...] = (close, assign, rank)
"""All that can be done to a ticket."""


def expected(acts: Iterable[Act]) -> dict[str, TableExpect]:
    """The end that some acts leave, as a task's ``expect`` has it."""
    found: dict[str, dict[tuple[Any, ...], tuple[dict[str, Any], dict[str, Any]]]] = {}
    for act in acts:
        _, change = found.setdefault(act.table, {}).setdefault(
            tuple(act.key.values()), (act.key, {})
        )
        change.update(act.change)
    return {
        table: TableExpect(
            update=tuple(UpdateExpect(key=key, set=change) for key, change in found[table].values())
        )
        for table in sorted(found)
    }


def _edit(ticket: Ticket, **fields: str) -> Call:
    return Call(tool="edit", arguments={"id": ticket.id, **fields})


def _ticket_act(words: str, call: Call, **change: Any) -> Act:
    key = {"ticket_id": call.arguments["id"]}
    return Act(words=words, call=call, table="tickets", key=key, change=change)
