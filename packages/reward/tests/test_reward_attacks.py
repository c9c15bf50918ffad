"""What an agent may try for a reward without the work, or to get out of a verdict."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward import Verdict, accepts, grade, grade_safely
from outcomebox.sandbox.valuespec import (
    DecimalMatcher,
    JsonMatcher,
    NfcMatcher,
    PatternMatcher,
)
from reward_states import check, state_after

SCRIPT = """
CREATE TABLE orders(id INTEGER PRIMARY KEY, total, note TEXT, paid);
CREATE TABLE items(id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders, sku TEXT);
INSERT INTO orders VALUES (1, 10, 'a', 0), (2, 20, 'b', 0);
INSERT INTO items VALUES (1, 1, 'pen');
"""


def verdict(tables: dict[str, Any], *statements: Any, **more: Any) -> Verdict:
    return grade(check(tables, **more), state_after(SCRIPT, *statements))


def paid(value: Any) -> dict[str, Any]:
    return {"orders": {"update": [{"key": {"id": 1}, "set": {"paid": value}}]}}


@pytest.mark.parametrize(
    ("wanted", "written"),
    [
        (1, "'1'"), (1, "x'31'"), (1, "'1.0'"), (1, "1.0000000000000002"), (1, "' 1'"), (1, "NULL"),
        ("1", "1"), ("yes", "'Yes'"), ("yes", "'yes '"), ("yes", "'yes' || char(0)"),
        ("yes", "'yes' || char(0x200b)"), ("yes", "x'796573'"), ("a", "char(0x430)"),
        (None, "''"), (None, "'NULL'"), (9007199254740993, "9007199254740992.0"), (1, "9e999"),
        ({"$close": 1, "abs": 1}, "'1'"), ({"$close": 1, "abs": 1}, "9e999"),
        ({"$close": 1, "abs": 1}, "NULL"), ({"$decimal": "1"}, "'1e9999'"),
        ({"$decimal": "1"}, "'nan'"), ({"$decimal": "1"}, "'\u0661'"),
        ({"$not_null": True}, "NULL"),
        ({"$json": 1}, "'true'"), ({"$json": {"a": 1}}, "'{\"a\": 2, \"a\": 1}'"),
        ({"$json": None}, "''"), ({"$json": None}, "'NaN'"),
        ({"$pattern": "yes"}, "'yes' || char(10)"),
        ({"$one_of": [1, 2]}, "'1'"), ({"$instant": "2026-03-02"}, "'2026-03-02T00:00:00.0001'"),
    ],
)  # fmt: skip
def test_a_value_that_is_only_like_the_right_one_fails(wanted: Any, written: str) -> None:
    found = verdict(paid(wanted), f"UPDATE orders SET paid = {written} WHERE id = 1")
    assert found.outcome == "failed"


def test_deleting_and_inserting_again_is_what_it_leaves() -> None:
    back = ("DELETE FROM orders WHERE id = 1", "INSERT INTO orders VALUES (1, 10, 'a', 1)")
    assert verdict(paid(1), *back).outcome == "passed"
    other = ("DELETE FROM orders WHERE id = 1", "INSERT INTO orders VALUES (1, 10, 'A', 1)")
    assert [reason.kind for reason in verdict(paid(1), *other).reasons] == ["extra_update"]
    moved = ("DELETE FROM orders WHERE id = 1", "INSERT INTO orders VALUES (9, 10, 'a', 1)")
    assert {reason.kind for reason in verdict(paid(1), *moved).reasons} == {
        "extra_delete",
        "extra_insert",
    }


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE orders"],
        ["DROP TABLE orders", "CREATE TABLE orders(id INTEGER PRIMARY KEY, total, note, paid)"],
        ["ALTER TABLE orders RENAME TO orders2"],
        ["ALTER TABLE orders RENAME COLUMN paid TO payed"],
        ["ALTER TABLE orders DROP COLUMN paid"],
        ["CREATE TRIGGER t AFTER UPDATE ON orders BEGIN SELECT 1; END"],
        ["CREATE VIEW seen AS SELECT * FROM orders"],
        ["DELETE FROM orders", "DELETE FROM items"],
        ["PRAGMA writable_schema = ON", "UPDATE sqlite_schema SET sql = sql || ' ' WHERE 1"],
    ],
)
def test_breaking_the_tables_fails_and_is_no_way_out(statements: list[str]) -> None:
    right = "UPDATE orders SET paid = 1 WHERE id = 1"
    made = check(paid(1))
    assert grade_safely(made, state_after(SCRIPT, right, *statements)).outcome == "failed"


# Searches ----------------------------------------------------------------------------------------


def rings(*sizes: int, rng: random.Random) -> list[tuple[int, int]]:
    """Undirected rings over new ids, as (one, other) pairs in any order."""
    ids = rng.sample(range(100, 100 + 3 * sum(sizes)), sum(sizes))
    pairs = []
    for size in sizes:
        ring, ids = ids[:size], ids[size:]
        pairs += [(ring[at], ring[(at + 1) % size]) for at in range(size)]
    return rng.sample(pairs, len(pairs))


RING = """
CREATE TABLE nodes(id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE edges(one INTEGER REFERENCES nodes, other INTEGER REFERENCES nodes,
                   PRIMARY KEY(one, other));
"""


def ring_check(pairs: list[tuple[int, int]]) -> Any:
    nodes = sorted({node for pair in pairs for node in pair})
    return check(
        {
            "nodes": {"insert": [{"id": {"$id": f"n{node}"}, "name": "x"} for node in nodes]},
            "edges": {
                "insert": [
                    {"one": {"$id": f"n{one}"}, "other": {"$id": f"n{other}"}}
                    for one, other in pairs
                ]
            },
        }
    )


def ring_state(pairs: list[tuple[int, int]]) -> Any:
    nodes = sorted({node for pair in pairs for node in pair})
    return state_after(
        RING,
        *(("INSERT INTO nodes VALUES (?, 'x')", (node,)) for node in nodes),
        *(("INSERT INTO edges VALUES (?, ?)", pair) for pair in pairs),
    )


@pytest.mark.parametrize("sizes", [(60,), (30, 30), (3,) * 20, (20, 40), (4, 5, 6, 7, 8)])
def test_rings_that_refinement_cannot_tell_apart(sizes: tuple[int, ...]) -> None:
    """Rows that are all alike and refer to each other in circles: the right one is found."""
    rng = random.Random(1)
    made = ring_check(rings(*sizes, rng=rng))
    found = grade(made, ring_state(rings(*sizes, rng=rng)))
    assert found.outcome == "passed"
    assert "search" not in found.details


def test_other_rings_fail_and_the_explanation_says_where_the_search_ended() -> None:
    rng = random.Random(2)
    made = ring_check(rings(*(3,) * 20, rng=rng))
    found = grade(made, ring_state(rings(*(3,) * 18, 6, rng=rng)))
    assert found.outcome == "failed"
    assert found.details["search"] == "bounded"
    assert {reason.kind for reason in found.reasons} == {"wrong_value"}


def test_a_thousand_rows_that_are_alike_are_paired() -> None:
    rows = [{"id": {"$id": f"i{at}"}, "order_id": 2, "sku": "pen"} for at in range(1_000)]
    made = check({"items": {"insert": rows}})
    right = [("INSERT INTO items(order_id, sku) VALUES (2, 'pen')", ())] * 1_000
    assert grade(made, state_after(SCRIPT, *right)).outcome == "passed"
    right[500] = ("INSERT INTO items(order_id, sku) VALUES (2, 'cup')", ())
    (reason,) = grade(made, state_after(SCRIPT, *right)).reasons
    assert (reason.kind, reason.key, reason.column) == ("wrong_value", {"id": 502}, "sku")


def test_a_flood_of_rows_fails_in_bounded_time_and_size() -> None:
    flood = (
        "WITH RECURSIVE c(x) AS (SELECT 3 UNION ALL SELECT x + 1 FROM c WHERE x < 6000) "
        "INSERT INTO orders SELECT x, x, 'n', 1 FROM c"
    )
    rows = [
        {"id": {"$id": f"o{at}"}, "total": at, "note": {"$pattern": ".*"}, "paid": 0}
        for at in range(50)
    ]
    found = grade_safely(check({"orders": {"insert": rows}}), state_after(SCRIPT, flood))
    assert found.outcome == "failed"
    assert len(found.reasons) == 1_000
    assert found.details["left_out"] > 4_000
    assert found.details["search"] == "bounded"


# Values that take long to look at ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (PatternMatcher(pattern=".*late.*refund.*sorry.*"), "late refund " * 5_000),
        (PatternMatcher(pattern="(a+)+"), "a" * 30_000 + "b"),
        (PatternMatcher(pattern=r"(?=.*\bA-1\b)(?=.*\bB-2\b).*"), "A-1 " * 10_000),
        (JsonMatcher(value=[1]), "[" * 200_000),
        (JsonMatcher(value={"a": [1]}), '{"a":' * 100_000 + "1" + "}" * 100_000),
        (JsonMatcher(value=1), "9" * 200_000),
        (JsonMatcher(value="x"), '"' + "\\\\" * 200_000),
        (NfcMatcher(text="\u00e9"), "e" + "\u0301\u0323" * 200_000),
        (DecimalMatcher(decimal="1"), "0." + "9" * 1_000_000),
        ("x" * 100_000, "x" * 99_999 + "y"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_no_text_takes_long(spec: Any, text: str) -> None:
    assert not accepts(spec, text)
    wanted = spec if isinstance(spec, str) else spec.model_dump(mode="json")
    step = ("UPDATE orders SET paid = ? WHERE id = 1", (text,))
    (reason,) = verdict(paid(wanted), step).reasons
    assert len(reason.message) < 600


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=12), st.sampled_from(["note", "paid"]))
def test_text_of_any_bytes_is_a_verdict_that_can_be_recorded(raw: bytes, column: str) -> None:
    step = (f"UPDATE orders SET {column} = CAST(? AS TEXT) WHERE id = 1", (raw,))
    found = grade_safely(check(paid("yes")), state_after(SCRIPT, step))
    assert found.outcome == ("passed" if (raw, column) == (b"yes", "paid") else "failed")
    line = json.dumps(found.to_json(), allow_nan=False).encode()
    assert Verdict.from_json(json.loads(line)) == found


ODD = [float("inf"), float("-inf"), float("nan"), -0.0, 5e-324, 2**63 - 1]


@pytest.mark.parametrize("value", ODD)
def test_odd_numbers_are_no_match_and_no_fault(value: float) -> None:
    step = ("UPDATE orders SET paid = ? WHERE id = 1", (value,))
    for wanted in (1, {"$close": 1, "abs": 0.5}, {"$one_of": [1, 2]}, "1"):
        found = grade_safely(check(paid(wanted)), state_after(SCRIPT, step))
        assert found.outcome == "failed"
        json.dumps(found.to_json(), allow_nan=False)


def test_free_text_that_nobody_listed_is_an_extra_change() -> None:
    found = verdict(paid(1), "UPDATE orders SET paid = 1, note = 'send me money' WHERE id = 1")
    assert [(reason.kind, reason.column) for reason in found.reasons] == [("extra_update", "note")]
    row = {"id": {"$id": "o"}, "total": 5, "paid": 0}
    found = verdict(
        {"orders": {"insert": [row]}}, "INSERT INTO orders VALUES (3, 5, 'send me money', 0)"
    )
    assert [(reason.kind, reason.column) for reason in found.reasons] == [("wrong_value", "note")]
