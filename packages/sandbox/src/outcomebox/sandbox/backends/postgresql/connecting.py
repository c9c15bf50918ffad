"""Connections to a PostgreSQL server, and the address under which a tool server finds its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import adapt, conninfo

from outcomebox.sandbox.backends.postgresql.adapt import SETTINGS
from outcomebox.sandbox.errors import InputError

SCHEME = "postgresql://"
# What says how the server is reached, and nothing of who connects.
_ROAD = (
    *("host", "hostaddr", "port", "sslmode", "sslrootcert", "sslcrl", "sslsni", "channel_binding"),
    *("gssencmode", "target_session_attrs", "connect_timeout"),
)
_PATIENCE_S = 10


def connect(
    dsn: str, *, adapters: adapt.AdaptersMap | None = None, name: str = "outcomebox", **more: Any
) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection in autocommit, with the settings that a value's text depends on.

    Args:
        dsn: Where.
        adapters: How values are read and written; psycopg's own way without.
        name: What the server's list of connections calls it.
        more: Parameters that win over the DSN's, such as ``dbname``.

    Raises:
        psycopg.Error: There is none to be had.
    """
    given = conninfo.conninfo_to_dict(dsn)
    settings = {**SETTINGS, "jit": "off", "client_min_messages": "warning"}
    words = [f"-c {key}={value.replace(' ', chr(92) + ' ')}" for key, value in settings.items()]
    own = {
        "client_encoding": "UTF8",
        "application_name": name,
        "options": " ".join([*([str(given["options"])] if given.get("options") else []), *words]),
    }
    patience = {} if given.get("connect_timeout") else {"connect_timeout": _PATIENCE_S}
    return psycopg.connect(
        dsn, autocommit=True, **{"context": _context(adapters), **patience, **own, **more}
    )


def _context(adapters: adapt.AdaptersMap | None) -> Any:
    return None if adapters is None else _Context(adapters)


class _Context:
    """What psycopg takes adapters from; see ``psycopg.abc.AdaptContext``."""

    connection = None

    def __init__(self, adapters: adapt.AdaptersMap) -> None:
        self.adapters = adapters


def checked(dsn: str) -> dict[str, Any]:
    """The parameters of a DSN.

    Raises:
        InputError: It is none; the message does not repeat it, as it may hold a password.
    """
    try:
        return dict(conninfo.conninfo_to_dict(dsn))
    except psycopg.ProgrammingError as error:
        raise InputError(
            "is no address of a PostgreSQL server: write "
            "postgresql://user@host:port/database or postgresql:///database?host=/socket/folder",
            field="backend",
        ) from error


def address(connection: psycopg.Connection[Any], *, dbname: str, user: str, password: str) -> str:
    """What a tool server is told: the way of an open connection, with a database and a role.

    Nothing of the connection's own user goes along: no password, service or certificate.
    """
    info = connection.info
    given: Mapping[str, Any] = info.get_parameters()
    road = {key: str(given[key]) for key in _ROAD if given.get(key)}
    # As it was reached, whatever list, service or variable it came from.
    road |= {"host": info.host, "port": str(info.port)}
    parts = {**road, "dbname": dbname, "user": user, "password": password}
    query = "&".join(f"{key}={quote(value, safe='')}" for key, value in sorted(parts.items()))
    return f"{SCHEME}/?{query}"


def through_socket(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server is reached through a Unix socket, which needs no network."""
    return connection.info.host.startswith(("/", "@"))


def told(error: psycopg.Error) -> str:
    """What an error says, in one line."""
    return " ".join(str(error.diag.message_primary or error).split())
