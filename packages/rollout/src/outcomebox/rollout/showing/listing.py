"""A run in a terminal, one line an episode."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from outcomebox.interpret.replay.printable import printable
from outcomebox.rollout.showing.brief import note_of
from outcomebox.rollout.showing.placing import Json
from outcomebox.rollout.showing.terminal import SIGNS, STYLES, safe
from outcomebox.rollout.showing.words import OUTCOMES


def show_counts(counts: Mapping[str, int], simulated: bool, console: Console) -> None:
    """Print what a run found, in a line; system errors apart."""
    clean = counts.get("passed", 0) + counts.get("failed", 0)
    attempts = sum(counts.values())
    text = Text(f"{attempts} attempt{'s' * (attempts != 1)}: ")
    text.append(f"{counts.get('passed', 0)} passed", "green")
    text.append(f" and {counts.get('failed', 0)} failed", "red")
    text.append(f" of {clean} clean")
    if counts.get("system_error"):
        text.append(f"; {counts['system_error']} without a verdict (system error)", "magenta")
    if simulated:
        text.append("; the policy is simulated, no model was asked", "yellow")
    console.print(text)


def show_list(views: Sequence[Json], console: Console) -> None:
    """Print episodes, one line each."""
    # In a pipe a line is whole, however long; in a terminal it ends at the edge.
    whole = not console.is_terminal
    names = [_name(view) for view in views]
    ends = [printable(_ending(view)) for view in views]
    for view, name, end in zip(views, names, ends, strict=True):
        line = Text.assemble(
            (SIGNS.get(view["outcome"], "?"), STYLES.get(view["outcome"], "")),
            f" {name.ljust(max(map(len, names)))}  ",
            (f"{end.ljust(max(map(len, ends)))}  ", "dim"),
            safe(note_of(view), "dim"),
        )
        line.rstrip()
        console.print(line, no_wrap=True, overflow="ellipsis", soft_wrap=whole)


def _name(view: Json) -> str:
    attempt = f" try {view['try']}" if view["try"] else ""
    return printable(f"{view['uid']} #{view['repetition']}{attempt}")


def _ending(view: Json) -> str:
    if view["outcome"] == "system_error":
        error = view["error"]
        return f"{OUTCOMES['system_error']} ({error['phase']})" if error else "system error"
    return str(view["finish_reason"] or "")


def next_step(run: Path, view: Json) -> str:
    """The command that shows an episode whole."""
    uid, path = shlex.quote(view["uid"]), shlex.quote(str(run))
    return f"outcomebox-rollout show {path} --uid {uid} --repetition {view['repetition']}"
