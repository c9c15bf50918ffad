"""Tools of the customer system: records, address books, store credit."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from outcomebox.sandbox.domains.retail._app import customer_row, order_row, required, server
from outcomebox.sandbox.toolserver import ToolError


@server.tool(writes=False)
def crm_find_customers(
    email: Annotated[str | None, Field(description="The whole e-mail address.")] = None,
    name: Annotated[str | None, Field(description="The name or a part of it.")] = None,
) -> dict[str, Any]:
    """Find customer records by e-mail address, by name, or by both at once.

    Names are not unique, e-mail addresses are. An empty list means that nobody fits.
    """
    if email is None and name is None:
        raise ToolError("Give email, name or both.")
    # Compared here, because SQLite folds the case of ASCII letters only.
    found = [
        row
        for row in server.rows("SELECT * FROM customers ORDER BY customer_id")
        if (email is None or row["email"] == required(email, "email").casefold())
        and (name is None or required(name, "name").casefold() in row["name"].casefold())
    ]
    return {"customers": found}


@server.tool(writes=False)
def crm_get_customer(
    customer_id: Annotated[str, Field(description="Such as CUS-1001.")],
) -> dict[str, Any]:
    """A customer's record with the address book and all store credits."""
    return {
        **customer_row(customer_id),
        "addresses": server.rows(
            "SELECT address_id, street, postcode, city, country FROM addresses "
            "WHERE customer_id = ? ORDER BY address_id",
            customer_id,
        ),
        "store_credits": server.rows(
            "SELECT credit_id, order_id, amount_cents, reason, issued_at FROM store_credits "
            "WHERE customer_id = ? ORDER BY credit_id",
            customer_id,
        ),
    }


@server.tool(writes=True)
def crm_add_address(
    customer_id: Annotated[str, Field(description="Whose address book.")],
    street: Annotated[str, Field(description="Street and house number.")],
    postcode: str,
    city: str,
    country: Literal["AT", "BE", "DE", "FR", "IE", "NL"],
) -> dict[str, Any]:
    """Add an entry to a customer's address book. Does not change any order.

    Returns the new entry; orders_change_address puts it on an order.
    """
    customer_row(customer_id)
    row = {
        "address_id": server.next_id("addresses", "address_id", "ADR-"),
        "customer_id": customer_id,
        "street": required(street, "street"),
        "postcode": required(postcode, "postcode"),
        "city": required(city, "city"),
        "country": country,
    }
    server.execute("INSERT INTO addresses VALUES (?, ?, ?, ?, ?, ?)", *row.values())
    return row


@server.tool(writes=True)
def crm_issue_credit(
    order_id: Annotated[str, Field(description="The order that the credit is for.")],
    amount_cents: Annotated[int, Field(description="Euro cents, above 0.")],
    reason: Literal["late_delivery", "goodwill"],
) -> dict[str, Any]:
    """Give the customer of an order store credit. Cannot be taken back."""
    order = order_row(order_id)
    if not 0 < amount_cents <= order["total_cents"]:
        raise ToolError(
            f"amount_cents is {amount_cents}; a credit for {order_id} lies between 1 and the "
            f"order's total of {order['total_cents']}."
        )
    row = {
        "credit_id": server.next_id("store_credits", "credit_id", "CRD-"),
        "customer_id": order["customer_id"],
        "order_id": order_id,
        "amount_cents": amount_cents,
        "reason": reason,
        "issued_at": server.now_text,
    }
    server.execute("INSERT INTO store_credits VALUES (?, ?, ?, ?, ?, ?)", *row.values())
    return row
