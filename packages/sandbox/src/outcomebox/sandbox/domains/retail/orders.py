"""Tools of the order system: orders, the catalogue, cancellation and delivery address."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from outcomebox.sandbox.domains.retail._app import customer_row, order_row, required, server
from outcomebox.sandbox.toolserver import ToolError


@server.tool(writes=False)
def orders_list(
    customer_id: Annotated[str, Field(description="Such as CUS-1001.")],
) -> dict[str, Any]:
    """All orders of a customer, newest first, each with what was bought."""
    customer_row(customer_id)
    orders = server.rows(
        "SELECT order_id, status, placed_at, shipping_method, total_cents FROM orders "
        "WHERE customer_id = ? ORDER BY placed_at DESC, order_id",
        customer_id,
    )
    for order in orders:
        order["items"] = server.rows(
            "SELECT i.item_id, p.name, p.variant, i.quantity "
            "FROM order_items i JOIN products p USING (product_id) "
            "WHERE i.order_id = ? ORDER BY i.item_id",
            order["order_id"],
        )
    return {"orders": orders}


@server.tool(writes=False)
def orders_get(
    order_id: Annotated[str, Field(description="Such as ORD-5001.")],
) -> dict[str, Any]:
    """One order in full: address, items, payments, shipments, returns, refunds and credits.

    A shipment's scans and exceptions are in the carrier portal: carrier_get_shipment.
    """
    order = order_row(order_id)
    address_id = order.pop("address_id")
    return {
        **order,
        "address": server.one(
            "SELECT address_id, street, postcode, city, country FROM addresses "
            "WHERE address_id = ?",
            address_id,
        ),
        "items": server.rows(
            "SELECT i.item_id, i.product_id, p.name, p.variant, p.final_sale, i.quantity, "
            "i.unit_price_cents, i.shipment_id "
            "FROM order_items i JOIN products p USING (product_id) "
            "WHERE i.order_id = ? ORDER BY i.item_id",
            order_id,
        ),
        "payments": server.rows(
            "SELECT payment_id, method, amount_cents, status, coalesce((SELECT sum(amount_cents) "
            "FROM refunds r WHERE r.payment_id = p.payment_id), 0) AS refunded_cents "
            "FROM payments p WHERE order_id = ? ORDER BY payment_id",
            order_id,
        ),
        "shipments": server.rows(
            "SELECT shipment_id, carrier, tracking_number, status, shipped_at, promised_at, "
            "delivered_at FROM shipments WHERE order_id = ? ORDER BY shipment_id",
            order_id,
        ),
        "returns": server.rows(
            "SELECT r.* FROM returns r JOIN order_items i USING (item_id) "
            "WHERE i.order_id = ? ORDER BY r.return_id",
            order_id,
        ),
        "refunds": server.rows(
            "SELECT r.* FROM refunds r JOIN payments p USING (payment_id) "
            "WHERE p.order_id = ? ORDER BY r.refund_id",
            order_id,
        ),
        "store_credits": server.rows(
            "SELECT credit_id, amount_cents, reason, issued_at FROM store_credits "
            "WHERE order_id = ? ORDER BY credit_id",
            order_id,
        ),
    }


@server.tool(writes=False)
def orders_search_products(
    text: Annotated[str, Field(description="A product id, or words of the name or variant.")],
) -> dict[str, Any]:
    """Search the catalogue: today's prices, stock and final-sale marks. Every word must fit."""
    words = required(text, "text").casefold().split()
    products = server.rows("SELECT * FROM products ORDER BY product_id")
    found = [product for product in products if all(word in _text_of(product) for word in words)]
    return {"products": found}


def _text_of(product: dict[str, Any]) -> str:
    return f"{product['product_id']} {product['name']} {product['variant']}".casefold()


@server.tool(writes=True)
def orders_cancel(
    order_id: Annotated[str, Field(description="The order to cancel as a whole.")],
) -> dict[str, Any]:
    """Cancel an order that has not left the warehouse, on the customer's request.

    Puts the goods back into stock and voids authorised payments. Captured payments are not
    refunded by this: orders_create_refund does it.
    """
    order = order_row(order_id)
    if order["status"] not in ("placed", "packed"):
        raise ToolError(
            f"{order_id} is {order['status']}; only placed or packed orders can be cancelled."
        )
    server.execute(
        "UPDATE orders SET status = 'cancelled', cancelled_at = ?, "
        "cancel_reason = 'customer_request' WHERE order_id = ?",
        server.now_text,
        order_id,
    )
    server.execute(
        "UPDATE products SET stock = stock + (SELECT sum(quantity) FROM order_items i "
        "WHERE i.order_id = ?1 AND i.product_id = products.product_id) "
        "WHERE product_id IN (SELECT product_id FROM order_items WHERE order_id = ?1)",
        order_id,
    )
    server.execute(
        "UPDATE payments SET status = 'voided' WHERE order_id = ? AND status = 'authorised'",
        order_id,
    )
    return orders_get(order_id)


@server.tool(writes=True)
def orders_change_address(
    order_id: str,
    address_id: Annotated[str, Field(description="An entry of the customer's address book.")],
) -> dict[str, Any]:
    """Set the delivery address of an order that has not left the warehouse."""
    order = order_row(order_id)
    if order["status"] not in ("placed", "packed"):
        raise ToolError(
            f"{order_id} is {order['status']}; the address can only change while an order is "
            "placed or packed."
        )
    found = server.one(
        "SELECT address_id FROM addresses WHERE address_id = ? AND customer_id = ?",
        address_id,
        order["customer_id"],
    )
    if found is None:
        raise ToolError(
            f"No address {address_id!r} in the address book of {order['customer_id']}. "
            "crm_get_customer shows the entries, crm_add_address adds one."
        )
    server.execute("UPDATE orders SET address_id = ? WHERE order_id = ?", address_id, order_id)
    return orders_get(order_id)
