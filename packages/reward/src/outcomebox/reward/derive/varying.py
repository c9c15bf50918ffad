"""What differs between replays of the same calls: by the server's seed, by its clock, or at all."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import zip_longest

from outcomebox.reward.derive.rows import Cell, CellKey, cell_key, plain_value, written
from outcomebox.reward.derive.words import Advice
from outcomebox.reward.golden import GoldenRun
from outcomebox.sandbox import Change, Value
from outcomebox.sandbox.instants import parse_instant

OTHER_SEED = 1
"""The seed of the replay that shows what a seed decides; the first has 0."""
_LATER = timedelta(days=1, hours=1, minutes=1, seconds=1)
_NEAR_S = 3600
_FAR_S = 2 * 86400
_EPOCH_S = int(datetime(1970, 1, 1, tzinfo=UTC).toordinal() - 1) * 86400
_RUNS = re.compile(r"\d+|[^\W\d_]+|[\W_]")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def later(now: str) -> str:
    """Another clock, about a day on."""
    return (datetime.fromisoformat(now) + _LATER).isoformat()


@dataclass(frozen=True, slots=True)
class Variation:
    """What two more replays show.

    Attributes:
        cells: What to write for a cell that differs between them, and why.
        problems: Rows that one replay writes and another does not.
    """

    cells: dict[CellKey, Cell]
    problems: tuple[str, ...]


def variation(
    base: GoldenRun, reseeded: GoldenRun, clocked: GoldenRun | None, now: str
) -> Variation:
    """Compare a replay with one of another seed and, where it went well, one at another clock.

    Args:
        base: The replay that the block is derived from.
        reseeded: The same calls with another seed.
        clocked: The same calls at :func:`later`; None if they are refused then.
        now: The clock of the first two.
    """
    cells: dict[CellKey, Cell] = {}
    problems = []
    for one, other in _paired(base, reseeded):
        if one is None or other is None:
            there = one or other
            assert there is not None  # noqa: S101 -- zip_longest gives one of the two
            problems.append(
                f"{there.table}: the same calls write other rows with seed {OTHER_SEED} than with "
                "seed 0; mend the tool, since no block fits both"
            )
            continue
        for column, value, seeded in _differing(one, other):
            cells[cell_key(one, column)] = _by_seed(value, seeded)
    for change in base.state.changes:
        for column in _columns(change):
            value = (change.new or {}).get(column)
            if _is_real_now(value, now):
                cells[cell_key(change, column)] = _unfrozen()
    if clocked is not None:
        for one, other in _paired(base, clocked):
            if one is None or other is None:
                continue  # a day later other rows may be due
            for column, value, moved in _differing(one, other):
                if not _shifted(value, moved):
                    cells.setdefault(cell_key(one, column), _by_clock(value, moved, now))
    return Variation(cells, tuple(dict.fromkeys(problems)))


def _paired(left: GoldenRun, right: GoldenRun) -> Iterator[tuple[Change | None, Change | None]]:
    """Changes of the same row; new rows of a table in the order in which they were written."""
    sides: list[defaultdict[object, list[Change]]] = []
    for run in (left, right):
        side: defaultdict[object, list[Change]] = defaultdict(list)
        for change in sorted(run.state.changes, key=written):
            named = change.key is not None and change.op != "insert"
            key = tuple((change.key or {}).values()) if named else None
            side[change.op, change.table, key].append(change)
        sides.append(side)
    for name in {**sides[0], **sides[1]}:
        yield from zip_longest(sides[0][name], sides[1][name])


def _columns(change: Change) -> tuple[str, ...]:
    return change.columns if change.op == "update" else tuple(change.new or {})


def _differing(one: Change, other: Change) -> Iterator[tuple[str, Value, Value]]:
    old, new = one.new or {}, other.new or {}
    for column in dict.fromkeys([*_columns(one), *_columns(other)]):
        if old.get(column) != new.get(column):
            yield column, old.get(column), new.get(column)


def _by_seed(value: Value, other: Value) -> Cell:
    note = f"differs with the seed: {_shown(value)} and {_shown(other)}"
    if isinstance(value, str) and isinstance(other, str):
        pattern = common_shape(value, other)
        if pattern is not None:
            return Cell({"$pattern": pattern}, Advice(f"{note}; see that this says enough"))
    loose = {"$any": True} if value is None or other is None else {"$not_null": True}
    return Cell(loose, Advice(f"{note}; narrow it if you can"))


def _by_clock(value: Value, moved: Value, now: str) -> Cell:
    note = (
        f"depends on the clock: {_shown(moved)} a day later; right as long as the domain's now is "
        f"{now}"
    )
    return Cell(plain_value(value), Advice(note))


def _unfrozen() -> Cell:
    return Cell(
        {"$not_null": True},
        Advice("holds the machine's own time, other on each run; let the tool use server.now"),
    )


def common_shape(left: str, right: str) -> str | None:
    """A pattern for two texts that differ in some runs of digits or letters; None if in more."""
    if _UUID.fullmatch(left) and _UUID.fullmatch(right):
        return _UUID.pattern
    runs = list(zip_longest(_RUNS.findall(left), _RUNS.findall(right)))
    if any(a is None or b is None for a, b in runs):
        return None
    parts = []
    for a, b in runs:
        if a == b:
            parts.append(re.escape(a).replace(r"\-", "-").replace(r"\ ", " "))
            continue
        if not (a.isalnum() and b.isalnum()):
            return None
        kind = r"\d" if a.isdigit() and b.isdigit() else r"\w"
        parts.append(f"{kind}{{{len(a)}}}" if len(a) == len(b) else f"{kind}+")
    fixed = [a for a, b in runs if a == b and a.isalnum()]
    return "".join(parts) if fixed or any(len(part) > 3 for part in parts) else None


def _shifted(value: Value, moved: Value) -> bool:
    """Whether both are moments as far apart as the clocks, dates among them."""
    if not (isinstance(value, str) and isinstance(moved, str)):
        return False
    one, other = parse_instant(value), parse_instant(moved)
    if one is None or other is None:
        return False
    return other - one in (int(_LATER.total_seconds()), 86400)


def _is_real_now(value: Value, now: str) -> bool:
    """Whether a moment is the machine's own, where the frozen clock stands elsewhere."""
    moment = parse_instant(value) if isinstance(value, str) and ":" in value else None
    frozen = parse_instant(now)
    if moment is None or frozen is None:
        return False
    real = time.time() + _EPOCH_S
    return abs(moment - real) < _NEAR_S and abs(frozen - int(real)) > _FAR_S


def _shown(value: Value) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
