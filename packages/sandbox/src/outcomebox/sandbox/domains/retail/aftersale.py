"""Tools of the order system for goods and money that come back: returns and refunds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from outcomebox.sandbox.domains.retail._app import item_row, order_row, server, total
from outcomebox.sandbox.toolserver import ToolError


@server.tool(writes=True)
def orders_create_return(
    item_id: Annotated[str, Field(description="The order line, such as ITM-6001.")],
    quantity: Annotated[int, Field(description="Units that go back.")],
    reason: Literal["unwanted", "size", "faulty", "damaged", "wrong_item"],
    resolution: Annotated[
        Literal["refund", "exchange"], Field(description="What the customer wants for the goods.")
    ],
    exchange_product_id: Annotated[
        str | None, Field(description="For an exchange: the product that is sent instead.")
    ] = None,
) -> dict[str, Any]:
    """Register a return of goods and send the customer a label. Pays nothing out.

    For an exchange the other product is reserved (its stock goes down).
    """
    item = item_row(item_id)
    order = order_row(item["order_id"])
    if order["status"] not in ("shipped", "delivered"):
        raise ToolError(f"{order['order_id']} is {order['status']}: there is nothing to send back.")
    taken = total("SELECT sum(quantity) AS total FROM returns WHERE item_id = ?", item_id)
    if not 0 < quantity <= item["quantity"] - taken:
        raise ToolError(
            f"quantity is {quantity}; {item_id} has {item['quantity']} units, of which "
            f"{taken} are in returns already (see orders_get)."
        )
    _reserve(resolution, exchange_product_id, quantity)
    row = {
        "return_id": server.next_id("returns", "return_id", "RET-"),
        "item_id": item_id,
        "quantity": quantity,
        "reason": reason,
        "resolution": resolution,
        "exchange_product_id": exchange_product_id,
        "status": "requested",
        "requested_at": server.now_text,
        "received_at": None,
    }
    server.execute("INSERT INTO returns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *row.values())
    return row


def _reserve(resolution: str, product_id: str | None, quantity: int) -> None:
    if (resolution == "exchange") != (product_id is not None):
        raise ToolError("Give exchange_product_id with resolution 'exchange', and only then.")
    if product_id is None:
        return
    product = server.one("SELECT * FROM products WHERE product_id = ?", product_id)
    if product is None:
        raise ToolError(f"No product {product_id!r}. orders_search_products finds products.")
    if product["stock"] < quantity:
        raise ToolError(f"{product_id} has only {product['stock']} units in stock.")
    server.execute(
        "UPDATE products SET stock = stock - ? WHERE product_id = ?", quantity, product_id
    )


@server.tool(writes=True)
def orders_create_refund(
    payment_id: Annotated[str, Field(description="The payment that the money goes back to.")],
    amount_cents: Annotated[int, Field(description="Euro cents, above 0.")],
    reason: Literal["return", "keep_it", "lost", "damaged", "cancellation", "price_drop"],
    item_id: Annotated[
        str | None, Field(description="The order line it is for; leave out with return_id.")
    ] = None,
    return_id: Annotated[
        str | None, Field(description="The received return it is for, only with reason 'return'.")
    ] = None,
) -> dict[str, Any]:
    """Pay money of a captured payment back. Cannot be taken back.

    A return that is paid out becomes `refunded`.
    """
    payment = server.one("SELECT * FROM payments WHERE payment_id = ?", payment_id)
    if payment is None:
        raise ToolError(f"No payment {payment_id!r}. orders_get shows the payments of an order.")
    if payment["status"] != "captured":
        raise ToolError(f"{payment_id} is {payment['status']}: only captured money can go back.")
    if (reason == "return") != (return_id is not None):
        raise ToolError("Give return_id with reason 'return', and only then.")
    if return_id is not None:
        if item_id is not None:
            raise ToolError("Leave item_id out: the return names its order line itself.")
        item_id = _settle(return_id)
    if item_id is not None and item_row(item_id)["order_id"] != payment["order_id"]:
        raise ToolError(
            f"{payment_id} belongs to {payment['order_id']}, but {item_id} is of another order."
        )
    _check_amount(amount_cents, payment, item_id)
    row = {
        "refund_id": server.next_id("refunds", "refund_id", "RFD-"),
        "payment_id": payment_id,
        "item_id": item_id,
        "return_id": return_id,
        "amount_cents": amount_cents,
        "reason": reason,
        "created_at": server.now_text,
    }
    server.execute("INSERT INTO refunds VALUES (?, ?, ?, ?, ?, ?, ?)", *row.values())
    return row


def _settle(return_id: str) -> str:
    """Mark a received return as paid out; the id of its order line."""
    row = server.one("SELECT * FROM returns WHERE return_id = ?", return_id)
    if row is None:
        raise ToolError(f"No return {return_id!r}. orders_get shows the returns of an order.")
    # A second refund of the same return is the other half of one that two payments share.
    if row["status"] not in ("received", "refunded"):
        raise ToolError(f"{return_id} is {row['status']}: only received goods can be paid out.")
    server.execute("UPDATE returns SET status = 'refunded' WHERE return_id = ?", return_id)
    return str(row["item_id"])


def _check_amount(amount: int, payment: dict[str, Any], item_id: str | None) -> None:
    limits = [
        (
            f"what is left of {payment['payment_id']}",
            payment["amount_cents"],
            total(
                "SELECT sum(amount_cents) AS total FROM refunds WHERE payment_id = ?",
                payment["payment_id"],
            ),
        )
    ]
    if item_id is not None:
        item = item_row(item_id)
        limits.append(
            (
                f"what is left of the price of {item_id}",
                item["quantity"] * item["unit_price_cents"],
                total("SELECT sum(amount_cents) AS total FROM refunds WHERE item_id = ?", item_id),
            )
        )
    for name, whole, refunded in limits:
        left = whole - refunded
        if not 0 < amount <= left:
            raise ToolError(
                f"amount_cents is {amount}; it must be above 0 and at most {left}, {name}."
            )
