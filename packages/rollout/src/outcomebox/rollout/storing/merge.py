"""The shards of one run as one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outcomebox.reward.rows import Row, placed_rows, unseal
from outcomebox.rollout.digest import compared
from outcomebox.rollout.runfolder import RunFolder
from outcomebox.rollout.storing.files import new_file, refuse_existing
from outcomebox.rollout.storing.groups import Key, groups
from outcomebox.rollout.storing.index import entry_of, index_line, row_checksum
from outcomebox.rollout.storing.plans import saved_run, together
from outcomebox.rollout.storing.stopped import marks_together
from outcomebox.sandbox import InputError

Tell = Callable[[int, int], None]

_OF_THE_TASK = ("packages", "task", "content", "domain", "servers")
_SHARED = ("policy", "user", "judge")


@dataclass(frozen=True, slots=True)
class Merged:
    """What was merged.

    Attributes:
        out: The rows of the merged run.
        rows: How many there are.
        folded: Rows that stood in more than one shard, and said the same.
        exchanges: Tries with their exchanges.
    """

    out: Path
    rows: int
    folded: int
    exchanges: int

    @property
    def summary(self) -> str:
        """One line."""
        twice = f", {self.folded} that stood twice kept once" if self.folded else ""
        kept = f", with the exchanges of {self.exchanges} tries" if self.exchanges else ""
        return f"{self.rows} rows in {self.out}{twice}{kept}"

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "out": str(self.out),
            "rows": self.rows,
            "folded": self.folded,
            "exchanges": self.exchanges,
        }


@dataclass(frozen=True, slots=True)
class _Place:
    run: RunFolder
    line: int
    start: int
    length: int


class _Shards:
    """The rows of all shards by key, each checked against the others."""

    def __init__(self) -> None:
        self.places: dict[Key, _Place] = {}
        self.folded = 0
        self._shared: tuple[Any, str] | None = None
        self._tasks: dict[str, tuple[Any, str]] = {}

    def read(self, run: RunFolder, tell: Callable[[int], None]) -> None:
        start = 0
        for placed in placed_rows(run.rows):
            length = placed.end - start
            try:
                key = entry_of(placed.row, start, length).key
            except ValueError as error:
                raise InputError(
                    f"line {placed.number} is no row of an episode: {error}", file=run.rows
                ) from None
            self._add(key, placed.row, _Place(run, placed.number, start, length))
            start = placed.end
            tell(start)

    def _add(self, key: Key, row: Row, place: _Place) -> None:
        where = f"{place.run.rows}:{place.line}"
        self._same(row, where)
        known = self.places.get(key)
        if known is None:
            self.places[key] = place
            return
        if compared(_read(known)) != compared(row):
            raise InputError(
                f"{key[0]} repetition {key[1]} try {key[2]} says something else at "
                f"{known.run.rows}:{known.line}; take one of the two out",
                file=where,
            )
        self.folded += 1

    def _same(self, row: Row, where: str) -> None:
        """Refuse rows of other settings, or of other versions of a task."""
        shared = {name: row.get(name) for name in _SHARED}
        shared |= {name: row["versions"].get(name) for name in ("packages", "profile", "format")}
        first, at = self._shared = self._shared or (shared, where)
        for name, value in shared.items():
            if value != first[name]:
                raise InputError(
                    f"differs from {at} ({_short(first[name])}); merge shards of one run",
                    file=where,
                    field=name,
                    value=value,
                )
        versions = {name: row["versions"].get(name) for name in _OF_THE_TASK}
        known, at = self._tasks.setdefault(row["uid"], (versions, where))
        for name, value in versions.items():
            if value != known[name]:
                raise InputError(
                    f"is another version of the task than at {at} ({_short(known[name])})",
                    file=where,
                    task=row["uid"],
                    field=f"versions.{name}",
                    value=value,
                )


def merge_runs(runs: Sequence[RunFolder], out: RunFolder, tell: Tell | None = None) -> Merged:
    """Put the shards of one run together, sorted by key.

    Args:
        runs: The shards.
        out: The run to write; its folder is made if it is not there.
        tell: Told of the bytes that were read, and of how many there are.

    Raises:
        InputError: The shards are not of one run, two rows of one key differ, a file is damaged,
            or ``out`` holds a run already or cannot be written. Then nothing was written.
    """
    saved = [each for run in runs if (each := saved_run(run.settings)) is not None]
    if saved and len(saved) != len(runs):
        bare = next(run for run in runs if not run.settings.is_file())
        raise InputError("is missing, and other shards have theirs; restore it", file=bare.settings)
    settings = together(saved) if saved else None
    marks = marks_together(runs)
    for path in (out.rows, out.index, out.exchanges, out.settings, out.stopped):
        refuse_existing(path)
    recorded = _recorded(runs)
    total = sum(run.rows.stat().st_size for run in runs)
    shards, before = _Shards(), 0
    for run in runs:
        shards.read(run, _part(tell, before, total))
        before += run.rows.stat().st_size
    if not shards.places:
        raise InputError("holds no row, so there is nothing to merge", file=runs[0].rows)
    tries = _exchanges(runs, shards.places) if recorded else {}
    new_folder = not out.folder.exists()
    try:
        out.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            # What stands alone on a stack is put in place last: rows make a run.
            rows = stack.enter_context(new_file(out.rows))
            if marks is not None:
                stack.enter_context(new_file(out.stopped)).write_bytes(marks)
            if settings is not None:
                stack.enter_context(new_file(out.settings)).write_bytes(settings)
            if recorded:
                _write_exchanges(stack.enter_context(new_file(out.exchanges)), tries)
            _write_rows(rows, stack.enter_context(new_file(out.index)), shards.places)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=out.folder) from error
    finally:
        if not out.rows.exists():
            # What came first is of no use without them.
            for path in (out.index, out.exchanges, out.settings, out.stopped):
                path.unlink(missing_ok=True)
            if new_folder and out.folder.is_dir() and not any(out.folder.iterdir()):
                out.folder.rmdir()
    return Merged(out.rows, len(shards.places), shards.folded, len(tries))


def _part(tell: Tell | None, before: int, total: int) -> Callable[[int], None]:
    return (lambda _: None) if tell is None else (lambda done: tell(before + done, total))


def _read(place: _Place) -> Row:
    return unseal(_line(place))


def _line(place: _Place) -> bytes:
    with place.run.rows.open("rb") as file:
        file.seek(place.start)
        return file.read(place.length)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _write_rows(rows: Path, index: Path, places: dict[Key, _Place]) -> None:
    """Rows in the order of their keys, with their index."""
    end = 0
    with rows.open("wb") as out, index.open("wb") as slim:
        for key in sorted(places):
            line = _line(places[key])
            out.write(line)
            entry = entry_of(unseal(line), end, len(line))
            slim.write(index_line(entry, row_checksum(line)))
            end += len(line)


def _recorded(runs: Sequence[RunFolder]) -> bool:
    """Whether the run was recorded: all shards of it, or none."""
    bare = [run for run in runs if not run.exchanges.is_file()]
    if bare and len(bare) != len(runs):
        raise InputError(
            "is missing, and other shards were recorded; restore it, or leave all of them out",
            file=bare[0].exchanges,
        )
    return not bare


def _exchanges(runs: Sequence[RunFolder], places: dict[Key, _Place]) -> dict[Key, _Place]:
    """Where the exchanges of each row stand: in the shard that the row is taken from."""
    tries: dict[Key, _Place] = {}
    for run in runs:
        for group in groups(run.exchanges):
            row = places.get(group.key)
            if row is not None and row.run == run:
                tries[group.key] = _Place(run, group.line, group.start, group.end - group.start)
    for key in sorted(places):
        if key not in tries:
            raise InputError(
                f"has no exchanges of {key[0]} repetition {key[1]} try {key[2]}, which has a row",
                file=places[key].run.exchanges,
            )
    return tries


def _write_exchanges(path: Path, tries: dict[Key, _Place]) -> None:
    with path.open("wb") as out:
        for key in sorted(tries):
            place = tries[key]
            with place.run.exchanges.open("rb") as file:
                file.seek(place.start)
                out.write(file.read(place.length))
