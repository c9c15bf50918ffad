"""Sessions of servers that nobody here has written: how they come to be, and what they may do."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from outcomebox.sandbox import Sandbox, ServerLimits, ServerSpec, SessionOpenError, sandbox
from outcomebox.sandbox.clock import faketime_library
from server_kinds import SERVERS, ask, kind, live

pytestmark = pytest.mark.anyio
MODES = ("fork", "process")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def box() -> AsyncIterator[Sandbox]:
    """A sandbox with the rogue server started in both modes."""
    async with sandbox() as box:
        for mode in MODES:
            await box.start(rogue(mode))
        yield box


def rogue(mode: str) -> ServerSpec:
    """The rogue server in a mode, with limits that a test can reach."""
    limits = ServerLimits(memory_mb=128, open_files=64)
    return kind("rogue", "--flag", "a value", mode=mode, limits=limits)


@pytest.mark.parametrize("mode", MODES)
async def test_a_session_is_what_a_fresh_start_would_be(box: Sandbox, mode: str) -> None:
    spec = rogue(mode)
    assert box.isolation(spec).mode == mode
    async with live(box, spec, env={"GREETING": "hello {folder}"}) as (one, process):
        seen = await ask(one, "seen")
        await ask(one, "echo", text="mine")
        async with live(box, spec) as (other, _):
            assert await ask(other, "remember") == []
        assert await ask(one, "remember") == ["mine"]
    assert seen["arguments"] == ["--flag", "a value"]
    assert seen["cwd"] == str(process.folder)
    assert seen["env"]["GREETING"] == f"hello {process.folder}"
    assert not process.folder.exists()
    # The whole difference: who executed the file.
    assert (seen["imported_by"] == seen["pid"]) == (mode == "process")


async def test_equal_seeds_draw_equal_numbers(box: Sandbox) -> None:
    drawn = []
    for seed in (1, 1, 2):
        async with live(box, rogue("fork"), seed=seed) as (connection, _):
            drawn.append((await ask(connection, "seen"))["random"])
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("mode", MODES)
async def test_tools_come_from_all_pages_of_the_list(box: Sandbox, mode: str) -> None:
    async with live(box, rogue(mode)) as (connection, _):
        assert {"echo", "seen", "eat", "reach"} <= set(connection.tools)


@pytest.mark.parametrize("mode", MODES)
async def test_memory_and_files_have_limits(box: Sandbox, mode: str) -> None:
    async with live(box, rogue(mode)) as (connection, _):
        assert (await ask(connection, "seen"))["open_files"] == 64
        assert "Too many open files" in await ask(connection, "open_many", count=200)
        assert await ask(connection, "eat", mib=32) == 32 * 1024 * 1024
        assert "MemoryError" in await ask(connection, "eat", mib=600)
        assert await ask(connection, "echo", text="still here") == "still here"


@pytest.mark.parametrize("mode", MODES)
async def test_the_network_ends_at_a_loopback_of_its_own(box: Sandbox, mode: str) -> None:
    if box.isolation(rogue(mode)).network == "host":
        pytest.skip("this kernel lets nobody here make a network namespace")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        async with live(box, rogue(mode)) as (connection, _):
            assert "no: " in await ask(connection, "reach", host="127.0.0.1", port=port)
            assert "no: " in await ask(connection, "reach", host="192.0.2.1", port=80)


async def test_the_network_is_left_to_who_asks_for_it() -> None:
    spec = kind("rogue", network="host")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with sandbox() as box:
            await box.start(spec)
            assert box.isolation(spec).network == "host"

            def greet() -> None:
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(b"hello")

            async with live(box, spec) as (connection, _), anyio.create_task_group() as group:
                group.start_soon(anyio.to_thread.run_sync, greet)
                port = listener.getsockname()[1]
                assert await ask(connection, "reach", host="127.0.0.1", port=port) == "hello"


@pytest.mark.parametrize("mode", MODES)
async def test_what_a_session_has_started_ends_with_it(
    box: Sandbox, mode: str, tmp_path: Path
) -> None:
    if not box.isolation(rogue(mode)).processes:
        pytest.skip("this kernel lets nobody here make a process namespace")
    marker = tmp_path / "beat"
    async with live(box, rogue(mode)) as (connection, _):
        await ask(connection, "daemon", marker=str(marker))
        with anyio.fail_after(20):
            while not marker.exists():  # noqa: ASYNC110 -- another process makes it
                await anyio.sleep(0.01)
    last = marker.read_text()
    await anyio.sleep(0.2)
    assert marker.read_text() == last


@pytest.mark.parametrize("mode", MODES)
async def test_a_clock_stands_still_where_it_can(mode: str) -> None:
    spec = kind("rogue", mode=mode, clock="2031-05-06T07:08:09Z")
    async with sandbox() as box:
        await box.start(spec)
        async with live(box, spec) as (connection, _):
            now = (await ask(connection, "seen"))["now"]
        if faketime_library() is None:
            assert box.isolation(spec).clock == "real"
            assert any("libfaketime" in note for note in box.notes)
            pytest.skip("libfaketime is not installed; only the note was tested")
        assert box.isolation(spec).clock == "frozen at 2031-05-06T07:08:09Z"
        assert now.startswith("2031-05-06T07:08:09")


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--thread", "2 threads"),
        ("--socket", "an open socket"),
        ("--file", "rogue.log open for writing"),
    ],
)
async def test_a_server_that_cannot_be_forked_is_started_anew_and_that_is_said(
    flag: str, words: str, tmp_path: Path
) -> None:
    spec = kind("rogue", flag, cwd=tmp_path)
    async with sandbox() as box:
        await box.start(spec)
        assert box.isolation(spec).mode == "process"
        assert [note for note in box.notes if words in note]
        async with live(box, spec) as (connection, _):
            assert await ask(connection, "echo", text="hi") == "hi"
    async with sandbox() as box:
        with pytest.raises(SessionOpenError, match=f"{words}.* mode: process"):
            await box.start(kind("rogue", flag, cwd=tmp_path, mode="fork"))


async def test_a_command_that_is_not_pythons_is_started_anew(tmp_path: Path) -> None:
    script = tmp_path / "serve"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SERVERS / "rogue.py"}" "$@"\n')
    script.chmod(0o755)
    spec = ServerSpec(name="shell", command=(str(script), "--flag"))
    assert spec.wanted_mode == "process"
    async with sandbox() as box:
        await box.start(spec)
        async with live(box, spec) as (connection, _):
            assert (await ask(connection, "seen"))["arguments"] == ["--flag"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("/no/such/python", "-m", "x"), "/no/such/python"),
        ((sys.executable, "-m", "no_such_module_at_all"), "no_such_module_at_all"),
        ((sys.executable, str(SERVERS / "rogue.py"), "--never"), "ended with status 0"),
        (("/no/such/program",), "/no/such/program"),
    ],
)
async def test_a_command_that_serves_nothing_is_named(command: Any, words: str) -> None:
    async with sandbox() as box:
        with pytest.raises(SessionOpenError, match=words):
            await box.start(ServerSpec(name="gone", command=command))


async def test_a_servers_environment_holds_nothing_of_the_runners(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://somewhere")
    spec = kind("rogue", env={"GIVEN": "yes"})
    async with sandbox() as fresh:
        await fresh.start(spec)
        async with live(fresh, spec) as (connection, _):
            seen = (await ask(connection, "seen"))["env"]
    assert seen["GIVEN"] == "yes"
    assert not {"OPENAI_API_KEY", "HTTPS_PROXY"} & set(seen)
    assert "sk-secret" not in str(seen)
    assert os.environ["OPENAI_API_KEY"] == "sk-secret"
