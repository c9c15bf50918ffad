"""Finds rows of a run: by the index what to read, then only what is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from outcomebox.reward.rows import Row, placed_rows, unseal
from outcomebox.rollout.showing.view import outcome_of
from outcomebox.rollout.storing.index import read_index
from outcomebox.sandbox import InputError


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows are asked for; None where all are.

    Attributes:
        uid: A uid, or a pattern with ``*``, ``?`` and ``[...]``.
        repetition: Index of the attempt.
        attempt: Index of the try.
        outcomes: Outcomes.
    """

    uid: str | None = None
    repetition: int | None = None
    attempt: int | None = None
    outcomes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A row and where it stands.

    Attributes:
        uid: Its task.
        repetition: Index of the attempt.
        attempt: Index of the try.
        outcome: Its outcome.
        offset: Where its line begins.
        length: Bytes of its line.
    """

    uid: str
    repetition: int
    attempt: int
    outcome: str
    offset: int
    length: int

    def fits(self, wanted: Wanted) -> bool:
        """Whether it is asked for."""
        return (
            (wanted.uid is None or self.uid == wanted.uid or fnmatchcase(self.uid, wanted.uid))
            and wanted.repetition in (None, self.repetition)
            and wanted.attempt in (None, self.attempt)
            and (wanted.outcomes is None or self.outcome in wanted.outcomes)
        )


def places(rows: Path) -> list[Place]:
    """All rows of a file by key; by its index where that serves, which reads no row.

    Raises:
        InputError: The file cannot be read, or is damaged.
    """
    try:
        found = [
            Place(each.uid, each.repetition, each.attempt, each.outcome, each.offset, each.length)
            for each in read_index(rows)
        ]
    except InputError:
        # Rows of another version may lack what an index needs. Damaged ones are refused here, too.
        found = list(_scanned(rows))
    return sorted(found, key=lambda each: (each.uid, each.repetition, each.attempt))


def _scanned(rows: Path) -> Iterator[Place]:
    start = 0
    for placed in placed_rows(rows):
        row = placed.row
        yield Place(
            str(row.get("uid")),
            row.get("repetition") or 0,
            row.get("try") or 0,
            outcome_of(row),
            start,
            placed.end - start,
        )
        start = placed.end


def results(found: Sequence[Place]) -> Counter[str]:
    """Outcomes of attempts: an attempt's last clean try counts, or without one its last."""
    best: dict[tuple[str, int], tuple[bool, int, str]] = {}
    for each in found:
        key = (each.uid, each.repetition)
        rank = (each.outcome != "system_error", each.attempt, each.outcome)
        best[key] = max(best.get(key, rank), rank)
    return Counter(outcome for _, _, outcome in best.values())


def read_at(rows: Path, found: Sequence[Place]) -> Iterator[Row]:
    """The rows at some places, one at a time.

    Raises:
        InputError: The file cannot be read, or changed meanwhile.
    """
    try:
        with rows.open("rb") as file:
            for each in found:
                file.seek(each.offset)
                try:
                    yield unseal(file.read(each.length))
                except ValueError as error:
                    raise InputError(
                        f"the row of {each.uid} repetition {each.repetition} is damaged ({error})",
                        file=rows,
                    ) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=rows) from error
