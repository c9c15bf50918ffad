"""The tool server that all tools of the domain register with, and what several of them look up."""

from __future__ import annotations

from typing import Any

from outcomebox.sandbox.toolserver import ToolError, ToolServer

server = ToolServer(
    "retail",
    instructions=(
        "Service desk of an online shop. crm_* is the customer system, orders_* the order system, "
        "carrier_* the carriers' shared portal, desk_* the ticket desk. Amounts are euro cents, "
        "moments are UTC."
    ),
)


def customer_row(customer_id: str) -> dict[str, Any]:
    """The customer's record.

    Raises:
        ToolError: There is no such customer.
    """
    row = server.one("SELECT * FROM customers WHERE customer_id = ?", customer_id)
    if row is None:
        raise ToolError(
            f"No customer {customer_id!r}. crm_find_customers finds the id by e-mail or name."
        )
    return row


def order_row(order_id: str) -> dict[str, Any]:
    """The order's own row, without its items.

    Raises:
        ToolError: There is no such order.
    """
    row = server.one("SELECT * FROM orders WHERE order_id = ?", order_id)
    if row is None:
        raise ToolError(f"No order {order_id!r}. orders_list shows the orders of a customer.")
    return row


def item_row(item_id: str) -> dict[str, Any]:
    """The order line's row.

    Raises:
        ToolError: There is no such order line.
    """
    row = server.one("SELECT * FROM order_items WHERE item_id = ?", item_id)
    if row is None:
        raise ToolError(f"No order line {item_id!r}. orders_get shows the items of an order.")
    return row


def ticket_row(ticket_id: str) -> dict[str, Any]:
    """The ticket's row, without its notes.

    Raises:
        ToolError: There is no such ticket.
    """
    row = server.one("SELECT * FROM tickets WHERE ticket_id = ?", ticket_id)
    if row is None:
        raise ToolError(f"No ticket {ticket_id!r}. desk_list_tickets shows those of a customer.")
    return row


def exception_row(exception_id: str) -> dict[str, Any]:
    """The carrier exception's row, with the id of the order it concerns.

    Raises:
        ToolError: There is no such exception.
    """
    row = server.one(
        "SELECT e.*, s.order_id FROM carrier_exceptions e JOIN shipments s USING (shipment_id) "
        "WHERE e.exception_id = ?",
        exception_id,
    )
    if row is None:
        raise ToolError(
            f"No exception {exception_id!r}. carrier_get_shipment shows those of a shipment."
        )
    return row


def total(sql: str, *parameters: object) -> int:
    """What a query of one aggregate named ``total`` gives; 0 where it sums up nothing."""
    return server.rows(sql, *parameters)[0]["total"] or 0


def required(text: str, name: str) -> str:
    """The text without white space around it.

    Raises:
        ToolError: Nothing is left.
    """
    text = text.strip()
    if not text:
        raise ToolError(f"{name} is empty; give a text.")
    return text
