"""A fault while an episode is closed, read, graded or judged is a system error in its row."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from outcomebox.rollout import (
    EpisodeSetting,
    EpisodeStore,
    ScriptedUser,
    read_rows,
    run_all,
    seeder,
)
from outcomebox.rollout.stages import native as native_module
from outcomebox.sandbox import (
    Domain,
    Sandbox,
    Session,
    StateUnreadable,
    TaskSet,
    load_domain,
    sandbox,
    start_domains,
)
from scripted_policy import END, MOVE, SHELF, Says, shelf_task

pytestmark = pytest.mark.anyio

ERRORS = [
    KeyError("street"),
    AssertionError("broken"),
    RecursionError("deep"),
    MemoryError(),
    OSError("disk"),
    sqlite3.DatabaseError("malformed"),
    UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"),
    TimeoutError("late"),
    StateUnreadable("damaged"),
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
def shelf() -> Domain:
    """The shelf domain."""
    return load_domain(SHELF)


@pytest.fixture(scope="module")
async def box(shelf: Domain) -> AsyncIterator[Sandbox]:
    """A sandbox with the shelf domain started."""
    async with sandbox() as box:
        await start_domains(box, [shelf])
        yield box


def raising(error: BaseException) -> Any:
    """A function that raises."""

    def run(*_: object, **__: object) -> Any:
        raise error

    return run


def raising_later(error: BaseException) -> Any:
    """A coroutine function that raises."""

    async def run(*_: object, **__: object) -> Any:
        raise error

    return run


async def row_of(box: Sandbox, shelf: Domain, folder: Path, **task: Any) -> dict[str, Any]:
    """The row of a right episode."""
    tasks = TaskSet((shelf_task(**task),), {"shelf": shelf})
    setting = EpisodeSetting(
        sandbox=box, policy=Says(MOVE, END), user=ScriptedUser(), seed_of=seeder(0)
    )
    path = folder / "rows.jsonl"
    with EpisodeStore(path) as store:
        await run_all(setting, tasks, store, attempts=1, concurrency=1, tries=1)
    (row,) = read_rows(path)
    return dict(row)


def assert_no_verdict(row: dict[str, Any], error: BaseException) -> None:
    """A row that counts nowhere, and says what broke."""
    assert row["verdict"]["outcome"] == "system_error"
    assert row["verdict"]["score"] is None
    assert row["verdict"]["reasons"] == []
    assert row["error"]["type"] == type(error).__name__


async def test_without_a_fault_it_passes(box: Sandbox, shelf: Domain, tmp_path: Path) -> None:
    row = await row_of(box, shelf, tmp_path)
    assert (row["verdict"]["outcome"], row["error"]) == ("passed", None)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_a_fault_in_closing(
    box: Sandbox,
    shelf: Domain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    monkeypatch.setattr(Session, "close", raising_later(error))
    assert_no_verdict(await row_of(box, shelf, tmp_path), error)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_a_fault_in_grading(
    box: Sandbox,
    shelf: Domain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    monkeypatch.setattr(native_module, "grade", raising(error))
    assert_no_verdict(await row_of(box, shelf, tmp_path), error)


@pytest.mark.parametrize("error", ERRORS[:4], ids=lambda error: type(error).__name__)
async def test_a_fault_around_grading(
    box: Sandbox,
    shelf: Domain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    for name in ("judged", "verdict_of", "open_session"):
        with monkeypatch.context() as patch:
            patch.setattr(native_module, name, raising(error))
            folder = tmp_path / name
            folder.mkdir()
            assert_no_verdict(await row_of(box, shelf, folder), error)
