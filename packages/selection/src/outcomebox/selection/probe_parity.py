"""`--check-parity`: would the trainer read the recorded outputs as the evaluation server does?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from outcomebox.interpret.replay import Replay, ReplayError, Source, report_json
from outcomebox.interpret.replay.command import load_tools, replay_files
from outcomebox.interpret.replay.page import page
from outcomebox.interpret.replay.printable import encodable
from outcomebox.interpret.replay.show import show
from outcomebox.selection.atomic import write_files
from outcomebox.selection.errors import InputError
from outcomebox.selection.probe_settings import EPISODES

REPORT = "parity.json"
PAGE = "parity.html"


@dataclass(frozen=True)
class Parity:
    """A finished check.

    Attributes:
        report: the result as plain JSON values; docs/parity.md describes the fields.
        files: where it was written.
    """

    report: dict[str, Any]
    files: tuple[Path, ...]

    @property
    def same(self) -> bool:
        """Whether both readers would execute the same calls."""
        return not self.report["turns_changed"]

    def print(self, console: Console) -> None:
        """Prints the table and an example of each difference."""
        console.print(show(self.report))


def check_readers(left: str, right: str) -> None:
    """Sees that both readers are there, before any episode is paid for.

    Raises:
        InputError: one is not.
    """
    try:
        Replay(left, right).readers()
    except ReplayError as error:
        raise _refused(error) from None


def check_parity(folder: Path, left: str, right: str, console: Console) -> Parity:
    """Reads every recorded output of a run with two readers and classes what differs.

    The report is written beside the rows, as JSON and as a page that needs no network.

    Args:
        folder: the run's folder.
        left: a profile or a live parser, such as that of the evaluation server.
        right: the other, such as that of the trainer.
        console: where progress goes.

    Raises:
        InputError: a reader is not there, or the rows hold no raw output.
    """
    episodes = folder / EPISODES
    replay = Replay(left, right, shrink=True)
    try:
        source = Source(tools=load_tools(None, episodes))
        result = replay_files([episodes], source, replay, console)
        refused = [key for key in result.tally.classes if key.cause == "tools_refused"]
        if refused:
            # Nothing can be said of the outputs then; plain schemas show what would be.
            source = Source(tools=source.tools, plain=True)
            first, result = result, replay_files([episodes], source, replay, console)
            result.notes += [
                f"{key.title(first.left, first.right)}; compared with plain schemas instead"
                for key in refused
            ]
    except ReplayError as error:
        raise _refused(error) from None
    report = report_json(result)
    text = encodable(json.dumps(report, ensure_ascii=False, indent=1)) + "\n"
    write_files(folder, {REPORT: text.encode(), PAGE: page(report).encode()})
    return Parity(report, (folder / REPORT, folder / PAGE))


def _refused(error: ReplayError) -> InputError:
    return InputError("parity", "--check-parity", str(error), "Name two readers, or mend the rows")
