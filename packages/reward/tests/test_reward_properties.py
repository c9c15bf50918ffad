"""Rules that hold for every database, every history and every check made from it."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from itertools import permutations
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from outcomebox.reward import grade
from outcomebox.reward.fit import fit
from outcomebox.reward.inserts import new_row
from outcomebox.reward.labels import clashes
from outcomebox.sandbox.changes import (
    TerminalState,
    read_state,
    terminal_state,
    value_to_json,
)
from reward_states import brief, check, state_after

SCRIPT = """
CREATE TABLE orders(id INTEGER PRIMARY KEY, status TEXT DEFAULT 'new', n INTEGER);
CREATE TABLE items(id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders, sku TEXT);
CREATE TABLE codes(k TEXT PRIMARY KEY, v);
CREATE TABLE log(what TEXT, n);
"""
COLUMNS = {
    "orders": ["id", "status", "n"],
    "items": ["id", "order_id", "sku"],
    "codes": ["k", "v"],
    "log": ["what", "n"],
}
small = st.sampled_from([None, 0, 1, 2, "a", "b", 1.5, b"a"])
texts = st.sampled_from(["a", "b", "c"])
ids = st.integers(1, 6)


@st.composite
def writes(draw: st.DrawFn) -> tuple[str, tuple[Any, ...]]:
    kind = draw(st.integers(0, 7))
    if kind == 0:
        return "INSERT INTO orders(status, n) VALUES (?, ?)", (draw(texts), draw(small))
    if kind == 1:
        return "INSERT INTO items(order_id, sku) VALUES (?, ?)", (draw(ids), draw(texts))
    if kind == 2:
        return "INSERT OR REPLACE INTO codes VALUES (?, ?)", (draw(texts), draw(small))
    if kind == 3:
        return "INSERT INTO log VALUES (?, ?)", (draw(texts), draw(small))
    if kind == 4:
        return "UPDATE orders SET status = ?, n = ? WHERE id = ?", (
            draw(texts),
            draw(small),
            draw(ids),
        )
    if kind == 5:
        return "UPDATE items SET order_id = ? WHERE id = ?", (draw(ids), draw(ids))
    table = draw(st.sampled_from(["orders", "items", "log"]))
    return f"DELETE FROM {table} WHERE rowid = ?", (draw(ids),)


histories = st.tuples(st.lists(writes(), max_size=10), st.lists(writes(), max_size=8))


def after(seed: list[Any], actual: list[Any]) -> TerminalState:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(SCRIPT)
        for sql, params in seed:
            connection.execute(sql, params)
        before = read_state(connection)
        for sql, params in actual:
            connection.execute(sql, params)
        return terminal_state(before, read_state(connection, like=before))


def derived(state: TerminalState) -> dict[str, Any]:
    """A check that lists exactly the changes of a state, generated ids by label."""
    new_orders = {
        each.new["id"]
        for each in state.changes
        if each.table == "orders" and each.op == "insert" and each.new
    }

    def value(table: str, column: str, cell: Any, inserted: bool) -> Any:
        if table == "orders" and column == "id" and inserted:
            return {"$id": f"order {cell}"}
        if table == "items" and column == "id" and inserted:
            return {"$id": f"item {cell}"}
        if table == "items" and column == "order_id" and cell in new_orders:
            return {"$id": f"order {cell}"}
        return value_to_json(cell)

    tables: dict[str, Any] = {}
    for each in state.changes:
        listed = tables.setdefault(each.table, {"insert": [], "update": [], "delete": []})
        if each.op == "insert":
            row = each.new or {}
            listed["insert"].append({c: value(each.table, c, v, True) for c, v in row.items()})
        elif each.op == "update":
            row = {c: (each.new or {})[c] for c in each.columns}
            values = {c: value(each.table, c, v, False) for c, v in row.items()}
            listed["update"].append({"key": dict(each.key or {}), "set": values})
        elif each.key is not None:
            listed["delete"].append({"key": dict(each.key)})
        else:
            row = {c: value_to_json(v) for c, v in (each.old or {}).items()}
            listed["delete"].append({"row": row})
    return tables


slow = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@slow
@given(histories)
def test_a_check_made_from_the_changes_passes(history: Any) -> None:
    state = after(*history)
    assume(state.changes)
    verdict = grade(check(derived(state)), state)
    assert verdict.outcome == "passed", [reason.message for reason in verdict.reasons]


@slow
@given(histories)
def test_doing_nothing_fails(history: Any) -> None:
    seed, actual = history
    state = after(seed, actual)
    assume(state.changes)
    made = check(derived(state))
    verdict = grade(made, after(seed, []))
    assert verdict.outcome == "failed"
    named = {(each.table, each.kind.split("_")[0]) for each in verdict.reasons}
    assert {table for table, _ in named} == {change.table for change in state.changes}


@slow
@given(histories, st.randoms(use_true_random=False))
def test_any_other_change_fails_and_is_named(history: Any, rng: random.Random) -> None:
    seed, actual = history
    state = after(seed, actual)
    assume(state.changes)
    made = check(derived(state))
    touched = {(each.table, tuple((each.key or {}).values())) for each in state.changes}
    choices: list[tuple[tuple[str, tuple[Any, ...]], tuple[Any, ...]]] = [
        (
            ("INSERT INTO orders VALUES (?, 'z', NULL)", (99,)),
            ("extra_insert", "orders", (99,), None),
        ),
        (("INSERT INTO codes VALUES ('zz', NULL)", ()), ("extra_insert", "codes", ("zz",), None)),
        (("INSERT INTO log VALUES ('zz', NULL)", ()), ("extra_insert", "log", None, None)),
    ]
    for table in ("orders", "items", "codes"):
        for row in state.terminal.rows(table):
            key = (row[COLUMNS[table][0]],)
            if (table, key) in touched:
                continue
            column = COLUMNS[table][1]
            where = f"{COLUMNS[table][0]} IS ?"
            choices += [
                ((f"DELETE FROM {table} WHERE {where}", key), ("extra_delete", table, key, None)),
                (
                    (f"UPDATE {table} SET {column} = 77 WHERE {where}", key),
                    ("extra_update", table, key, column),
                ),
            ]
    extra, reason = rng.choice(choices)
    verdict = grade(made, after(seed, [*actual, extra]))
    assert verdict.outcome == "failed"
    assert reason in [brief(each) for each in verdict.reasons]
    assert len(verdict.reasons) == 1 or extra[0].startswith("INSERT INTO log")


@slow
@given(histories, histories, st.randoms(use_true_random=False))
def test_the_order_of_rows_means_nothing(first: Any, second: Any, rng: random.Random) -> None:
    """Neither that of expectations nor that of changes, reasons included."""
    tables = derived(after(*first))
    assume(tables)
    state = after(first[0], second[1])
    verdict = grade(check(tables), state)
    shuffled = {}
    for table in rng.sample(sorted(tables), len(tables)):
        shuffled[table] = {
            kind: rng.sample(rows, len(rows)) for kind, rows in tables[table].items()
        }
    changes = tuple(rng.sample(state.changes, len(state.changes)))
    mixed = TerminalState(state.initial, state.terminal, changes, state.schema_changes)
    assert grade(check(shuffled), mixed) == verdict


# Labels and pairings against brute force ---------------------------------------------------------

orders = st.lists(st.tuples(texts), max_size=3)
links = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["p", "q"])), max_size=3)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Expected orders and items, and actual ones; an item's first field is its order's place."""
    wanted, got = draw(orders), draw(orders)
    wanted_items, got_items = draw(links), draw(links)
    if draw(st.booleans()):  # more often of equal size, so that pairings exist
        got = draw(st.permutations(wanted))
        got_items = [
            (draw(st.integers(0, 3)), sku) for _, sku in draw(st.permutations(wanted_items))
        ]
    return wanted, wanted_items, got, got_items


