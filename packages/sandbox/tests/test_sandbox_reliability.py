"""What goes wrong with a server ends its own session, as docs say, and nothing leaks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from outcomebox.sandbox import (
    Sandbox,
    SandboxFault,
    ServerDied,
    ServerSpec,
    SessionOpenError,
    ToolDeadline,
    sandbox,
)
from outcomebox.sandbox.clock import faketime_library
from process_states import alive, descendants
from server_kinds import ask, kind, live

pytestmark = pytest.mark.anyio

SPECS = {mode: kind("rogue", mode=mode) for mode in ("fork", "process")}
MODES = tuple(SPECS)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def box() -> AsyncIterator[Sandbox]:
    """A sandbox with the rogue server started in both modes."""
    async with sandbox() as box:
        for spec in SPECS.values():
            await box.start(spec)
        yield box


@pytest.fixture(params=MODES)
def spec(request: pytest.FixtureRequest) -> ServerSpec:
    """The rogue server in each mode."""
    found: ServerSpec = SPECS[request.param]
    return found


def open_files() -> int:
    """Descriptors that this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def settled(condition: Callable[[], bool]) -> bool:
    """Whether a condition comes true within a time that only a broken system takes."""
    with anyio.move_on_after(20):
        while not condition():  # noqa: ASYNC110 -- the condition is the kernel's
            await anyio.sleep(0.02)
    return condition()


MISBEHAVIOURS: list[tuple[str, dict[str, Any], type[SandboxFault], str]] = [
    ("hang", {}, ToolDeadline, "no answer within 0.5 s"),
    ("deaf", {}, ToolDeadline, "no answer within 0.5 s"),
    ("die", {}, ServerDied, "ended with status 3 in tool die: last words"),
    ("die", {"status": 0}, ServerDied, "ended with status 0 in tool die"),
    ("killed", {}, ServerDied, "was killed by signal|ended with status"),
    ("endless", {}, SandboxFault, "hung up but still runs|no answer within"),
]


@pytest.mark.parametrize(("tool", "arguments", "error", "words"), MISBEHAVIOURS)
async def test_a_fault_ends_its_own_session_and_no_other(
    box: Sandbox,
    spec: ServerSpec,
    *,
    tool: str,
    arguments: dict[str, Any],
    error: type[SandboxFault],
    words: str,
) -> None:
    deadline = 15.0 if error is not ToolDeadline else 0.5
    async with live(box, spec) as (other, _):
        answered: list[Any] = []

        async def go_on() -> None:
            while not broken.is_set():
                answered.append(await ask(other, "echo", text="on"))
                await anyio.sleep(0.01)

        broken = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(go_on)
            async with live(box, spec) as (connection, process):
                pid = process.pid
                with pytest.raises(error, match=words):
                    await ask(connection, tool, deadline, **arguments)
            broken.set()
        assert answered
        assert set(answered) == {"on"}
        assert await settled(lambda: pid not in descendants())


async def test_what_is_no_protocol_is_passed_over(box: Sandbox, spec: ServerSpec) -> None:
    async with live(box, spec) as (connection, _):
        assert await ask(connection, "babble", lines=50) == "said"
        assert len(await ask(connection, "long", size=10_000_000)) == 10_000_000
        assert await ask(connection, "echo", text="fine") == "fine"


async def test_a_server_that_ends_in_init_is_named(box: Sandbox, spec: ServerSpec) -> None:
    with pytest.raises(SessionOpenError, match="status 5 while it started: last words"):
        async with live(box, spec, env={"ROGUE_EXIT_IN_INIT": "1"}):
            pass


async def test_a_server_killed_from_outside_in_a_call_is_named(
    box: Sandbox, spec: ServerSpec
) -> None:
    async with live(box, spec) as (connection, process), anyio.create_task_group() as group:

        async def kill() -> None:
            await anyio.sleep(0.2)
            os.kill(process.pid, signal.SIGKILL)

        group.start_soon(kill)
        with pytest.raises(ServerDied, match="killed by signal 9 in tool hang"):
            await ask(connection, "hang")


