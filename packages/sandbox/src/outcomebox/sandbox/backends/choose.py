"""A backend by what a setting or a flag says: ``sqlite``, or the address of a PostgreSQL server."""

from __future__ import annotations

from typing import Any

from outcomebox.sandbox.backends.base import Backend
from outcomebox.sandbox.backends.sqlite import SQLITE
from outcomebox.sandbox.errors import InputError

BACKEND_VARIABLE = "OUTCOMEBOX_BACKEND"
"""The environment variable that says which backend commands use where no flag does."""


def find_backend(text: str | None) -> Backend[Any]:
    """The backend that a text names; SQLite without one.

    Args:
        text: ``sqlite``, or ``postgresql://user@host:port/database`` (or ``postgres://``).

    Raises:
        InputError: It names none, the server cannot be used, or what it takes is not installed.
            The message never repeats an address, which may hold a password.
    """
    if not text or text == SQLITE.name:
        return SQLITE
    if not text.startswith(("postgresql://", "postgres://")):
        raise InputError(
            "names no backend: write sqlite, or the address of a PostgreSQL server, "
            "postgresql://user@host:port/database",
            field="backend",
        )
    try:
        # Not at the top: psycopg is there for those who use PostgreSQL.
        from outcomebox.sandbox.backends.postgresql.backend import (  # noqa: PLC0415
            PostgresqlBackend,
        )
    except ImportError as error:
        raise InputError(
            f"PostgreSQL needs psycopg ({error}): pip install 'outcomebox-sandbox[postgresql]'",
            field="backend",
        ) from error
    return PostgresqlBackend(text)
