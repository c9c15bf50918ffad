"""The tool server of the vault domain: runs what it is told."""

from __future__ import annotations

import time
from typing import Any

from outcomebox.sandbox.toolserver import DATABASE_VARIABLE, ToolServer

server = ToolServer("vault")


@server.tool(writes=True)
def write(statements: list[str]) -> dict[str, Any]:
    """Run statements in one transaction."""
    return {"touched": [server.execute(statement) for statement in statements]}


@server.tool(writes=False)
def read(query: str, parameters: list[Any] | None = None) -> list[dict[str, Any]]:
    """Run a query."""
    return server.rows(query, *(parameters or []))


@server.tool(writes=True)
def write_and_hang(statement: str) -> dict[str, Any]:
    """Run a statement, and never end the transaction."""
    server.execute(statement)
    while True:
        time.sleep(3600)


@server.tool(writes=True)
def commit_and_hang(statement: str) -> dict[str, Any]:
    """Run a statement, commit it, begin another transaction and never end it."""
    server.execute(statement)
    server.db.execute("COMMIT")
    server.db.execute("BEGIN")
    server.execute(statement)
    while True:
        time.sleep(3600)


@server.tool(writes=True)
def elsewhere(statement: str) -> dict[str, Any]:
    """Run a statement on another connection, which stays open."""
    import os

    import psycopg

    global other
    other = psycopg.connect(os.environ[DATABASE_VARIABLE], autocommit=True)
    other.execute(statement)
    other.execute("BEGIN")
    other.execute("SELECT 1")
    return {}


other: Any = None

if __name__ == "__main__":
    server.run()