def graph_check(wanted: list[Any], items: list[Any]) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    if wanted:
        tables["orders"] = {
            "insert": [{"id": {"$id": f"o{at}"}, "status": s} for at, (s,) in enumerate(wanted)]
        }
    if items:
        tables["items"] = {
            "insert": [
                {"id": {"$id": f"i{at}"}, "order_id": {"$id": f"o{to}"}, "sku": sku}
                for at, (to, sku) in enumerate(items)
            ]
        }
    return tables


def graph_state(got: list[Any], items: list[Any]) -> TerminalState:
    steps = [(f"INSERT INTO orders VALUES ({10 + at}, ?, NULL)", row) for at, row in enumerate(got)]
    steps += [
        (f"INSERT INTO items(order_id, sku) VALUES ({10 + to}, ?)", (sku,)) for to, sku in items
    ]
    return state_after(SCRIPT, *steps)


def isomorphic(wanted: Any, wanted_items: Any, got: Any, got_items: Any) -> bool:
    if len(wanted) != len(got) or len(wanted_items) != len(got_items):
        return False
    for order_choice in permutations(range(len(got))):
        if any(wanted[at] != got[to] for at, to in enumerate(order_choice)):
            continue
        for item_choice in permutations(range(len(got_items))):
            meaning = dict(enumerate(order_choice))
            good = True
            for at, to in enumerate(item_choice):
                label, sku = wanted_items[at]
                value, got_sku = got_items[to]
                good = good and sku == got_sku and meaning.setdefault(label, value) == value
            if good and len(set(meaning.values())) == len(meaning):
                return True
    return False


