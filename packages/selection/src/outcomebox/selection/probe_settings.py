"""The settings and the folder of a probe run, new or resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from outcomebox.rollout import RunSpec
from outcomebox.sandbox import BUNDLED
from outcomebox.selection.atomic import write_files
from outcomebox.selection.curation import Curation
from outcomebox.selection.errors import InputError, shown
from outcomebox.selection.settings_file import COMMAND_LINE, curation_text, load_curation
from outcomebox.selection.write import SETTINGS

EPISODES = "episodes.jsonl"
RUNS = Path("runs")
# What may differ between the parts of one run: it decides when things happen, not what comes out.
_FREE = {
    "concurrency",
    "min_concurrency",
    "max_tries",
    "patience_s",
    "executor",
    "executor_options",
}


@dataclass(frozen=True)
class RunSettings:
    """A probe run to be made.

    Attributes:
        folder: where it lies; it need not exist yet.
        curation: all settings, policy and tasks filled in.
        judge_cache: where the judge's votes are kept, which decides nothing but what is asked
            again; in memory by default.
        backend: where sessions keep their rows; never written down, as it may hold a password.
    """

    folder: Path
    curation: Curation
    judge_cache: Path | None = None
    backend: str | None = None

    def spec(self) -> RunSpec:
        """What decides the rows, as a run has it."""
        probe = self.curation.probe
        return RunSpec(
            tasks=self.curation.sources.tasks,
            policy=probe.policy or "simulated",
            policy_options=probe.policy_options,
            user_options=probe.user_options,
            judge=probe.judge,
            judge_options=probe.judge_options,
            judge_cache=None if self.judge_cache is None else str(self.judge_cache),
            seed=probe.seed,
            record=probe.record,
            replay=probe.replay,
        )

    @property
    def episodes(self) -> Path:
        """The run's rows."""
        return self.folder / EPISODES


def options(flag: str, given: Sequence[str] | None) -> dict[str, str] | None:
    """`NAME=VALUE` pairs as a mapping; None if there are none.

    Raises:
        InputError: one is no such pair.
    """
    found = {}
    for pair in given or ():
        name, sign, value = pair.partition("=")
        if not sign or not name:
            # The whole is not shown: it may be a key.
            raise InputError(COMMAND_LINE, flag, "is no pair", "Write NAME=VALUE")
        found[name.replace("-", "_")] = value
    return found or None


def number(text: str) -> int | float | str:
    """The number that a text is; a text that is none stays, for the settings to refuse."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def new_run(out: Path | None, config: Path | None, overrides: Mapping[str, Any]) -> RunSettings:
    """The settings of a new run; nothing is written yet.

    Raises:
        InputError: a setting is wrong, or the folder holds a run already.
    """
    curation = _filled(load_curation(config, overrides))
    if out is None:
        out = RUNS / f"probe-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    if (out / EPISODES).exists():
        raise InputError(
            str(out),
            "--out",
            "holds a run already",
            "Add --resume to go on with it, or name another",
        )
    return RunSettings(out, curation)


def resumed_run(out: Path | None, config: Path | None, overrides: Mapping[str, Any]) -> RunSettings:
    """The settings of a run that goes on: those it was started with.

    Flags and a settings file may be given again; they may not say anything else.

    Raises:
        InputError: there is no such run, or the settings differ in what decides its rows.
    """
    if out is None:
        runs = sorted(RUNS.glob(f"probe-*/{EPISODES}"))
        if not runs:
            raise InputError(str(RUNS), "--resume", "finds no run", "Name the folder with --out")
        out = runs[-1].parent
    saved_file = out / SETTINGS
    if not saved_file.exists():
        # Killed before anything was written, or nothing to resume: the same as a new run.
        if out.exists() and any(out.iterdir()):
            raise InputError(
                str(saved_file), "", "is missing", "Name the folder of a probe run with --out"
            )
        return new_run(out, config, overrides)
    saved = load_curation(saved_file)
    asked = _filled(load_curation(config or saved_file, overrides))
    for section, name in (
        ("sources", "tasks"),
        *(("probe", name) for name in type(saved.probe).model_fields if name not in _FREE),
    ):
        before = getattr(getattr(saved, section), name)
        now = getattr(getattr(asked, section), name)
        if before != now and not _same_paths(before, now):
            raise InputError(
                str(saved_file),
                f"{section}.{name}",
                f"was {shown(before)} when the run was started and is {shown(now)} now",
                "Resume with the same settings, or start a new run in another folder",
            )
    return RunSettings(out, asked)


def _same_paths(before: Any, now: Any) -> bool:
    """Whether two texts, or two lists of them, name the same files by other ways."""
    if isinstance(before, str) and isinstance(now, str):
        return Path(before).exists() and Path(before).resolve() == Path(now).resolve()
    if isinstance(before, tuple) and isinstance(now, tuple) and len(before) == len(now):
        return all(a == b or _same_paths(a, b) for a, b in zip(before, now, strict=True))
    return False


def save_settings(settings: RunSettings) -> None:
    """Makes the folder and writes the resolved settings into it.

    Raises:
        InputError: the folder cannot be written.
    """
    text = curation_text(settings.curation, settings.folder).encode()
    try:
        write_files(settings.folder, {SETTINGS: text})
    except OSError as error:
        raise InputError(
            str(settings.folder),
            "--out",
            f"cannot be written ({error.strerror})",
            "Choose another folder",
        ) from error


def _filled(curation: Curation) -> Curation:
    """The settings with this command's defaults for what the file may leave open."""
    sources = curation.sources
    probe = curation.probe
    if not sources.tasks:
        sources = sources.model_copy(update={"tasks": BUNDLED})
    if probe.policy is None:
        probe = probe.model_copy(update={"policy": "simulated"})
    return curation.model_copy(update={"sources": sources, "probe": probe})
