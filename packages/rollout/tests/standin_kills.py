"""A run and a stand-in endpoint as processes of their own, to be killed and gone on with."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from outcomebox.reward.rows import read_rows

Victim = Literal["runner", "endpoint", "server"]
VICTIMS: tuple[Victim, ...] = ("runner", "endpoint", "server")
_MARK = "OUTCOMEBOX_KILLS"
_DEADLINE_S = 600.0
_PROGRAM = (sys.executable, "-m", "outcomebox.rollout.commands.app")


@dataclass
class Ground:
    """A folder in which runs are made and killed.

    Attributes:
        folder: Everything is below it, the temporary folders of all processes included.
        tasks: Tasks of the shop that are run.
        attempts: Attempts at each.
        delay_s: What each answer takes, so that there is time to be killed in.
    """

    folder: Path
    tasks: int = 10
    attempts: int = 2
    delay_s: float = 0.05

    def __post_init__(self) -> None:
        self._endpoint: subprocess.Popen[bytes] | None = None
        self.address = ""
        self.temporary.mkdir(parents=True)

    @property
    def temporary(self) -> Path:
        """The ``TMPDIR`` of all processes."""
        return self.folder / "tmp"

    def start_endpoint(self) -> None:
        """The endpoint, again on its port if it had one."""
        told = self.folder / "address"
        told.unlink(missing_ok=True)
        port = self.address.rpartition(":")[2].partition("/")[0] or "0"
        arguments = ["stand-in", "--tasks", "retail", "--port", port, "--delay", f"{self.delay_s}"]
        self._endpoint = self._start("endpoint", [*arguments, "--address-file", str(told)])
        until(told.exists, "the endpoint is up", self._endpoint)
        self.address = told.read_text().strip()

    def stop_endpoint(self) -> None:
        """Kill the endpoint."""
        if self._endpoint is not None:
            self._endpoint.kill()
            self._endpoint.wait()
            self._endpoint = None

    def start_run(self, name: str, *, resume: bool = False) -> subprocess.Popen[bytes]:
        """A run into a folder below ``folder``."""
        options = {"base_url": self.address, "model": "stand-in", "timeout_s": "60"}
        flags = {
            "--tasks": "retail",
            "--policy": "openai",
            "--limit-tasks": self.tasks,
            "--attempts": self.attempts,
            "--concurrency": 4,
            "--out": self.folder / name,
        }
        given = [str(each) for pair in flags.items() for each in pair]
        for option, value in options.items():
            given += ["--policy-option", f"{option}={value}"]
        return self._start("run", ["run", *given, *(["--resume"] if resume else [])])

    def undisturbed(self, name: str) -> None:
        """A run to its end.

        Raises:
            AssertionError: It did not end well.
        """
        assert self.start_run(name).wait(_DEADLINE_S) == 0, self.log("run")

    def disturbed(self, name: str, victim: Victim, luck: random.Random) -> int:
        """A run in which something is killed at a moment that chance takes, and goes on to its end.

        Args:
            name: Its folder.
            victim: What is killed.
            luck: Where chance comes from.

        Returns:
            Rows that there were at that moment.

        Raises:
            AssertionError: It did not end well, or something stayed behind.
        """
        run = self.start_run(name)
        rows = self.folder / name / "episodes.jsonl"
        wanted = luck.randrange(self.tasks * self.attempts - 4)
        pid = run.pid

        def time_has_come() -> bool:
            return len_of(rows) >= wanted and (victim != "server" or bool(children(pid)))

        until(time_has_come, f"{wanted} rows", run)
        time.sleep(luck.uniform(0.0, 0.2))  # anywhere in an episode, not just behind a row
        there = len_of(rows)
        if victim == "endpoint":
            self.stop_endpoint()
            self.start_endpoint()
        elif victim == "server":
            kill(luck.choice(children(run.pid) or [0]))
        else:
            run.kill()
            run.wait()
            self.look_behind()
            run = self.start_run(name, resume=True)
        assert run.wait(_DEADLINE_S) == 0, self.log("run")
        self.look_behind()
        return there

    def look_behind(self) -> None:
        """See that no process of a run and no temporary folder of it is left.

        Raises:
            AssertionError: One is.
        """
        until(lambda: not list(self._processes("run")), "no process is left", None)
        until(lambda: not list(self.temporary.glob("outcomebox-*")), "no folder is left", None)

    def log(self, part: str) -> str:
        """What a process has said."""
        return (self.folder / f"{part}.log").read_text(errors="replace")[-4000:]

    def rows(self, name: str) -> list[Mapping[str, Any]]:
        """All rows of a run."""
        return list(read_rows(self.folder / name / "episodes.jsonl"))

    def _start(self, part: str, arguments: list[str]) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            # Made absolute: the processes begin in another folder.
            "PYTHONPATH": os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path),
            "TMPDIR": str(self.temporary),
            _MARK: f"{part}:{self.folder}",
        }
        with (self.folder / f"{part}.log").open("ab") as log:
            return subprocess.Popen(
                [*_PROGRAM, *arguments], env=environment, cwd=self.folder, stdout=log, stderr=log
            )

    def _processes(self, part: str) -> Iterator[int]:
        mark = f"{_MARK}={part}:{self.folder}".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        yield int(entry.name)
                except OSError:
                    continue  # it went meanwhile, or is not ours


def children(pid: int) -> list[int]:
    """All processes below one that have none below themselves: the tool servers of sessions."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue  # it went meanwhile
            below.setdefault(parent, []).append(int(entry.name))
    found, left = [], [pid]
    while left:
        inner = below.get(left.pop(), [])
        found += [each for each in inner if each not in below]
        left += inner
    return sorted(found)


def kill(pid: int) -> None:
    """Kill a process that may have gone."""
    if pid:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def len_of(rows: Path) -> int:
    """Whole rows of a file that may not be there yet."""
    return rows.read_bytes().count(b"\n") if rows.exists() else 0


def until(true: Callable[[], bool], what: str, process: subprocess.Popen[bytes] | None) -> None:
    """Wait for something, with a generous deadline.

    Raises:
        AssertionError: It does not come, or the process that should bring it has ended.
    """
    end = time.monotonic() + _DEADLINE_S
    while not true():
        assert time.monotonic() < end, f"still not: {what}"
        ended = process is not None and process.poll() not in {None, 0}
        assert not ended, f"the process ended before: {what}"
        if process is not None and process.poll() == 0:
            return  # done sooner than it was to be killed
        time.sleep(0.02)
