"""A process that is killed leaves neither servers nor folders, and its rows are whole."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from time import monotonic, sleep

import anyio
import pytest

from train_chat import chat_without_library, make_model
from train_episodes import RIGHT, make_run, rows_of
from train_running import Run

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """verl's event loop is asyncio's."""
    return "asyncio"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder."""
    return make_model(tmp_path_factory.mktemp("model"))


KILLED = """\
import asyncio, os, sys
from pathlib import Path
from outcomebox.train.settings import load_settings
from outcomebox.train.verl.process import ProcessWorker
from train_chat import chat_without_library
from train_episodes import MOVE, RIGHT, Server, asked
from train_running import Run

async def main():
    settings = load_settings(sys.argv[1])
    run = Run(settings, chat_without_library(Path(settings.model_path)))
    await run.play(*RIGHT)
    live = await run.worker._keeper.live()
    print(live.worker.setting.sandbox.root, flush=True)
    os._exit(9)

asyncio.run(main())
"""


async def test_a_process_that_is_killed_leaves_nothing_behind(tmp_path: Path, model: Path) -> None:
    settings = make_run(tmp_path / "run", model)
    command = [sys.executable, "-c", textwrap.dedent(KILLED), f"{settings.out}/worker.json"]
    here = str(Path(__file__).parent)
    paths = [here, *filter(None, sys.path)]
    ended = await anyio.run_process(
        command,
        check=False,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert ended.returncode == 9, ended.stderr.decode()
    root = Path(ended.stdout.decode().strip())
    _await_gone(root)
    run = Run(settings, chat_without_library(model))
    try:
        await run.play(*RIGHT)
    finally:
        await run.worker.aclose()
    assert sorted((row["repetition"], row["try"]) for row in rows_of(settings)) == [(0, 0), (0, 1)]


def _await_gone(folder: Path) -> None:
    """Wait until there is neither the folder nor a process that mentions it."""
    deadline = monotonic() + 20
    while folder.exists() or _mentioning(str(folder)):
        assert monotonic() < deadline, f"{folder} is there, or {_mentioning(str(folder))}"
        sleep(0.05)


def _mentioning(text: str) -> list[str]:
    """Processes whose environment or command names a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
        except OSError:
            continue
        if text.encode() in told:
            found.append(process.name)
    return found
