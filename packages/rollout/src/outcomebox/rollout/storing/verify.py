"""Is everything of a run there, once, and as it was written?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outcomebox.reward.rows import unseal
from outcomebox.rollout.runfolder import RunFolder
from outcomebox.rollout.storing.groups import TRY, Key, key_of
from outcomebox.rollout.storing.index import Entry, entry_of, index_line, row_checksum
from outcomebox.rollout.storing.plans import SavedRun, saved_run
from outcomebox.sandbox import InputError

Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong.

    Attributes:
        kind: ``damaged``, ``cut``, ``twice``, ``missing``, ``no_verdict``, ``unplanned``, ``index``
            or ``exchanges``.
        text: It in words, with file and line.
        file: Name of the file.
        line: Number of the line; None where there is none.
    """

    kind: str
    text: str
    file: str
    line: int | None = None


@dataclass
class Verified:
    """What was found.

    Attributes:
        rows: Whole rows.
        faults: All that is wrong.
        notes: What is as it may be and still is good to know.
        planned: Attempts of the run's plan; None where no plan is known.
    """

    rows: int = 0
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    planned: int | None = None

    @property
    def summary(self) -> str:
        """One line."""
        plan = "" if self.planned is None else f" of a plan of {self.planned} attempts"
        return f"{self.rows} rows{plan}: {len(self.faults) or 'no'} faults"

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "rows": self.rows,
            "planned": self.planned,
            "faults": [
                {"kind": each.kind, "file": each.file, "line": each.line, "text": each.text}
                for each in self.faults
            ],
            "notes": self.notes,
        }

    def add(self, kind: str, path: Path, line: int | None, text: str) -> None:
        """Note a fault."""
        where = path.name if line is None else f"{path.name}:{line}"
        self.faults.append(Fault(kind, f"{where}: {text}", path.name, line))


def verify_run(
    run: RunFolder, planned: Callable[[SavedRun], set[str]], tell: Tell | None = None
) -> Verified:
    """See that all of a run is there, once, and as it was written.

    Args:
        run: Its files.
        planned: The uids of the tasks that settings name; raises InputError if they do not load.
        tell: Told of the bytes that were read, and of how many there are.

    Raises:
        InputError: The rows or the settings cannot be read.
    """
    found = Verified()
    sizes = [each.stat().st_size if each.is_file() else 0 for each in (run.rows, run.exchanges)]
    entries = _rows(run.rows, found, _part(tell, 0, sum(sizes)))
    _index(run, found)
    _plan(run, {entry.key: entry for entry in entries}, found, planned)
    if run.exchanges.is_file():
        _exchanges(run, entries, found, _part(tell, sizes[0], sum(sizes)))
    return found


def _part(tell: Tell | None, before: int, total: int) -> Callable[[int], None]:
    return (lambda _: None) if tell is None else (lambda done: tell(before + done, total))


def _lines(path: Path, tell: Callable[[int], None]) -> Iterator[tuple[int, int, bytes]]:
    """Number, offset and bytes of each line."""
    offset = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield number, offset, line
                offset += len(line)
                tell(offset)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error


def _rows(path: Path, found: Verified, tell: Callable[[int], None]) -> list[Entry]:
    entries: list[Entry] = []
    first: dict[Key, int] = {}
    for number, offset, line in _lines(path, tell):
        if not line.endswith(b"\n"):
            found.add("cut", path, number, "cut off; the next start takes it out")
            continue
        try:
            entry = entry_of(unseal(line), offset, len(line))
        except ValueError as error:
            found.add("damaged", path, number, f"damaged ({error}); restore it or take it out")
            continue
        found.rows += 1
        before = first.setdefault(entry.key, number)
        if before != number:
            text = f"{_named(entry.key)} stands already in line {before}; take one out"
            found.add("twice", path, number, text)
        entries.append(entry)
    return entries


def _named(key: Key) -> str:
    return f"{key[0]} repetition {key[1]} try {key[2]}"


def _index(run: RunFolder, found: Verified) -> None:
    """Compare the index with what it would be; behind a damaged row nothing can be said."""
    if not run.index.is_file():
        found.notes.append(f"there is no {run.index.name}; the next start makes it")
        return
    if any(fault.kind == "damaged" for fault in found.faults):
        found.notes.append(f"{run.index.name} was not looked at, because of the damaged rows")
        return
    offset = count = 0
    with run.rows.open("rb") as rows, run.index.open("rb") as index:
        for line in rows:
            if not line.endswith(b"\n"):
                break
            count += 1
            wanted = index_line(entry_of(unseal(line), offset, len(line)), row_checksum(line))
            offset += len(line)
            kept = index.readline()
            if kept != wanted:
                what = "is not the row's" if kept.endswith(b"\n") else "is missing"
                text = f"{what}; the next start makes the index again"
                found.add("index", run.index, count, text)
                return
        if index.read(1):
            found.add("index", run.index, count + 1, "has more than the rows")


def _plan(
    run: RunFolder, rows: dict[Key, Entry], found: Verified, planned: Callable[[SavedRun], set[str]]
) -> None:
    """Compare the rows with the attempts that the run was to make."""
    saved = saved_run(run.settings)
    if saved is None:
        found.notes.append(
            f"there is no {run.settings.name}, so attempts without a row are not known"
        )
        return
    try:
        uids = planned(saved)
    except InputError as error:
        uids = {key[0] for key in rows}
        found.notes.append(
            f"tasks without any row are not known, for the tasks do not load: {error}"
        )
    plan = {(uid, repetition) for uid in uids for repetition in saved.repetitions}
    found.planned = len(plan)
    tried = {key[:2] for key in rows}
    judged = {key[:2] for key, entry in rows.items() if entry.outcome != "system_error"}
    for kind, attempts, what in (
        ("missing", plan - tried, "has no row"),
        ("no_verdict", plan & tried - judged, "has no verdict: every try is a system_error"),
        ("unplanned", tried - plan, "has rows and is not in the plan"),
    ):
        for uid, repetition in sorted(attempts):
            found.add(kind, run.rows, None, f"{uid} repetition {repetition} {what}")


def _exchanges(
    run: RunFolder, entries: list[Entry], found: Verified, tell: Callable[[int], None]
) -> None:
    path = run.exchanges
    lines, since = 0, 1
    grouped: set[Key] = set()
    for number, _, line in _lines(path, tell):
        if not line.endswith(b"\n"):
            found.add("cut", path, number, "cut off; the next start takes it out")
            continue
        try:
            one = unseal(line)
            key = key_of(one)
        except (ValueError, KeyError) as error:
            found.add("damaged", path, number, f"damaged ({error}); restore it")
            continue
        lines += 1
        if one.get("role") != TRY:
            continue
        if one.get("exchanges") != lines - 1:
            text = f"{_named(key)} has {lines - 1} exchanges, and had {one.get('exchanges')}"
            found.add("exchanges", path, number, text)
        grouped.add(key)
        lines, since = 0, number + 1
    if lines:
        found.add(
            "exchanges",
            path,
            since,
            "exchanges of a try that was cut off; the next start takes them out",
        )
    rows = {entry.key for entry in entries}
    for key in sorted(grouped - rows):
        found.add("exchanges", path, None, f"{_named(key)} has exchanges and no row")
    for key in sorted(rows - grouped):
        found.add("exchanges", path, None, f"{_named(key)} has a row and no exchanges")
