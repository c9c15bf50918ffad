"""What a session has changed: found by the change log, and by comparing all rows, in one run.

A session with 20 changed rows is closed and read in a database of 1,000 to 100,000 rows. Also told
is what the log costs before: a mark after a call, and a connection that has to read the triggers.
Times are CPU time, for nothing here waits.

    ./pants run tools/bench:changes -- [--rows 1000 10000 100000] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from outcomebox.sandbox import SqliteImage, read_state
from outcomebox.sandbox.backends.sqlite_log import install
from tools.bench.harness import spread

CHANGES = 20
_SCHEMA = """
CREATE TABLE customers(customer_id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, name TEXT);
CREATE TABLE orders(
  order_id TEXT PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers(customer_id),
  status TEXT NOT NULL DEFAULT 'open', total REAL, placed_at TEXT);
CREATE TABLE lines(
  order_id TEXT REFERENCES orders(order_id) ON DELETE CASCADE, sku TEXT, amount INTEGER,
  PRIMARY KEY(order_id, sku));
"""
# Eight updates, eight inserts, and two orders deleted, each with its line.
WRITES = [
    *(("UPDATE orders SET status = 'lost' WHERE order_id = ?", [f"O-{17 * n}"]) for n in range(8)),
    *(("INSERT INTO lines VALUES (?, 'B-2', 1)", [f"O-{17 * n}"]) for n in range(8)),
    *(("DELETE FROM orders WHERE order_id = ?", [f"O-{17 * n + 1}"]) for n in range(2)),
]


def image(rows: int, *, log: bool) -> SqliteImage:
    """A shop of so many rows: a fifth customers, two fifths orders, two fifths their lines."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.executescript(_SCHEMA)
        db.execute("BEGIN")
        few, many = rows // 5, 2 * rows // 5
        db.executemany(
            "INSERT INTO customers VALUES (?, ?, ?)",
            ((f"C-{n}", f"c{n}@example.com", f"Customer {n}") for n in range(few)),
        )
        db.executemany(
            "INSERT INTO orders VALUES (?, ?, 'shipped', ?, '2026-03-02T09:00:00Z')",
            ((f"O-{n}", f"C-{n % few}", n / 4) for n in range(many)),
        )
        db.executemany(
            "INSERT INTO lines VALUES (?, 'A-1', ?)", ((f"O-{n}", n % 9) for n in range(many))
        )
        db.execute("COMMIT")
        if log:
            install(db, read_state(db))
        return SqliteImage(db.serialize())


async def measured(rows: int, times: int) -> dict[str, Any]:
    """Milliseconds to close and read a session of so many rows, both ways."""
    found: dict[str, Any] = {"rows": rows}
    for way in ("log", "full"):
        start = image(rows, log=way == "log")
        start.state.row("orders", {"order_id": ""})  # is read once, as in a run
        taken, marks = [], []
        for _ in range(times):
            with tempfile.TemporaryDirectory() as folder:
                async with start.open() as backing:
                    for name, data in backing.files.items():
                        (Path(folder) / name).write_bytes(data)
                    backing.settle(Path(folder))
                    path = Path(backing.address.format(folder=folder))
                    with closing(sqlite3.connect(path, isolation_level=None)) as db:
                        db.execute("PRAGMA foreign_keys = ON")
                        for change in WRITES:
                            db.execute(*change)
                            began = time.thread_time()
                            mark = await backing.mark()
                            marks.append(time.thread_time() - began)
                    began = time.thread_time()
                    state = await backing.terminal_state([("write", mark)])
                    taken.append(time.thread_time() - began)
            if len(state.changes) != CHANGES:
                raise AssertionError(f"{len(state.changes)} changes by way of {way}")
        found[way] = spread(taken)
        found[f"{way}_mark"] = spread(marks)
        if way == "log":
            by_log = state.changes
        elif state.changes != by_log:
            raise AssertionError("the two ways differ")
    found["times_as_fast"] = found["full"]["p50"] / found["log"]["p50"]
    return found


def opening(*, log: bool) -> dict[str, float]:
    """Milliseconds until a fresh connection has answered its first query."""
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "database.sqlite"
        path.write_bytes(image(1000, log=log).data)
        for _ in range(100):
            began = time.thread_time()
            with closing(sqlite3.connect(path)) as db:
                db.execute("SELECT count(*) FROM orders WHERE order_id = ''").fetchone()
            taken.append(time.thread_time() - began)
    return spread(taken)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--times", type=int, default=15, help="sessions of each size (default 15)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    result: dict[str, Any] = {
        "changes": CHANGES,
        "close": [asyncio.run(measured(rows, given.times)) for rows in given.rows],
        "connect": {"with": opening(log=True), "without": opening(log=False)},
    }
    if given.json:
        print(json.dumps(result))
        return
    print(f"close and read, {CHANGES} changes; p50 in ms")
    print(f"{'rows':>8} {'log':>8} {'full':>9} {'ratio':>8} {'mark':>8}")
    for each in result["close"]:
        print(
            f"{each['rows']:8} {each['log']['p50']:8.2f} {each['full']['p50']:9.2f} "
            f"{each['times_as_fast']:7.1f}x {each['log_mark']['p50']:8.3f}"
        )
    told, without = (result["connect"][way]["p50"] for way in ("with", "without"))
    print(f"connect: {told:.2f} ms with the log, {without:.2f} without")


if __name__ == "__main__":
    main()
