"""A live run: the lamps, the tiny model, the real launcher, and what the run left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import yaml

from outcomebox.reward.rows import Row, read_rows
from outcomebox.rollout.stages import NativeTasks
from outcomebox.sandbox import Task, load_tasks
from train_tiny import LAMPS

GROUP = 4
PER_STEP = 2
STEPS = 3
LENGTHS = {"prompt": 128, "response": 256, "turn": 64}
RATE = 3e-4
PASSES = {"easy": 15, "coin": 8, "hopeless": 0}
"""Of 16 attempts, as plain sampling found it; for the pool, whose counts predict mixed groups."""
BANDS = {"easy": "nearly_always_solved", "coin": "intermediate", "hopeless": "rarely_solved"}
_LIMIT_S = 600.0


@dataclass
class LiveRun:
    """A run that is really made.

    Attributes:
        path: Its folder; what Ray puts there needs a short name.
        python: Of the training environment; the launcher runs there, too.
        environment: Its environment variables.
        said: All that it printed, start by start.
        statuses: How each start ended.
        seconds: How long each took.
    """

    path: Path
    python: Path
    environment: Mapping[str, str]
    said: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def config(self) -> Path:
        """``run.yaml``."""
        return self.path / "run.yaml"

    @property
    def out(self) -> Path:
        """The run's own folder."""
        return self.path / "run"

    @property
    def domain(self) -> Path:
        """Its copy of the lamps, whose server breaks when it is told to."""
        return self.path / "lamps"

    def lay_out(self, model: Path, changes: Mapping[str, Any]) -> None:
        """Write all that the run needs.

        Args:
            model: The tiny model.
            changes: Sections of ``run.yaml`` beside ours.
        """
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(LAMPS, self.domain, ignore=ignored)
        for folder in ("break", "pass"):
            (self.domain / folder).mkdir()
        pool = self.path / "pool"
        pool.mkdir()
        (pool / "train.yaml").write_text(pool_text(self.domain), encoding="utf-8")
        settings = {
            "preset": "cpu",
            "out": str(self.out),
            "model": {"path": str(model)},
            "pool": {"path": str(pool), "no_benchmark": True},
            "episodes": {"tasks": [str(self.domain)], "seed": 5},
            "groups": {"size": GROUP, "per_step": PER_STEP, "max_rounds": 8, "max_wasted": 24},
            "lengths": LENGTHS,
            # Each step has a rate of its own, so that a schedule that began anew would show.
            "optim": {"lr": RATE, "schedule": "cosine"},
            "cluster": {"ray_temp": str(self.path / "ray")},
            "schedule": {"steps": STEPS, "save_every": 1},
            **changes,
        }
        self.config.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")

    def break_once(self, name: str) -> None:
        """Tell the tool server to die in the next call that comes."""
        (self.domain / "break" / name).touch()

    def hold(self, *, but: int) -> None:
        """Let calls of the tool server wait, but for so many of them."""
        for number in range(but):
            (self.domain / "pass" / str(number)).touch()
        (self.domain / "hold").touch()

    def let_go(self) -> None:
        """Let calls go on again."""
        (self.domain / "hold").unlink()

    @property
    def breaks_left(self) -> list[str]:
        """Deaths that were told and have not come."""
        return sorted(path.name for path in (self.domain / "break").iterdir())

    @property
    def verl_is_up(self) -> bool:
        """Whether the newest start is past its checks, which play episodes of their own."""
        log = self.path / f"start-{len(self.said)}.log"
        return "Starting verl" in log.read_text(encoding="utf-8", errors="replace")

    def command(self, *words: str) -> list[str]:
        """A command of ``outcomebox-train``."""
        return [str(self.python), "-m", "outcomebox.train.commands.app", *words]

    def call(self, *words: str) -> str:
        """Run a command of ``outcomebox-train`` that must succeed; returns what it printed."""
        done = subprocess.run(
            self.command(*words),
            env=dict(self.environment),
            capture_output=True,
            text=True,
            check=False,
            timeout=_LIMIT_S,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        return done.stdout

    def start(self, meanwhile: Callable[[subprocess.Popen[bytes]], None]) -> None:
        """Start the run, or go on with it, and wait for its end.

        Args:
            meanwhile: What to do while it runs.
        """
        log = self.path / f"start-{len(self.said)}.log"
        began = monotonic()
        with log.open("wb") as file:
            process = subprocess.Popen(
                # In the order of the pool: who is drawn when is then known.
                self.command("--config", str(self.config), "--", "data.shuffle=False"),
                env=dict(self.environment),
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
            try:
                meanwhile(process)
                status = process.wait(timeout=_LIMIT_S)
            except AssertionError as error:
                error.add_note(log.read_text(encoding="utf-8", errors="replace")[-6000:])
                raise
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
                    process.wait(timeout=60)
        self.seconds.append(monotonic() - began)
        self.statuses.append(status)
        self.said.append(log.read_text(encoding="utf-8", errors="replace"))

    def rows(self) -> list[Row]:
        """All rows that there are so far."""
        return [row for path in self.row_files() for row in read_rows(path)]

    def row_files(self) -> list[Path]:
        """Files of rows; each process of each start has one."""
        return sorted((self.out / "rows").glob("*.jsonl"))

    def steps(self) -> list[dict[str, Any]]:
        """The rows of the steps."""
        file = self.out / "steps.jsonl"
        if not file.exists():
            return []
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    def saved(self) -> int:
        """The step of the newest checkpoint."""
        file = self.out / "checkpoints" / "latest_checkpointed_iteration.txt"
        return int(file.read_text(encoding="utf-8")) if file.exists() else 0

    def shard(self, step: int) -> Path:
        """The weights of a checkpoint."""
        actor = self.out / "checkpoints" / f"global_step_{step}" / "actor"
        return actor / "model_world_size_1_rank_0.pt"

    def processes(self) -> list[str]:
        """Processes that belong to the run, by what they were started with."""
        mark = f"OUTCOMEBOX_TRAIN_SETTINGS={self.out}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # it has gone, or is somebody else's
        return found


def wait_for(
    seen: Callable[[], bool], what: str, process: subprocess.Popen[bytes] | None = None
) -> None:
    """Wait until something holds, while a process runs.

    Raises:
        AssertionError: It has not come about in time, or the process has ended before.
    """
    end = monotonic() + _LIMIT_S
    while not seen():
        assert monotonic() < end, f"waited {_LIMIT_S:.0f} s for {what}"
        assert process is None or process.poll() is None, f"it ended before {what}"
        sleep(0.05)


def pool_text(domain: Path) -> str:
    """``train.yaml`` as a selection writes it, in the order of uids."""
    rows = []
    for task in sorted(NativeTasks(load_tasks([str(domain)])).tasks, key=lambda each: each.uid):
        assert isinstance(task, Task)
        (kind,) = task.tags
        rows.append(
            {
                "uid": task.uid,
                "domain": task.domain,
                "family": task.family,
                "hash": task.hash,
                "band": BANDS[kind],
                "passes": PASSES[kind],
                "clean_runs": 16,
                "posterior_mean": None,
                "band_probability": None,
            }
        )
    head = {"format": "outcomebox-pool/1", "side": "train", "policy": "tiny", "count": len(rows)}
    return yaml.safe_dump({"pool": head, "tasks": rows}, sort_keys=False)


def made_model(python: Path, folder: Path, environment: Mapping[str, str]) -> Path:
    """The tiny model, made with another Python."""
    done = subprocess.run(
        [str(python), str(Path(__file__).with_name("train_tiny.py")), str(folder)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=_LIMIT_S,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return folder