async def test_sixty_four_at_once_and_abandoned_ones_leave_nothing(spec: ServerSpec) -> None:
    before = descendants()
    files = open_files()
    said: dict[int, Any] = {}
    async with sandbox() as box:
        root = box.root
        await box.start(spec)

        async def one(number: int) -> None:
            async with live(box, spec, seed=number) as (connection, _):
                for step in range(3):
                    await ask(connection, "echo", text=f"{number}.{step}")
                if number % 8 == 0:  # given up in mid-call, as by Ctrl-C or a time limit
                    with anyio.move_on_after(0.05):
                        await ask(connection, "hang")
                    return
                said[number] = await ask(connection, "remember")

        async with anyio.create_task_group() as group:
            for number in range(64):
                group.start_soon(one, number)
        assert [path for path in (root / "0").iterdir() if path.is_dir()] == []
        assert descendants() - before == set(box.supervisors)
    assert said == {
        number: [f"{number}.{step}" for step in range(3)] for number in range(64) if number % 8
    }
    assert not root.exists()
    assert descendants() == before
    assert open_files() == files


async def test_a_dead_supervisor_ends_its_sessions_and_is_named(spec: ServerSpec) -> None:
    async with sandbox() as box:
        await box.start(spec)
        async with live(box, spec) as (connection, process):
            pid = process.pid
            os.kill(box.supervisors[0], signal.SIGKILL)
            with pytest.raises(ServerDied):
                await ask(connection, "hang")
            assert await settled(lambda: not alive(pid))
        with pytest.raises(SessionOpenError, match="supervisor"):
            async with live(box, spec):
                pass


_CLIENT = """
import pathlib
import sys
import anyio
sys.path[:0] = {path!r}
from outcomebox.sandbox import sandbox
from server_kinds import ask, kind, live

async def main():
    spec = kind("rogue", mode={mode!r}, clock="2031-01-01T00:00:00Z")
    async with sandbox() as box:
        await box.start(spec)
        async with live(box, spec) as (connection, process):
            await ask(connection, "daemon", marker={marker!r})
            while not pathlib.Path({marker!r}).exists():
                await anyio.sleep(0.01)
            print(process.pid, *box.supervisors, box.root, flush=True)
            await ask(connection, "hang", 600)

anyio.run(main)
"""


@pytest.mark.parametrize("mode", MODES)
def test_a_client_killed_in_a_call_leaves_no_process_and_no_file(mode: str, tmp_path: Path) -> None:
    marker = tmp_path / "beat"
    path = [str(Path(__file__).parent), *sys.path]
    code = _CLIENT.format(path=path, mode=mode, marker=str(marker))
    client = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    server, supervisor, root = client.stdout.readline().split()
    assert alive(int(server))
    # Its clock's own, where it has one: other tests have theirs at the same time.
    environment = Path(f"/proc/{supervisor}/environ").read_bytes().decode().split("\0")
    clocks = [line.rpartition("/")[2] for line in environment if line.startswith("FAKETIME_SHARED")]
    assert len(clocks) == (faketime_library() is not None)
    client.kill()
    client.wait()
    client.stdout.close()
    deadline = time.monotonic() + 30

    def left() -> list[object]:
        pids = [pid for pid in (int(server), int(supervisor)) if alive(pid)]
        shared = [path for clock in clocks for path in Path("/dev/shm").glob(f"*{clock}")]  # noqa: S108
        # Not rglob, which does not bear that folders vanish while it looks.
        names = [name for _, *found in os.walk(root) for each in found for name in each]
        return [*pids, *names, *shared]

    while left() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left() == []
    # What the server had started itself, in a session of its own, is gone too.
    last = marker.read_text()
    time.sleep(0.2)
    assert marker.read_text() == last
