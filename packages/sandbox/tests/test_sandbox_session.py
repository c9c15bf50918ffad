"""Sessions: isolation, deadlines, dead servers, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from outcomebox.sandbox import (
    Sandbox,
    ServerDied,
    SessionOpenError,
    StateUnreadable,
    ToolDeadline,
    domain_image,
    load_domain,
    open_session,
    sandbox,
    start_domains,
)
from process_states import alive
from shelf_domain import FOLDER, shelf_box, shelf_session

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def box() -> AsyncIterator[Sandbox]:
    """One sandbox for the tests that do not look at its end."""
    async with shelf_box() as box:
        yield box


async def test_a_session_writes_its_own_database_and_the_changes_are_read_back(
    box: Sandbox,
) -> None:
    async with shelf_session(box, seed=77) as session:
        result = await session.call("add_box", {"shelf_id": "S-1", "weight": 2})
        assert json.loads(result.text) == {
            "box_id": "B-010",
            "at": "2026-01-05T10:00:00Z",
            "seed": 77,
        }
        state = await session.close()
    assert [(c.op, c.table, c.key) for c in state.changes] == [
        ("insert", "boxes", {"box_id": "B-010"})
    ]
    async with shelf_session(box) as session:
        assert (await session.close()).changes == ()


async def test_what_has_changed_can_be_read_while_the_session_lives(box: Sandbox) -> None:
    async with shelf_session(box) as session:
        assert (await session.so_far()).changes == ()
        for shelf in ("S-2", "S-1"):
            await session.call("move_box", {"box_id": "B-008", "shelf_id": shelf})
        await session.call("move_box", {"box_id": "B-008", "shelf_id": "S-2"})
        looked = await session.so_far()
        assert [(change.table, change.calls) for change in looked.changes] == [("boxes", (0, 1, 2))]
        state = await session.close()
    assert state.changes == looked.changes


async def test_what_a_tool_refuses_is_rolled_back_and_shown_as_an_error(box: Sandbox) -> None:
    async with shelf_session(box) as session:
        for tool, arguments, words in (
            ("half_done", {"box_id": "B-008"}, "changed my mind"),
            ("get_box", {"box_id": "B-1"}, "There is no box 'B-1'."),
            ("get_box", {}, "Field required"),
            ("add_box", {"shelf_id": "S-9", "weight": 1}, "FOREIGN KEY constraint failed"),
            ("add_box", {"shelf_id": "S-1", "weight": 0}, "CHECK constraint failed"),
            ("add_box", {"shelf_id": "S-1", "weight": "heavy"}, "valid integer"),
            ("sneaky", {"box_id": "B-008"}, "sneaky"),
            ("no_such_tool", {}, "no_such_tool"),
        ):
            result = await session.call(tool, arguments)
            assert result.is_error, tool
            assert words in result.text
        assert (await session.close()).changes == ()


async def test_tools_say_whether_they_write_and_what_they_take(box: Sandbox) -> None:
    async with shelf_session(box) as session:
        tools = {tool.name: tool for tool in session.tools}
    assert tools["move_box"].writes
    assert not tools["get_box"].writes
    function = tools["get_box"].openai()["function"]
    assert function["description"] == "Look a box up."
    assert function["parameters"]["properties"]["box_id"]["description"] == "Such as B-008."


async def test_a_hung_tool_passes_its_deadline_and_harms_no_other_session(box: Sandbox) -> None:
    async with shelf_session(box) as other, shelf_session(box) as session:
        with pytest.raises(ToolDeadline, match=r"tool hang gave no answer within 0\.3 s"):
            await session.call("hang", {}, deadline_s=0.3)
        assert not (await other.call("get_box", {"box_id": "B-008"})).is_error
        await session.close()
        assert not alive(session.pid)
        assert alive(other.pid)


@pytest.mark.parametrize("how", ["die", "kill"])
async def test_a_dead_server_is_named_with_its_last_words(box: Sandbox, how: str) -> None:
    async with shelf_session(box) as other, shelf_session(box) as session:
        if how == "kill":
            assert session.pid is not None
            os.kill(session.pid, signal.SIGKILL)
            expected = "was killed by signal 9 in tool die"
        else:
            expected = "ended with status 3 in tool die: last words"
        with pytest.raises(ServerDied, match=expected):
            await session.call("die", {})
        assert not (await other.call("get_box", {"box_id": "B-008"})).is_error


@pytest.mark.parametrize(("tool", "words"), [("vanish", "no database file"), ("spoil", "database")])
async def test_a_lost_or_broken_database_is_no_state(box: Sandbox, tool: str, words: str) -> None:
    async with shelf_session(box) as session:
        await session.call(tool, {})
        with pytest.raises(StateUnreadable, match=words) as caught:
            await session.close()
        assert str(box.root) not in str(caught.value)


async def test_prints_of_a_server_and_long_answers_do_no_harm(box: Sandbox) -> None:
    async with shelf_session(box) as session:
        result = await session.call("chatter", {"size": 3_000_000})
        assert len(json.loads(result.text)["text"]) == 3_000_000


async def test_a_session_sees_no_secret_and_no_file_of_another(
    box: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    async with shelf_session(box), shelf_session(box) as session:
        seen = json.loads((await session.call("peek", {})).text)
    assert "OPENAI_API_KEY" not in seen["env"]
    assert seen["cwd"] == ["database.sqlite", "stderr.txt"]
    # stdio, standard error, the database, the listing itself, and the event loop's own
    assert seen["files"] <= 14


async def test_a_missing_database_file_stops_the_start(box: Sandbox) -> None:
    domain = load_domain(FOLDER)
    with pytest.raises(SessionOpenError, match=r"status 74 .* cannot start") as caught:
        async with open_session(
            box, domain, domain_image(domain), seed=1, env={"OUTCOMEBOX_DATABASE": "gone.sqlite"}
        ):
            pass
    assert caught.value.phase == "open"


async def test_a_server_that_does_not_start_is_refused(tmp_path: Path) -> None:
    for source, words in (
        ("import no_such_module_here\n", "no_such_module_here"),
        ("server = 3\n", "ended with status 0 while it started"),
        ("import sys; sys.exit('not today')\n", "not today"),
    ):
        folder = tmp_path / str(len(words))
        folder.mkdir()
        for name in ("domain.yaml", "schema.sql", "seed.sql", "policy.md"):
            (folder / name).write_text((FOLDER / name).read_text())
        (folder / "server.py").write_text(source)
        async with sandbox() as box:
            with pytest.raises(SessionOpenError, match=words):
                await start_domains(box, [load_domain(folder)])


async def test_many_interleaved_sessions_stay_apart_and_leave_nothing() -> None:
    pids: list[int] = []
    parents: set[int] = set()
    found: dict[int, Any] = {}
    async with shelf_box() as box:
        root = box.root

        async def one(number: int) -> None:
            async with limit, shelf_session(box, seed=number) as session:
                assert session.pid is not None
                pids.append(session.pid)
                for step in range(3):
                    await session.call(
                        "add_box", {"shelf_id": "S-1", "weight": number + 1, "note": f"{step}"}
                    )
                state = await session.close()
                found[number] = [dict(change.new or {}) for change in state.changes]

        limit = anyio.Semaphore(8)
        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(one, number)
        parents.update(box.supervisors)
    for number, rows in found.items():
        assert [row["weight"] for row in rows] == [number + 1] * 3
        assert [row["box_id"] for row in rows] == ["B-010", "B-011", "B-012"]
    assert len(found) == 60
    assert not root.exists()
    assert not [pid for pid in [*pids, *parents] if alive(pid)]


async def test_a_body_that_raises_gets_its_own_error_back_and_the_session_ends(
    box: Sandbox,
) -> None:
    pids = []

    async def body() -> None:
        async with shelf_session(box) as session:
            assert session.pid is not None
            pids.append(session.pid)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await body()
    assert not alive(pids[0])


_KILLED = """
import sys
import anyio
sys.path[:0] = {path!r}
from shelf_domain import shelf_box, shelf_session

async def main():
    async with shelf_box() as box, shelf_session(box) as session:
        print(session.pid, *box.supervisors, box.root, flush=True)
        await anyio.sleep(60)

anyio.run(main)
"""


def test_a_killed_runner_leaves_no_process_and_no_file() -> None:
    code = _KILLED.format(path=[str(Path(__file__).parent), *sys.path])
    runner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert runner.stdout is not None
    server, supervisor, root = runner.stdout.readline().split()
    assert alive(int(server))
    assert Path(root).exists()
    runner.kill()
    runner.wait()
    runner.stdout.close()
    deadline = time.monotonic() + 30
    while (alive(int(server)) or alive(int(supervisor)) or Path(root).exists()) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.05)
    assert not alive(int(server))
    assert not alive(int(supervisor))
    assert not any(Path(root).rglob("*"))
