"""The PostgreSQL server of these tests, and sessions of the vault domain on it.

It is the one that ``OUTCOMEBOX_BACKEND`` names; ``python3 -m tools.postgresql run -- COMMAND``
starts one for a command. Without one the tests are skipped, and say so.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from outcomebox.sandbox import (
    BACKEND_VARIABLE,
    Domain,
    Sandbox,
    Session,
    find_backend,
    load_domain,
    open_session,
    sandbox,
    start_domains,
)
from outcomebox.sandbox.backends.postgresql.backend import PostgresqlBackend

DSN = os.environ.get(BACKEND_VARIABLE, "")

needed = pytest.mark.skipif(
    not DSN.startswith(("postgresql://", "postgres://")),
    reason=f"no PostgreSQL: set {BACKEND_VARIABLE}, or run this with "
    "`python3 -m tools.postgresql run -- ...`",
)
"""Marks tests that need the server."""

VAULT = Path(__file__).parent / "domains" / "vault"


@cache
def shared() -> PostgresqlBackend:
    """One backend for all tests of a process; it is closed when the process ends."""
    backend = find_backend(DSN)
    assert isinstance(backend, PostgresqlBackend)
    return backend


@cache
def vault(*, full: bool = False, mode: str = "inprocess") -> Domain:
    """The vault domain, with changes found by the log or by comparing all rows."""
    domain = load_domain(VAULT)
    server = domain.settings.server.model_copy(update={"mode": mode})
    changed = {"changes": "full" if full else "log", "server": server}
    return replace(domain, settings=domain.settings.model_copy(update=changed))


@asynccontextmanager
async def vault_box(domain: Domain | None = None) -> AsyncIterator[Sandbox]:
    """A sandbox with the vault's server started."""
    async with sandbox() as box:
        await start_domains(box, [domain or vault()], backend=shared())
        yield box


@asynccontextmanager
async def vault_session(box: Sandbox, domain: Domain | None = None) -> AsyncIterator[Session]:
    """A session on the untouched seed."""
    used = domain or vault()
    image = shared().domain_image(used)
    async with open_session(box, used, image, seed=1) as session:
        yield session


def in_background(work: Callable[[], None]) -> threading.Thread:
    """Start a thread that does not keep the process alive."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
