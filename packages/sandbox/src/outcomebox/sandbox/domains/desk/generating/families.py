"""The families of tasks: what is asked, which calls do it right, and what must be there at the end.

Every family bends its records so that its right end differs from every other end that its words
could be taken for: both branches of a condition change something, and not the same thing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from outcomebox.sandbox.domains.desk.generating.acts import (
    TICKET_ACTS,
    Act,
    assign,
    close,
    rank,
    refund,
)
from outcomebox.sandbox.domains.desk.generating.records import (
    ORDER_STATUSES,
    OWNERS,
    PRIORITIES,
    REFUNDABLE,
    Order,
    Records,
    Ticket,
)
from outcomebox.sandbox.task import NO_CHANGE, Call


@dataclass(frozen=True)
class Wish:
    """A task's heart.

    Attributes:
        words: What is asked, to stand inside of a sentence.
        reads: What has to be looked at first, in order.
        acts: What has to be done then, in order; nothing where the policy forbids it.
        tempting: What somebody does who does not look closely: the other branch, or what is
            forbidden; nothing where there is no such thing.
        compared: For a condition, what it asks for and what the record says.
    """

    words: str
    reads: tuple[Ticket | Order, ...]
    acts: tuple[Act, ...] = ()
    tempting: tuple[Act, ...] = ()
    compared: tuple[str, str] | None = None

    @property
    def golden(self) -> tuple[Call, ...]:
        """The calls that do it right."""
        return (*map(read, self.reads), *(act.call for act in self.acts))


@dataclass(frozen=True)
class Family:
    """Tasks that ask for the same thing with other data.

    Attributes:
        name: As a task's ``family``.
        kind: What it takes: ``unconditional``, ``two-write``, ``two-step``, ``copy``,
            ``conditional`` or ``refuse``.
        draw: Bends the records and says what is asked of them.
    """

    name: str
    kind: str
    draw: Callable[[Random, Records], Wish]

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of its tasks."""
        return (self.kind, NO_CHANGE) if self.no_change else (self.kind,)

    @property
    def no_change(self) -> bool:
        """Whether the right end of its tasks is no change at all."""
        return self.kind == "refuse"


def read(record: Ticket | Order) -> Call:
    """The call that reads a record."""
    return Call(
        tool="ticket" if isinstance(record, Ticket) else "order", arguments={"id": record.id}
    )


def _close(rng: Random, records: Records) -> Wish:
    return _on_ticket(records.tickets[0], close(rng, records.tickets[0]))


def _assign(rng: Random, records: Records) -> Wish:
    return _on_ticket(records.tickets[0], assign(rng, records.tickets[0]))


def _rank(rng: Random, records: Records) -> Wish:
    return _on_ticket(records.tickets[0], rank(rng, records.tickets[0]))


def _on_ticket(ticket: Ticket, act: Act) -> Wish:
    return Wish(act.words, (ticket,), (act,))


def _refund(rng: Random, records: Records) -> Wish:
    order = records.orders[0]
    order.status = rng.choice(REFUNDABLE)
    act = refund(rng, order)
    return Wish(act.words, (order,), (act,))


def _handover(rng: Random, records: Records) -> Wish:
    ticket = records.tickets[0]
    acts = (assign(rng, ticket), rank(rng, ticket))
    return Wish(f"{acts[0].words} and {acts[1].words}", (ticket,), acts)


def _refund_and_close(rng: Random, records: Records) -> Wish:
    order, ticket = records.orders[0], records.tickets[0]
    order.status = rng.choice(REFUNDABLE)
    acts = (refund(rng, order), close(rng, ticket))
    return Wish(f"{acts[0].words} and {acts[1].words}", (order, ticket), acts)


def _refund_of_ticket(rng: Random, records: Records) -> Wish:
    ticket = records.tickets[0]
    ticket.order.status = rng.choice(REFUNDABLE)
    act = refund(rng, ticket.order)
    words = rng.choice(("refund the order of {}", "pay back the order of {}")).format(ticket.id)
    return Wish(words, (ticket, ticket.order), (act,))


def _copy_owner(rng: Random, records: Records) -> Wish:
    ticket = records.tickets[0]
    source: Ticket | Order = rng.choice((records.tickets[1], records.orders[0]))
    source.owner = rng.choice([each for each in OWNERS if each != ticket.owner])
    act = assign(rng, ticket, source.owner)
    words = rng.choice(("give {} to the owner of {}", "assign {} to the owner of {}"))
    return Wish(words.format(ticket.id, source.id), (ticket, source), (act,))


