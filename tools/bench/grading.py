"""What a verdict costs: by rows of the database, and by changes.

The state is given as a session leaves it (what it changed over what was there before); timed is
`grade` alone, in CPU time, since nothing in it waits. In the same run two other ways to come to a
verdict are timed: `compare`, which first finds the changes by comparing all rows of both states and
then grades, and `dump`, the plain way: both databases as sorted lists, compared with ``==``, which
gives no reasons and knows no generated ids. `alike` is `grade` where new rows differ in their ids
only.

    ./pants run tools/bench:grading -- [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from outcomebox.reward import Check, grade
from outcomebox.sandbox.changes import TerminalState, terminal_state
from outcomebox.sandbox.database import Cells, DatabaseState, Key, TableInfo
from outcomebox.sandbox.overlay import Overlay

ROWS = (1_000, 10_000, 100_000)
CHANGES = (1, 20, 200, 1_000)
NEW = 10**6  # first generated id

_INFOS = {
    "orders": TableInfo(
        "orders", ("id",), ("id", "status", "customer", "note"), {"status": "new"}, {}
    ),
    "items": TableInfo(
        "items", ("id",), ("id", "order_id", "sku", "n"), {}, {"order_id": ("orders", "id")}
    ),
}
_SCHEMA = {("table", name): (name, f"CREATE TABLE {name}") for name in _INFOS}


@dataclass(frozen=True)
class World:
    """A database, what an episode made of it, and the check that this meets.

    Attributes:
        check: Half of it about rows that refer to each other by generated ids.
        initial: Before.
        terminal: After, all rows in full.
        state: The same, as a session leaves it.
    """

    check: Check
    initial: DatabaseState
    terminal: DatabaseState
    state: TerminalState


def make_world(rows: int, changes: int, *, alike: bool = False) -> World:
    """A world with so many rows before, and so many changes.

    Args:
        rows: In two tables.
        changes: Updates, deletes and inserts; half of them inserts.
        alike: Whether the new rows differ in nothing but their ids.
    """
    half = rows // 2
    orders: dict[Key, Cells] = {
        (at,): (at, "open", f"customer {at % 97}", None) for at in range(1, half + 1)
    }
    items: dict[Key, Cells] = {
        (at,): (at, at, f"article {at % 31}", 1) for at in range(1, half + 1)
    }
    edits = changes // 4
    inserts = changes - 2 * edits
    new_orders = (inserts + 1) // 2
    patch: dict[str, dict[Key, Cells | None]] = {"orders": {}, "items": {}}
    tables: dict[str, dict[str, list[Any]]] = {
        "orders": {"insert": [], "update": []},
        "items": {"insert": [], "delete": []},
    }
    for at in range(1, edits + 1):
        patch["orders"][at,] = (at, "paid", *orders[at,][2:])
        tables["orders"]["update"].append({"key": {"id": at}, "set": {"status": "paid"}})
        patch["items"][at,] = None
        tables["items"]["delete"].append({"key": {"id": at}})
    for at in range(inserts):
        number, into = (at, "orders") if at < new_orders else (at - new_orders, "items")
        key, name = NEW + number, "same" if alike else f"new {number}"
        label = {"$id": f"order {number}"}
        if into == "orders":
            patch[into][key,] = (key, "new", name, None)
            tables[into]["insert"].append({"id": label, "customer": name})
        else:
            patch[into][key,] = (key, key, name, 1)
            row = {"id": {"$id": f"item {number}"}, "order_id": label, "sku": name, "n": 1}
            tables[into]["insert"].append(row)
    check = Check.from_json({"tables": _listed(tables)})
    bags: Mapping[str, tuple[Cells, ...]] = {"orders": (), "items": ()}
    initial = DatabaseState(_INFOS, _SCHEMA, {"orders": orders, "items": items}, bags)
    over = {name: Overlay(initial.keyed[name], patch[name]) for name in _INFOS}
    full = {name: dict(table.items()) for name, table in over.items()}
    terminal = DatabaseState(_INFOS, _SCHEMA, full, bags)
    found = terminal_state(initial, terminal)
    lazy = DatabaseState(_INFOS, _SCHEMA, over, bags)
    state = TerminalState(initial, lazy, found.changes, ())
    return World(check, initial, terminal, state)


def _listed(tables: Mapping[str, Mapping[str, list[Any]]]) -> dict[str, Any]:
    kept = {name: {op: rows for op, rows in ops.items() if rows} for name, ops in tables.items()}
    return {name: ops for name, ops in kept.items() if ops}


def graded(world: World) -> None:
    """The verdict of a state whose changes are known.

    Raises:
        AssertionError: It is not the right one.
    """
    verdict = grade(world.check, world.state)
    if verdict.outcome != "passed" or "search" in verdict.details:
        raise AssertionError(verdict.to_json())


def compared(world: World) -> None:
    """The verdict by a full comparison first."""
    state = terminal_state(world.initial, world.terminal)
    if grade(world.check, state).outcome != "passed":
        raise AssertionError(world)


def dumped(world: World) -> None:
    """Both databases as sorted lists."""
    one, other = (
        [sorted(state.keyed[name].values(), key=repr) for name in sorted(state.tables)]
        for state in (world.terminal, world.terminal)
    )
    if one != other:
        raise AssertionError(world)


def p50(run: Callable[[World], None], world: World, seconds: float) -> float:
    """The median CPU time of a run in ms, from at least three runs in about so many seconds."""
    times: list[float] = []
    until = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < until:
        started = time.process_time()
        run(world)
        times.append(time.process_time() - started)
    return statistics.median(times) * 1e3


def measure(seconds: float) -> dict[str, Any]:
    """All figures of one run."""
    by_rows = []
    for rows in ROWS:
        world = make_world(rows, 20)
        line: dict[str, float] = {"rows": rows, "changes": 20}
        line |= {run.__name__: p50(run, world, seconds) for run in (graded, compared, dumped)}
        by_rows.append(line)
    by_changes = []
    for changes in CHANGES:
        world, alike = (make_world(10_000, changes, alike=each) for each in (False, True))
        line = {"rows": 10_000, "changes": changes}
        line |= {"graded": p50(graded, world, seconds), "alike": p50(graded, alike, seconds)}
        by_changes.append(line)
    most, least = by_changes[-1], by_changes[1]
    return {
        "by_rows": by_rows,
        "by_changes": by_changes,
        "growth_with_rows": by_rows[-1]["graded"] / by_rows[0]["graded"],
        "ms_a_change": {
            str(line["changes"]): line["graded"] / line["changes"] for line in (least, most)
        },
        "faster_than_compare": by_rows[1]["compared"] / by_rows[1]["graded"],
        "faster_than_dump": by_rows[1]["dumped"] / by_rows[1]["graded"],
    }


def show(result: Mapping[str, Any]) -> None:
    """Print the figures as a table."""
    print(f"{'p50, ms':>10} {'changes':>8} {'grade':>9} {'compare':>9} {'dump':>9} {'alike':>9}")
    for line in (*result["by_rows"], *result["by_changes"]):
        cells = (line.get(name) for name in ("graded", "compared", "dumped", "alike"))
        shown = " ".join(f"{'' if ms is None else format(ms, '.2f'):>9}" for ms in cells)
        print(f"{line['rows']:>10} {line['changes']:>8} {shown}")
    print(f"from {ROWS[0]} to {ROWS[-1]} rows: {result['growth_with_rows']:.2f} times as long")
    print(f"ms a change, by changes: {json.dumps(result['ms_a_change'])}")
    print(
        f"at 10000 rows and 20 changes: {result['faster_than_compare']:.1f} times as fast as with "
        f"a full comparison, {result['faster_than_dump']:.1f} times as fast as a dump"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="for each figure (default 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    result = measure(given.seconds)
    if given.json:
        print(json.dumps(result))
    else:
        show(result)


if __name__ == "__main__":
    main()
