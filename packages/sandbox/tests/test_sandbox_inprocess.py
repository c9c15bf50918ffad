"""Sessions inside the caller's process: the same answers and states as forked ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from outcomebox.sandbox import (
    Domain,
    InputError,
    Sandbox,
    ServerDied,
    SessionOpenError,
    domain_image,
    find_domain,
    load_domain,
    open_session,
    sandbox,
    start_domains,
)
from server_kinds import kind
from shelf_domain import FOLDER

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


def in_mode(domain: Domain, mode: str) -> Domain:
    """A domain whose sessions come to be another way."""
    server = domain.settings.server.model_copy(update={"mode": mode})
    return replace(domain, settings=domain.settings.model_copy(update={"server": server}))


SHELF = {mode: in_mode(load_domain(FOLDER), mode) for mode in ("fork", "inprocess", "process")}


@pytest.fixture(scope="module")
async def box() -> AsyncIterator[Sandbox]:
    """A sandbox with the shelf domain started in all modes."""
    async with sandbox() as box:
        await start_domains(box, list(SHELF.values()))
        yield box


async def told(box: Sandbox, mode: str, calls: list[tuple[str, dict[str, Any]]]) -> Any:
    """What some calls answer, and the changes they leave."""
    domain = SHELF[mode]
    async with open_session(box, domain, domain_image(domain), seed=5) as session:
        assert (session.pid is None) == (mode == "inprocess")
        answers = [await session.call(tool, arguments) for tool, arguments in calls]
        state = await session.close()
    return session.tools, answers, state.changes


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("add_box", {"shelf_id": "S-1", "weight": 2}),
    ("add_box", {"shelf_id": "no such shelf", "weight": 2}),
    ("add_box", {"weight": "many"}),
    ("move_box", {"box_id": "B-none", "shelf_id": "S-1"}),
    ("half_done", {"box_id": "B-001"}),
    ("sneaky", {"box_id": "B-001"}),
    ("fly", {}),
]


@pytest.mark.parametrize("mode", ["inprocess", "process"])
async def test_all_modes_give_the_same_answers_and_state(box: Sandbox, mode: str) -> None:
    assert await told(box, mode, CALLS) == await told(box, "fork", CALLS)
    assert domain_hashes() == {SHELF["fork"].hash}


def domain_hashes() -> set[str]:
    """Hashes of the domain in all modes: how a session comes to be is no part of it."""
    return {domain.hash for domain in SHELF.values()}


async def test_sessions_in_one_process_stay_apart(box: Sandbox) -> None:
    domain = SHELF["inprocess"]
    found: dict[int, Any] = {}

    async def one(number: int) -> None:
        async with open_session(box, domain, domain_image(domain), seed=number) as session:
            for _ in range(3):
                await session.call("add_box", {"shelf_id": "S-1", "weight": number + 1})
                await anyio.lowlevel.checkpoint()
            state = await session.close()
            found[number] = [(change.new or {})["weight"] for change in state.changes]

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(one, number)
    assert found == {number: [number + 1] * 3 for number in range(12)}


async def test_a_broken_backend_is_no_answer_of_a_tool(box: Sandbox) -> None:
    domain = SHELF["inprocess"]
    async with open_session(box, domain, domain_image(domain), seed=1) as session:
        session.database.write_bytes(b"\0" * session.database.stat().st_size)
        with pytest.raises(ServerDied):
            await session.call("add_box", {"shelf_id": "S-1", "weight": 1})
    with pytest.raises(SessionOpenError, match="cannot start"):
        async with open_session(
            box, domain, domain_image(domain), seed=1, env={"OUTCOMEBOX_NOW": "noon"}
        ):
            pass
    async with open_session(box, domain, domain_image(domain), seed=1) as session:
        assert not (await session.call("add_box", {"shelf_id": "S-1", "weight": 1})).is_error


async def test_only_servers_of_our_own_live_inside(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("server = object()\n")
    async with sandbox() as box:
        for spec in (
            kind("ledger", mode="inprocess"),
            kind("ledger", mode="inprocess").model_copy(update={"command": ("node", "x.js")}),
        ):
            await box.start(spec)
            with pytest.raises(InputError, match="mode inprocess is for"):
                async with box.connect(spec, seed=1):
                    pass


@pytest.mark.parametrize("name", ["retail", "travel"])
async def test_the_bundled_domains_run_inside_too(name: str) -> None:
    domain = in_mode(find_domain(name), "inprocess")
    async with sandbox() as box:
        await start_domains(box, [domain])
        async with open_session(box, domain, domain_image(domain), seed=1) as session:
            assert len(session.tools) >= 12
            assert (await session.close()).changes == ()