def _copy_priority(rng: Random, records: Records) -> Wish:
    ticket, source = records.tickets[:2]
    source.priority = rng.choice([each for each in PRIORITIES if each != ticket.priority])
    act = rank(rng, ticket, source.priority)
    words = rng.choice(("give {} the priority of {}", "set {} to the priority of {}"))
    return Wish(words.format(ticket.id, source.id), (ticket, source), (act,))


def _if_order(rng: Random, records: Records) -> Wish:
    order, ticket = records.orders[0], records.tickets[0]
    status = _status_condition(rng, order)
    then, other = _two_acts(rng, ticket)
    if status in REFUNDABLE and rng.random() < 0.5:
        then = refund(rng, order)
    condition = f"if {order.id} is {status}"
    return _branching(condition, (order, ticket), (status, order.status), (then, other))


def _if_ticket(rng: Random, records: Records) -> Wish:
    ticket = records.tickets[0]
    if rng.random() < 0.5:
        asked, ticket.priority = _asked_and_found(rng, PRIORITIES)
        condition, found = f"if {ticket.id} is {asked}", ticket.priority
    else:
        asked, ticket.owner = _asked_and_found(rng, OWNERS)
        condition, found = f"if {asked} has {ticket.id}", ticket.owner
    return _branching(condition, (ticket,), (asked, found), _two_acts(rng, ticket))


def _if_order_of_ticket(rng: Random, records: Records) -> Wish:
    ticket = records.tickets[0]
    status = _status_condition(rng, ticket.order)
    return _branching(
        f"if the order of {ticket.id} is {status}",
        (ticket, ticket.order),
        (status, ticket.order.status),
        _two_acts(rng, ticket),
    )


def _refuse_refund(rng: Random, records: Records) -> Wish:
    order = records.orders[0]
    order.status = "sent"
    act = refund(rng, order)
    return Wish(act.words, (order,), tempting=(act,))


def _refuse_closed(rng: Random, records: Records) -> Wish:
    ticket = records.tickets[0]
    ticket.status = "closed"
    act = rng.choice((assign, rank))(rng, ticket)
    return Wish(act.words, (ticket,), tempting=(act,))


def _status_condition(rng: Random, order: Order) -> str:
    """A status that a wish asks for; the order is made to have it or not."""
    asked, order.status = _asked_and_found(rng, ORDER_STATUSES)
    return asked


def _asked_and_found(rng: Random, values: Sequence[str]) -> tuple[str, str]:
    """What a condition asks for and what the record says; they agree half of the time."""
    asked = rng.choice(values)
    if rng.random() < 0.5:
        return asked, asked
    return asked, rng.choice([each for each in values if each != asked])


def _two_acts(rng: Random, ticket: Ticket) -> tuple[Act, Act]:
    """Two ways to treat a ticket: different acts, or one act with different values."""
    first = rng.choice(TICKET_ACTS)(rng, ticket)
    while True:
        second = rng.choice(TICKET_ACTS)(rng, ticket)
        if second.change != first.change:
            return first, second


def _branching(
    condition: str,
    reads: tuple[Ticket | Order, ...],
    compared: tuple[str, str],
    acts: tuple[Act, Act],
) -> Wish:
    then, other = acts
    right, wrong = (then, other) if compared[0] == compared[1] else (other, then)
    words = f"{condition}, then {then.words}, else {other.words}"
    return Wish(words, reads, (right,), tempting=(wrong,), compared=compared)


_ALL = (
    Family("close", "unconditional", _close),
    Family("assign", "unconditional", _assign),
    Family("rank", "unconditional", _rank),
    Family("refund", "unconditional", _refund),
    Family("handover", "two-write", _handover),
    Family("refund-and-close", "two-write", _refund_and_close),
    Family("refund-of-ticket", "two-step", _refund_of_ticket),
    Family("copy-owner", "copy", _copy_owner),
    Family("copy-priority", "copy", _copy_priority),
    Family("if-order", "conditional", _if_order),
    Family("if-ticket", "conditional", _if_ticket),
    Family("if-order-of-ticket", "conditional", _if_order_of_ticket),
    Family("refuse-refund", "refuse", _refuse_refund),
    Family("refuse-closed", "refuse", _refuse_closed),
)

FAMILIES: Mapping[str, Family] = {family.name: family for family in _ALL}
"""All families by name, in the order in which :func:`~.draw.generate` takes turns."""
