"""Runs on a Ray cluster of two nodes, and what they leave behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ray_environment import python_with_ray, variables

_DEADLINE_S = 240.0


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until something holds.

    Raises:
        AssertionError: It does not for minutes.
    """
    end = time.monotonic() + _DEADLINE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"never came: {what}")
        time.sleep(0.05)


@dataclass(frozen=True)
class Nodes:
    """A cluster, and commands on it.

    Attributes:
        python: A Python with Ray.
        folder: Ray's files; ``t`` in it holds everything temporary of ours.
        env: Environment of all its processes.
        process: The cluster; its end is the end of it all.
        address: Of the head.
    """

    python: Path
    folder: Path
    env: dict[str, str]
    process: subprocess.Popen[str]
    address: str

    def start(
        self, out: Path, *arguments: str, env: dict[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start ``outcomebox-rollout run --out OUT ...`` beside the cluster."""
        command = [str(self.python), "-m", "outcomebox.rollout.commands.app", "run"]
        return subprocess.Popen(
            [*command, "--out", str(out), *arguments],
            env={**self.env, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(
        self, out: Path, *arguments: str, status: int = 0, env: dict[str, str] | None = None
    ) -> str:
        """Run it to its end; returns what it said."""
        said, _ = (process := self.start(out, *arguments, env=env)).communicate(timeout=600)
        assert process.returncode == status, said
        return said

    def on_ray(self, **options: object) -> list[str]:
        """Arguments that put a run on the cluster."""
        given = {"address": self.address, **options}
        pairs = [f"{name}={value}" for name, value in given.items()]
        return [
            "--executor",
            "ray",
            *(part for pair in pairs for part in ("--executor-option", pair)),
        ]

    def workers(self) -> list[int]:
        """Process ids of the run's workers."""
        return [pid for pid, name in self.processes() if name.startswith("ray::OutcomeboxWorker")]

    def processes(self) -> Iterator[tuple[int, str]]:
        """All processes of the cluster's environment: process id and command line."""
        mark = f"TMPDIR={self.env['TMPDIR']}\0".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with suppress(OSError):  # it went, or is not ours to look at
                    if mark in (entry / "environ").read_bytes() + b"\0":
                        words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                        yield int(entry.name), words.decode(errors="replace")

    def kill(self, pid: int, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a process that may have gone."""
        with suppress(ProcessLookupError):
            os.kill(pid, number)

    def order(self, what: str) -> None:
        """``lose`` a node, or ``add`` one."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        assert json.loads(self.process.stdout.readline()) == {"done": what}

    def left(self) -> list[str]:
        """Processes and temporary files of sessions and workers."""
        ours = ("ray::OutcomeboxWorker", "outcomebox/sandbox/supervisor.py")
        found = [
            name for _, name in self.processes() if name.startswith(ours[0]) or ours[1] in name
        ]
        return [*found, *(str(path) for path in Path(self.env["TMPDIR"]).glob("outcomebox-*"))]

    def nothing_left(self) -> None:
        """See that the runs that have ended, however, have left nothing."""
        wait_for(lambda: not self.left(), f"the end of {self.left()}")


@contextmanager
def two_nodes() -> Iterator[Nodes]:
    """A cluster of a head without CPUs and two nodes with one each, on the loopback."""
    # Short, for a socket's path may have 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="obr-"))
    try:
        (folder / "t").mkdir()
        python = python_with_ray()
        env = {**variables(folder), "TMPDIR": str(folder / "t")}
        process = subprocess.Popen(
            [str(python), str(Path(__file__).with_name("ray_nodes.py"))],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            yield Nodes(python, folder, env, process, told["address"])
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=120)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
