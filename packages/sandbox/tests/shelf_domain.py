"""The shelf domain of these tests: where it lies, and sessions of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from outcomebox.sandbox import (
    Sandbox,
    Session,
    domain_image,
    load_domain,
    open_session,
    sandbox,
    start_domains,
)

FOLDER = Path(__file__).parent / "domains" / "shelf"


@asynccontextmanager
async def shelf_box() -> AsyncIterator[Sandbox]:
    """A sandbox with the shelf domain started."""
    async with sandbox() as box:
        await start_domains(box, [load_domain(FOLDER)])
        yield box


@asynccontextmanager
async def shelf_session(box: Sandbox, *, seed: int = 1) -> AsyncIterator[Session]:
    """A session on the untouched seed."""
    domain = load_domain(FOLDER)
    async with open_session(box, domain, domain_image(domain), seed=seed) as session:
        yield session
