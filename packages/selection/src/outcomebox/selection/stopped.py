"""`stopped.json`: the tasks that an adaptive probe left early, beside its rows.

How many rows such a task has depends on what they say, so its pass rate is biased. The file is
there from the first row on, and its presence alone says that the probe is an adaptive one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.selection.atomic import write_files
from outcomebox.selection.errors import InputError, shown

NAME = "stopped.json"
_STEM = "episodes"
RULES = ("exact", "bayes")


@dataclass(frozen=True, slots=True)
class Stopped:
    """How a task was left.

    Attributes:
        rule: `exact` or `bayes`.
        clean: its clean runs at that moment.
    """

    rule: str
    clean: int


def stopped_file(episodes: Path) -> Path:
    """Where the marks of a file of rows lie; rows under another name have marks of their own.

    Args:
        episodes: the file of rows, or the index beside it.
    """
    own = NAME if episodes.stem == _STEM else f"{episodes.stem}.{NAME}"
    return episodes.with_name(own)


def write_stopped(episodes: Path, stopped: Mapping[str, Stopped]) -> None:
    """Writes the marks, whole or not at all.

    Args:
        episodes: the file of rows.
        stopped: by uid.
    """
    plain = {uid: {"rule": one.rule, "clean": one.clean} for uid, one in stopped.items()}
    text = json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    file = stopped_file(episodes)
    write_files(file.parent, {file.name: text.encode()})


def read_stopped(episodes: Path) -> dict[str, Stopped] | None:
    """Reads the marks of a file of rows.

    Args:
        episodes: the file of rows.

    Returns:
        By uid; None where there is no such file: the rows come from no adaptive probe.

    Raises:
        InputError: naming file, field and value, if the file is not what a probe writes.
    """
    file = stopped_file(episodes)
    try:
        plain = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(str(file), "", f"cannot be read ({error})", _MEND) from None
    if not isinstance(plain, dict):
        raise InputError(str(file), "", f"is no mapping of uids: {shown(plain)}", _MEND)
    return {uid: _stopped(value, uid, file) for uid, value in plain.items()}


_MEND = "Resume the probe, which writes it anew"


def _stopped(value: Any, uid: str, file: Path) -> Stopped:
    if isinstance(value, dict):
        rule, clean = value.get("rule"), value.get("clean")
        if rule in RULES and isinstance(clean, int) and not isinstance(clean, bool) and clean > 0:
            return Stopped(rule, clean)
    raise InputError(str(file), uid, f"is {shown(value)}, not how a task was left", _MEND)


def refuse_without_rule(files: Iterable[Path], stop: str) -> None:
    """Refuses rows of an adaptive probe where the settings do not say so.

    Without its rule, tasks that were left early would look like tasks with too few runs.

    Args:
        files: files of rows.
        stop: `probe.stop` of the settings in force.

    Raises:
        InputError: naming the file of marks.
    """
    for file in files:
        rules = {mark.rule for mark in (read_stopped(file) or {}).values()}
        if rules - {stop}:
            raise InputError(
                str(stopped_file(file)),
                "",
                f"says that the probe left tasks early by the rule {min(rules)}, and probe.stop is "
                f"{stop}",
                f"Add --config {file.parent / 'curation.yaml'}, the settings of the probe",
            )


def stopped_beside(files: Iterable[Path]) -> dict[str, Stopped]:
    """The tasks that the probes of several files of rows left early.

    Args:
        files: files of rows; most have no marks beside them.

    Raises:
        InputError: one of the files of marks cannot be used.
    """
    found: dict[str, Stopped] = {}
    for file in files:
        found |= read_stopped(file) or {}
    return found
