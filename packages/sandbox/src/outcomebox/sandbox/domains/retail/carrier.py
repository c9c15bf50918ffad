"""Tools of the carriers' shared portal: scans and exceptions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from outcomebox.sandbox.domains.retail._app import exception_row, server
from outcomebox.sandbox.toolserver import ToolError


@server.tool(writes=False)
def carrier_get_shipment(
    shipment_id: Annotated[str, Field(description="Such as SHP-7001; orders_get shows it.")],
) -> dict[str, Any]:
    """A shipment as the carrier sees it: status, scans from old to new, exceptions."""
    shipment = server.one("SELECT * FROM shipments WHERE shipment_id = ?", shipment_id)
    if shipment is None:
        raise ToolError(f"No shipment {shipment_id!r}. orders_get shows the shipments of an order.")
    return {
        **shipment,
        "scans": server.rows(
            "SELECT scanned_at, kind, place FROM carrier_scans "
            "WHERE shipment_id = ? ORDER BY scanned_at, scan_id",
            shipment_id,
        ),
        "exceptions": server.rows(
            "SELECT exception_id, code, status, opened_at, closed_at, resolution "
            "FROM carrier_exceptions WHERE shipment_id = ? ORDER BY opened_at, exception_id",
            shipment_id,
        ),
    }


@server.tool(writes=True)
def carrier_close_exception(
    exception_id: Annotated[str, Field(description="Such as EXC-4001.")],
    resolution: Literal[
        "moving", "delivered", "address_confirmed", "declared_lost", "returned_to_sender"
    ],
) -> dict[str, Any]:
    """Close an open carrier exception. Cannot be opened again; does not touch any ticket."""
    row = exception_row(exception_id)
    if row["status"] == "closed":
        raise ToolError(
            f"{exception_id} was closed at {row['closed_at']} as {row['resolution']} already."
        )
    server.execute(
        "UPDATE carrier_exceptions SET status = 'closed', closed_at = ?, resolution = ? "
        "WHERE exception_id = ?",
        server.now_text,
        resolution,
        exception_id,
    )
    return exception_row(exception_id)
