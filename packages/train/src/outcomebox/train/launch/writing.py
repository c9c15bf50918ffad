"""The files of a run, written before it starts: who finds the folder can do it again."""

from __future__ import annotations

from outcomebox.sandbox import InputError
from outcomebox.selection.atomic import write_files
from outcomebox.train.config.loading import config_text
from outcomebox.train.launch.plan import Plan, agent_text
from outcomebox.train.settings import SETTINGS_FILE

RUN_FILE = "run.yaml"
"""The settings, whole, paths made absolute."""

OVERRIDES_FILE = "overrides.txt"
USER_FILE = "user_overrides.txt"
COMMAND_FILE = "command.txt"
PREFLIGHT_FILE = "preflight.txt"


def write_run(plan: Plan, preflight: str) -> None:
    """Write everything that decides the run; each file whole or not at all.

    Args:
        plan: The run.
        preflight: What was looked at, for people.

    Raises:
        InputError: The folder cannot be written.
    """
    contents = {
        RUN_FILE: config_text(plan.config),
        plan.agent_file.name: agent_text(),
        OVERRIDES_FILE: _lines(plan.overrides),
        USER_FILE: _lines(plan.user),
        COMMAND_FILE: f"{plan.shell_text()}\n",
        PREFLIGHT_FILE: preflight,
        SETTINGS_FILE: plan.settings.to_text(),
    }
    try:
        write_files(plan.out, {name: text.encode() for name, text in contents.items()})
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror}); name another out",
            file=plan.loaded.file,
            field="out",
            value=str(plan.out),
        ) from error


def _lines(texts: list[str] | tuple[str, ...]) -> str:
    return "".join(f"{text}\n" for text in texts)
