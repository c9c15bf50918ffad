"""Real Ray on loopback: a head, a worker beside it, and what the launcher sees of both."""

from __future__ import annotations

import os
import re
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from outcomebox.train.commands.app import app
from train_environment import variables, verl_python
from train_files import make_run


def command(*arguments: str) -> Result:
    """A command of ours; what it starts has the environment of a node."""
    return CliRunner().invoke(app, [*arguments])


def processes(mark: str) -> list[int]:
    """Processes whose command line names a folder of this test."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "cmdline").read_text(encoding="utf-8", errors="replace"):
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended
    return found


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a path short enough for Ray's sockets; what runs in it is ended."""
    # The path of a socket has 107 characters at most, and Ray's own folders take most of them.
    named = {"prefix": "obray", "dir": "/tmp"}  # noqa: S108 -- a folder nobody else can guess or open
    with tempfile.TemporaryDirectory(**named, ignore_cleanup_errors=True) as name:
        yield Path(name)
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in processes(f"{name}/"):
                os.kill(process, number)
            until = time.monotonic() + 20
            while processes(f"{name}/") and time.monotonic() < until:
                time.sleep(0.2)
        assert not processes(f"{name}/")


def test_a_head_and_a_worker_are_one_cluster(
    tmp_path: Path, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    python = str(verl_python())
    change = {
        "python": python,
        "cluster.ray_address": address,
        "cluster.ray_temp": str(short),
        "cluster.nodes": 2,
    }
    file = str(make_run(tmp_path, "cpu", change))
    (tmp_path / "runs").mkdir()
    for name, value in variables().items():
        monkeypatch.setenv(name, value)
    head = command("ray-start", "head", "--config", file, "--port", str(port))
    assert head.exit_code == 0, head.output
    alone = command("--check", "--config", file)
    assert alone.exit_code == 2
    assert re.search(r"cluster\.nodes: are not there: 1 are", alone.stderr), alone.stderr
    worker = command("ray-start", "worker", "--config", file, "--address", address)
    assert worker.exit_code == 0, worker.output
    both = command("--check", "--config", file)
    assert both.exit_code == 0, both.stderr
    assert re.search(r"cluster +passed: 2 machines .* and one folder", both.stdout)
    assert not list((tmp_path / "runs").iterdir())