@settings(slow, max_examples=400)
@given(graphs())
def test_labels_fit_exactly_if_there_is_a_one_to_one_meaning(graph: Any) -> None:
    wanted, wanted_items, got, got_items = graph
    tables = graph_check(wanted, wanted_items)
    assume(tables and (got or got_items))
    verdict = grade(check(tables), graph_state(got, got_items))
    expected = isomorphic(wanted, wanted_items, got, got_items)
    assert (verdict.outcome == "passed") == expected


def cost(pairs: list[Any], extra: int) -> tuple[int, int, int]:
    """Reasons with a bad pair counted as two at most, rows left alone, wrong columns."""
    wrong = sum(len(pair.wrong) for pair in pairs)
    capped = sum(min(2, len(pair.wrong)) for pair in pairs)
    alone = sum(pair.change is None for pair in pairs) + extra
    return capped, alone, wrong


@settings(slow, max_examples=150)
@given(graphs())
def test_the_nearest_pairing_is_the_cheapest_of_all(graph: Any) -> None:
    wanted, wanted_items, got, got_items = graph
    tables = graph_check(wanted, wanted_items)
    assume(tables)
    made = check(tables)
    state = graph_state(got, got_items)
    found = fit(made.alternatives[0], state)
    assume(found.pairs is None)
    from outcomebox.reward.labels import Labels
    from outcomebox.reward.nearest import nearest_pairing

    labels = Labels.of(made.alternatives[0], state.tables)
    nearest = nearest_pairing(found.inserts)
    assert not nearest.bounded

    def total(pairs: list[Any], extra: int) -> tuple[int, int, int]:
        capped, alone, wrong = cost(pairs, extra)
        met = [each for pair in pairs for each in pair.met(labels)]
        return capped + alone + len(clashes(met)), alone, wrong

    best = None
    grids = found.inserts.grids
    for choice in _choices([(len(grid.wanted), len(grid.actual)) for grid in grids]):
        pairs: list[Any] = []
        extra = 0
        legal = True
        for grid, partners in zip(grids, choice, strict=True):
            chosen = grid.chosen(partners)
            legal = legal and all(
                pair.change is None or pair.wanted.near(new_row(pair.change), pair.wrong)
                for pair in chosen
            )
            pairs += chosen
            extra += len(grid.actual) - sum(place is not None for place in partners)
        if legal:
            value = total(pairs, extra)
            best = value if best is None else min(best, value)
    assert total(list(nearest.pairs), len(nearest.extra)) == best
    pairs = list(nearest.pairs)
    wrong = cost(pairs, len(nearest.extra))[1:]
    met = [each for pair in pairs for each in pair.met(labels)]
    assert len(found.reasons) == sum(wrong) + len(clashes(met))


def _choices(sizes: list[tuple[int, int]]) -> Any:
    if not sizes:
        yield []
        return
    rows, width = sizes[0]
    places = [*range(width), *[None] * rows]
    seen = set()
    for choice in permutations(places, rows):
        if choice in seen:
            continue
        seen.add(choice)
        for rest in _choices(sizes[1:]):
            yield [list(choice), *rest]
