"""The settings of a run as a command gives them, and as ``run.json`` keeps them."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from outcomebox.reward.secrets import redact
from outcomebox.rollout.breaker import DEFAULT_PATIENCE_S
from outcomebox.rollout.runfolder import RunFolder, run_files
from outcomebox.rollout.runner import DEFAULT_TRIES, Bounds
from outcomebox.rollout.spec import RunSpec
from outcomebox.rollout.stage import Tasks
from outcomebox.sandbox import InputError

RUNS = Path("runs")
_FREE = {"judge_cache"}
"""Settings of the spec that decide when things happen or what is asked again, and no row."""


@dataclass(frozen=True)
class How:
    """How a run is made, which decides no row.

    Attributes:
        executor: Name of the executor.
        executor_options: Its settings.
        concurrency: Episodes at a time, at most.
        min_concurrency: And at least.
        tries: Tries of an attempt that breaks.
        patience_s: Seconds that an endpoint that is down is waited for.
    """

    executor: str = "local"
    executor_options: Mapping[str, str] = field(default_factory=dict)
    concurrency: int = 4
    min_concurrency: int = 1
    tries: int = DEFAULT_TRIES
    patience_s: float = DEFAULT_PATIENCE_S

    @property
    def bounds(self) -> Bounds:
        """What the runner keeps to."""
        return Bounds(
            concurrency=self.concurrency,
            min_concurrency=self.min_concurrency,
            tries=self.tries,
            patience_s=self.patience_s,
        )


@dataclass(frozen=True)
class RunSettings:
    """A run to be made.

    Attributes:
        run: Its files.
        spec: What decides its rows.
        attempts: Attempts at each task.
        repetitions: Only these of them; None for all.
        how: What does not.
        command: What makes it, for who is told how to go on.
    """

    run: RunFolder
    spec: RunSpec
    attempts: int = 1
    repetitions: tuple[int, ...] | None = None
    how: How = field(default_factory=How)
    command: str = "outcomebox-rollout run"

    def to_json(self) -> dict[str, Any]:
        """As ``run.json`` has it."""
        return {
            "spec": self.spec.to_json(),
            "attempts": self.attempts,
            "repetitions": None if self.repetitions is None else list(self.repetitions),
            "how": {each.name: getattr(self.how, each.name) for each in fields(How)},
        }

    def save(self, tasks: Tasks) -> None:
        """Make the folder and write ``run.json``, whole or not at all.

        Args:
            tasks: The run's tasks; with the repetitions they are its plan, so that what has no row
                can be missed by whoever reads the rows.

        Raises:
            InputError: The folder cannot be written.
        """
        repetitions = range(self.attempts) if self.repetitions is None else self.repetitions
        plan = {
            "uids": [task.uid for task in tasks.tasks],
            "domains": [task.domain for task in tasks.tasks],
            "tags": [list(tasks.tags(task)) for task in tasks.tasks],
            "repetitions": list(repetitions),
        }
        told = {**self.to_json(), "plan": plan}
        text = redact(json.dumps(told, ensure_ascii=False, indent=1)) + "\n"
        file = self.run.settings
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
            with os.fdopen(handle, "w", encoding="utf-8") as target:
                target.write(text)
                target.flush()
                os.fsync(target.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(file)
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror}); choose another folder with --out",
                file=file.parent,
            ) from error

    def resume_command(self) -> str:
        """What goes on with this run."""
        return f"{self.command} --resume --out {shlex.quote(str(self.run.folder))}"


def pairs(flag: str, given: Sequence[str] | None) -> dict[str, str] | None:
    """``NAME=VALUE`` pairs as a mapping; None if there are none.

    Raises:
        InputError: One is no such pair. It is not shown: it may be a key.
    """
    found = {}
    for pair in given or ():
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise InputError("write NAME=VALUE", field=flag)
        found[name.replace("-", "_")] = value
    return found or None


def run_settings(
    out: Path | None, given: Mapping[str, Any], *, resume: bool = False
) -> RunSettings:
    """The settings of a run, new or gone on with; nothing is written.

    Args:
        out: Its folder; a new one under ``runs`` by default, with ``resume`` the latest there.
        given: Field -> what a flag says; None where it was not given.
        resume: Go on with the run in the folder: what is not given is as it was.

    Raises:
        InputError: The folder holds a run already, or none; or a flag says something else than the
            run was started with.
    """
    flags = {name: value for name, value in given.items() if value is not None}
    if out is None:
        out = _latest() if resume else RUNS / f"run-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    run = run_files(out)
    if not resume:
        if run.rows.exists() or run.settings.exists():
            raise InputError(
                "holds a run already; add --resume to go on with it, or name another", file=out
            )
        settings = _with(RunSettings(run, RunSpec()), flags)
    elif not run.settings.exists():
        if run.rows.exists() or (out.exists() and any(out.iterdir())):
            raise InputError(
                "is missing, so nothing tells how this run was started; name a run's folder",
                file=run.settings,
            )
        settings = _with(RunSettings(run, RunSpec()), flags)
    else:
        saved = saved_settings(run)
        settings = _with(saved, flags)
        _same(saved, settings)
    if settings.repetitions and settings.repetitions[-1] >= settings.attempts:
        settings = replace(settings, attempts=settings.repetitions[-1] + 1)
    if settings.how.min_concurrency > settings.how.concurrency:
        raise InputError(
            f"is more than --concurrency {settings.how.concurrency}; give less",
            field="min-concurrency",
            value=settings.how.min_concurrency,
        )
    return settings


def saved_settings(run: RunFolder) -> RunSettings:
    """The settings that a run was started with.

    Raises:
        InputError: They cannot be read.
    """
    try:
        plain = json.loads(run.settings.read_text(encoding="utf-8"))
        repetitions = plain["repetitions"]
        return RunSettings(
            run,
            RunSpec.from_json(plain["spec"]),
            plain["attempts"],
            None if repetitions is None else tuple(repetitions),
            How(**plain["how"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"cannot be used ({error}); restore it, or start a new run in another folder",
            file=run.settings,
        ) from error


def _with(settings: RunSettings, flags: Mapping[str, Any]) -> RunSettings:
    def of(kind: type[Any]) -> dict[str, Any]:
        names = {each.name for each in fields(kind)}
        return {name: value for name, value in flags.items() if name in names}

    return replace(
        settings,
        spec=replace(settings.spec, **of(RunSpec)),
        how=replace(settings.how, **of(How)),
        **{name: flags[name] for name in ("attempts", "repetitions") if name in flags},
    )


def _same(saved: RunSettings, now: RunSettings) -> None:
    before, after = saved.to_json(), now.to_json()
    told = [
        *((name, before["spec"][name], after["spec"][name]) for name in before["spec"]),
        *((name, before[name], after[name]) for name in ("attempts", "repetitions")),
    ]
    for name, was, wanted in told:
        if was != wanted and name not in _FREE:
            raise InputError(
                f"was {was!r} when the run was started and is {wanted!r} now; resume with the same "
                "settings, or start a new run in another folder",
                file=saved.run.settings,
                field=name,
            )


def _latest() -> Path:
    runs = sorted(RUNS.glob(f"run-*/{run_files(RUNS).settings.name}"))
    if not runs:
        raise InputError("finds no run; name its folder with --out", field="resume", file=RUNS)
    return runs[-1].parent
