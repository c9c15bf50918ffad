"""What a verdict may not depend on, and what it may never miss, on made-up databases and ends."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from outcomebox.reward import Verdict, grade
from outcomebox.sandbox.changes import TerminalState, read_state, terminal_state
from reward_states import check

SCRIPT = """
CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT, boss INTEGER REFERENCES people);
CREATE TABLE orders(id INTEGER PRIMARY KEY, person INTEGER REFERENCES people, note TEXT);
CREATE TABLE lines(order_id INTEGER REFERENCES orders, line INTEGER, sku TEXT,
                   PRIMARY KEY(order_id, line));
CREATE TABLE log(what TEXT, who INTEGER REFERENCES people);
INSERT INTO people VALUES (1, 'ann', NULL), (2, 'bob', 1);
INSERT INTO orders VALUES (1, 1, 'old'), (2, 2, NULL);
INSERT INTO lines VALUES (1, 1, 'pen'), (1, 2, 'cup');
INSERT INTO log VALUES ('made', 1), ('made', 1);
"""
# A world is what an episode writes: new people, orders, lines and log entries that refer to each
# other by their place in it; it says nothing about the ids they get.
names = st.sampled_from(["eve", "eve", "dan"])
skus = st.sampled_from(["pen", "pen", "cup"])


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, list[Any]]:
    people = draw(st.lists(st.tuples(names, st.integers(-2, 3)), min_size=1, max_size=4))
    count = len(people)
    orders = draw(
        st.lists(st.tuples(st.integers(-2, count - 1), st.sampled_from(["x", None])), max_size=4)
    )
    lines = []
    if orders:
        lines = draw(
            st.lists(
                st.tuples(st.integers(0, len(orders) - 1), st.integers(1, 2), skus),
                max_size=4,
                unique_by=lambda line: line[:2],
            )
        )
    log = draw(st.lists(st.integers(-2, count - 1), max_size=3))
    return {
        "people": [(name, boss if boss < count else -1) for name, boss in people],
        "orders": orders,
        "lines": lines,
        "log": log,
    }


def written(world: dict[str, list[Any]], rng: random.Random) -> list[tuple[str, tuple[Any, ...]]]:
    """Statements that make a world, with ids and in an order of one's own."""
    person = rng.sample(range(10, 99), len(world["people"]))
    order = rng.sample(range(10, 99), len(world["orders"]))

    def who(place: int) -> int:
        return person[place] if place >= 0 else -place

    steps: list[tuple[str, tuple[Any, ...]]] = [
        ("INSERT INTO people VALUES (?, ?, ?)", (person[at], name, who(boss)))
        for at, (name, boss) in enumerate(world["people"])
    ]
    steps += [
        ("INSERT INTO orders VALUES (?, ?, ?)", (order[at], who(owner), note))
        for at, (owner, note) in enumerate(world["orders"])
    ]
    steps += [
        ("INSERT INTO lines VALUES (?, ?, ?)", (order[to], line, sku))
        for to, line, sku in world["lines"]
    ]
    steps += [("INSERT INTO log VALUES ('did', ?)", (who(place),)) for place in world["log"]]
    steps += [
        ("UPDATE orders SET person = ? WHERE id = 1", (person[0],)),
        ("DELETE FROM lines WHERE line = 2 AND order_id = 1", ()),
        ("DELETE FROM log WHERE rowid = 1", ()),
    ]
    return rng.sample(steps, len(steps))


def expected(world: dict[str, list[Any]], rng: random.Random) -> dict[str, Any]:
    """The check that describes a world, its entries in any order."""

    def who(place: int) -> Any:
        return {"$id": f"person {place}"} if place >= 0 else -place

    tables: dict[str, Any] = {
        "people": {
            "insert": [
                {"id": {"$id": f"person {at}"}, "name": name, "boss": who(boss)}
                for at, (name, boss) in enumerate(world["people"])
            ]
        },
        "orders": {
            "insert": [
                {"id": {"$id": f"order {at}"}, "person": who(owner), "note": note}
                for at, (owner, note) in enumerate(world["orders"])
            ],
            "update": [{"key": {"id": 1}, "set": {"person": who(0)}}],
        },
        "lines": {
            "insert": [
                {"order_id": {"$id": f"order {to}"}, "line": line, "sku": sku}
                for to, line, sku in world["lines"]
            ],
            "delete": [{"key": {"order_id": 1, "line": 2}}],
        },
        "log": {
            "insert": [{"what": "did", "who": who(place)} for place in world["log"]],
            "delete": [{"row": {"what": "made", "who": 1}}],
        },
    }
    for listed in tables.values():
        listed["insert"] = rng.sample(listed["insert"], len(listed["insert"]))
    return {table: tables[table] for table in rng.sample(sorted(tables), len(tables))}


def end(steps: list[tuple[str, tuple[Any, ...]]], *more: str) -> TerminalState:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(SCRIPT)
        for sql in more:
            connection.execute(sql)
        before = read_state(connection)
        for step in steps:
            connection.execute(*step)
        return terminal_state(before, read_state(connection, like=before))


def why(verdict: Verdict) -> list[str]:
    return [reason.message for reason in verdict.reasons]


often = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
randoms = st.randoms(use_true_random=False)


@often
@given(worlds(), randoms)
def test_ids_and_the_order_of_writing_mean_nothing(world: Any, rng: random.Random) -> None:
    for _ in range(2):
        verdict = grade(check(expected(world, rng)), end(written(world, rng)))
        assert verdict.outcome == "passed", why(verdict)


@often
@given(worlds(), worlds(), randoms)
def test_another_world_fails_under_every_numbering(
    world: Any, other: Any, rng: random.Random
) -> None:
    """Whether two worlds are one does not depend on who got which id."""
    made = check(expected(world, rng))
    outcomes = {grade(made, end(written(other, rng))).outcome for _ in range(3)}
    assert len(outcomes) == 1


@often
@given(worlds(), randoms)
def test_a_reference_to_another_row_is_noticed(world: Any, rng: random.Random) -> None:
    """Sent elsewhere, one at a time: to an old row, or to a new one that is not the same to all."""
    made = check(expected(world, rng))
    steps = written(world, rng)
    state = end(steps)
    places = [
        (table, change.key, column)
        for change in state.changes
        for table, column in (("people", "boss"), ("orders", "person"), ("log", "who"))
        if change.op == "insert" and change.table == table and change.key is not None
    ]
    table, key, column = rng.choice(places)
    assert key is not None
    (row,) = [dict(change.new or {}) for change in state.changes if change.key == key][:1]
    elsewhere = 2 if row[column] == 1 else 1
    move = (f"UPDATE {table} SET {column} = ? WHERE id = ?", (elsewhere, key["id"]))
    assert grade(made, end([*steps, move])).outcome == "failed"


@often
@given(randoms, st.integers(2, 5))
def test_swapped_references_between_two_new_rows_are_noticed(
    rng: random.Random, count: int
) -> None:
    world: dict[str, list[Any]] = {
        "people": [("eve", -1) for _ in range(count)],
        "orders": [(at, f"note {at}") for at in range(count)],
        "lines": [(at, 1, f"sku {at}") for at in range(count)],
        "log": [],
    }
    made = check(expected(world, rng))
    swapped = {**world, "lines": [(count - 1 - at, 1, f"sku {at}") for at in range(count)]}
    assert grade(made, end(written(world, rng))).outcome == "passed"
    verdict = grade(made, end(written(swapped, rng)))
    assert verdict.outcome == "failed"
    assert {reason.column for reason in verdict.reasons} <= {"order_id", "sku"}
    assert len(verdict.reasons) <= count


@often
@given(worlds(), randoms)
def test_any_other_cell_fails(world: Any, rng: random.Random) -> None:
    """Each cell of each row, old or new, is somebody's business."""
    made = check(expected(world, rng))
    steps = written(world, rng)
    state = end(steps)
    table = rng.choice(["people", "orders", "lines", "log"])
    rows = state.terminal.rows(table)
    assume(rows)
    row = rng.choice(rows)
    column = rng.choice(sorted(row))
    where = " AND ".join(f"{name} IS ?" for name in row)
    value = 777 if column not in ("name", "note", "sku", "what") else "other"
    one = f"SELECT rowid FROM {table} WHERE {where} LIMIT 1"
    sql = f"UPDATE {table} SET {column} = ? WHERE rowid = ({one})"
    step = (sql, (value, *row.values()))
    changed = end([*steps, step])
    if column == "id" and changed.terminal.row(table, {"id": 777}):
        referred = any(
            row["id"] in (other.get("boss"), other.get("person"), other.get("who"))
            for name in ("people", "orders", "log")
            for other in changed.terminal.rows(name)
        ) or any(row["id"] == other["order_id"] for other in changed.terminal.rows("lines"))
        old = (row["id"] in (1, 2)) or referred
        assume(old)  # else it is a new row under another id, which is nothing
    assert grade(made, changed).outcome == "failed"


@often
@given(worlds(), worlds(), worlds(), randoms)
def test_the_order_of_everything_written_in_a_check_means_nothing(
    first: Any, second: Any, actual: Any, rng: random.Random
) -> None:
    """Entries, tables, alternatives, changes: the same outcome and the same reasons."""
    seed = rng.randrange(1 << 30)
    state = end(written(actual, rng))
    mixed = replace(state, changes=tuple(rng.sample(state.changes, len(state.changes))))
    alternatives = [
        {"name": "second", "tables": expected(second, random.Random(seed))},
        {"name": "third", "tables": expected(first, random.Random(seed + 1))},
    ]
    one = grade(check(expected(first, rng), accept_also=alternatives), state)
    two = grade(
        check(
            expected(first, rng),
            accept_also=[
                {"name": "third", "tables": expected(first, rng)},
                {"name": "second", "tables": expected(second, rng)},
            ],
        ),
        mixed,
    )
    assert one.outcome == two.outcome
    assert one.details["alternative"] == two.details["alternative"]
    # `third` says the same as the first, so that no tie hangs on the order of the others.
    assert [brief.to_json() for brief in one.reasons] == [brief.to_json() for brief in two.reasons]
    assert grade(check(expected(first, rng)), state).to_json() == (
        grade(check(expected(first, rng)), mixed).to_json()
    )


@often
@given(worlds(), worlds(), randoms)
def test_a_table_that_nobody_touched_means_nothing(
    world: Any, actual: Any, rng: random.Random
) -> None:
    made = check(expected(world, rng))
    steps = written(actual, rng)
    more = (
        "CREATE TABLE spare(id INTEGER PRIMARY KEY, v TEXT REFERENCES people)",
        "INSERT INTO spare VALUES (1, 'x'), (2, 'y')",
    )
    assert grade(made, end(steps)) == grade(made, end(steps, *more))


@often
@given(worlds(), worlds(), randoms)
def test_grading_twice_gives_the_same_bytes(world: Any, actual: Any, rng: random.Random) -> None:
    made, state = check(expected(world, rng)), end(written(actual, rng))
    assert repr(grade(made, state).to_json()) == repr(grade(made, state).to_json())
