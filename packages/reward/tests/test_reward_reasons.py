"""Reasons: where a search ended, who wrote what is wrong, and what a message says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from outcomebox.reward import Reason, Verdict, grade
from outcomebox.reward import groups as groups_module
from outcomebox.reward import nearest as nearest_module
from outcomebox.reward.grade import MOST_REASONS
from outcomebox.sandbox.changes import TerminalState
from reward_states import check, state_after

SCRIPT = """
CREATE TABLE orders(id INTEGER PRIMARY KEY, status TEXT DEFAULT 'new', note TEXT, at TEXT);
CREATE TABLE items(id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders, sku TEXT, n INTEGER);
CREATE TABLE lines(order_id REFERENCES orders, line INTEGER, sku, PRIMARY KEY(order_id, line));
CREATE TABLE log(at TEXT, what TEXT);
INSERT INTO orders VALUES
    (1, 'open', NULL, 'mon'), (2, 'open', NULL, 'mon'), (3, 'paid', 'x', 'tue');
INSERT INTO items VALUES (10, 1, 'lamp', 1), (11, 1, 'mug', 2);
INSERT INTO log VALUES ('mon', 'start'), ('mon', 'start');
"""


def verdict(tables: dict[str, Any], *statements: Any, judge: Any = None) -> Verdict:
    return grade(check(tables), state_after(SCRIPT, *statements), judge=judge)


def update(key: int, **values: Any) -> dict[str, Any]:
    return {"orders": {"update": [{"key": {"id": key}, "set": values}]}}


ORDER_WITH_ITEMS = {
    "orders": {"insert": [{"id": {"$id": "a"}, "at": "wed"}, {"id": {"$id": "b"}, "at": "wed"}]},
    "items": {
        "insert": [
            {"id": {"$id": "i"}, "order_id": {"$id": "a"}, "sku": "pen", "n": 1},
            {"id": {"$id": "j"}, "order_id": {"$id": "b"}, "sku": "cup", "n": 1},
        ]
    },
}


# Bounds ------------------------------------------------------------------------------------------


def test_an_explanation_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [
        "INSERT INTO orders(id, at) VALUES (4, 'wed'), (5, 'wed')",
        "INSERT INTO items(order_id, sku, n) VALUES (4, 'cup', 1), (4, 'pen', 1)",
    ]
    assert "search" not in verdict(ORDER_WITH_ITEMS, *steps).details
    monkeypatch.setattr(nearest_module, "STEPS", 1)
    found = verdict(ORDER_WITH_ITEMS, *steps)
    assert found.outcome == "failed"
    assert found.details["search"] == "bounded"


TWINS = {
    "orders": {"insert": [{"id": {"$id": label}, "at": "wed"} for label in "ab"]},
    "items": {
        "insert": [
            {"id": {"$id": f"item {label}"}, "order_id": {"$id": label}, "sku": "pen", "n": 1}
            for label in "ab"
        ]
    },
}
TWO_ORDERS = "INSERT INTO orders(id, at) VALUES (4, 'wed'), (5, 'wed')"


def test_what_a_search_that_was_cut_short_does_not_find_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An agent that could make the search give up must not get out of its verdict by that."""
    monkeypatch.setattr(groups_module, "STEPS", 1)
    right = "INSERT INTO items(order_id, sku, n) VALUES (4, 'pen', 1), (5, 'pen', 1)"
    assert verdict(TWINS, TWO_ORDERS, right).outcome == "passed"
    monkeypatch.setattr(nearest_module, "STEPS", 0)
    crossed = "INSERT INTO items(order_id, sku, n) VALUES (5, 'pen', 1), (4, 'pen', 1)"
    assert verdict(TWINS, TWO_ORDERS, crossed).details["search"] == "bounded"
    wrong = "INSERT INTO items(order_id, sku, n) VALUES (5, 'pen', 1), (5, 'pen', 1)"
    found = verdict(TWINS, TWO_ORDERS, wrong)
    assert found.outcome == "failed"
    assert found.details["search"] == "bounded"


def test_a_bound_reached_while_the_judge_is_asked_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = {
        "orders": {
            "insert": [
                {"id": {"$id": "a"}, "at": "wed", "note": {"$rubric": "Is it red?"}},
                {"id": {"$id": "b"}, "at": "wed", "note": {"$rubric": "Is it blue?"}},
            ]
        },
        "items": TWINS["items"],
    }
    orders = "INSERT INTO orders(at, note) VALUES ('wed', 'sea'), ('wed', 'sky')"
    items = "INSERT INTO items(order_id, sku, n) VALUES (4, 'pen', 1), (5, 'pen', 1)"

    class Red:
        def ask(self, question: str, _: str) -> bool:
            monkeypatch.setattr(groups_module, "STEPS", 1)
            return "blue" in question

    found = verdict(tables, orders, items, judge=Red())
    assert {reason.kind for reason in found.reasons} == {"rubric_failed"}
    assert found.details["search"] == "bounded"


def test_a_verdict_holds_so_many_reasons_and_counts_the_others() -> None:
    many = (
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1500) "
        "INSERT INTO log SELECT 'x', x FROM c"
    )
    found = verdict(update(1, status="paid"), many)
    assert len(found.reasons) == MOST_REASONS == 1_000
    assert found.details["left_out"] == 501


# Who wrote it ------------------------------------------------------------------------------------


def written_by(state: TerminalState, *tools: str) -> TerminalState:
    """As if every change came from the first and the last call."""
    calls = tuple(sorted({0, len(tools) - 1}))
    changes = tuple(replace(change, calls=calls) for change in state.changes)
    return replace(state, changes=changes, calls=tools)


def test_a_reason_names_the_calls_that_wrote_what_is_wrong() -> None:
    state = state_after(
        SCRIPT,
        "UPDATE orders SET status = 'lost' WHERE id = 1",
        "UPDATE orders SET note = 'y' WHERE id = 2",
        "DELETE FROM items WHERE id = 10",
        "INSERT INTO items(order_id, sku, n) VALUES (2, 'pen', 3)",
    )
    row = {"id": {"$id": "i"}, "order_id": 2, "sku": "pen", "n": 1}
    made = check({**update(1, status="paid", note="z"), "items": {"insert": [row]}})
    found = grade(made, written_by(state, "look", "update_order"))
    assert [(reason.kind, reason.calls) for reason in found.reasons] == [
        ("extra_delete", (0, 1)),
        ("wrong_value", (0, 1)),
        ("missing_update", ()),
        ("wrong_value", (0, 1)),
        ("extra_update", (0, 1)),
    ]
    by = "(written by call 0, look and call 1, update_order)"
    assert [reason.message.endswith(by) for reason in found.reasons] == [
        False,
        True,
        False,
        True,
        True,
    ]
    assert found.reasons[0].message.endswith(by.replace("written", "deleted"))
    one = grade(made, written_by(state, "update_order"))
    assert one.reasons[1].message == (
        "items id=12: n is 3, expected 1 (written by call 0, update_order)"
    )
    assert Verdict.from_json(found.to_json()) == found
    unknown = grade(made, state)
    assert all(reason.calls == () and "call" not in reason.message for reason in unknown.reasons)


def test_many_calls_are_counted_and_one_without_a_name_is_only_numbered() -> None:
    state = state_after(SCRIPT, "UPDATE orders SET note = 'y' WHERE id = 2")
    changes = tuple(replace(change, calls=tuple(range(9))) for change in state.changes)
    found = grade(
        check(update(1, status="paid")), replace(state, changes=changes, calls=("a", "b"))
    )
    assert found.reasons[1].message.endswith(
        "(written by call 0, a; call 1, b; call 2; call 3 and 5 more)"
    )


def test_a_reason_recorded_before_calls_were_known_can_be_read() -> None:
    old = Reason("wrong_value", "orders", {"id": 1}, "status", "paid", "lost", "text").to_json()
    del old["calls"]
    assert Reason.from_json(old).calls == ()


DELETED = "items id=11: a row was deleted and must not be: {id: 11, order_id: 1, sku: 'mug', n: 2}"
NOT_LISTED = (
    "items id=12: n is 3, expected NULL, the default: the expected insert does not list the column"
)

# Messages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "UPDATE orders SET status = 'lost' WHERE id = 1",
            "orders id=1: status is 'lost', expected 'paid'",
        ),
        (
            "UPDATE orders SET note = 'y' WHERE id = 2",
            "orders id=2: note changed and must not: it is 'y', was NULL",
        ),
        (
            "INSERT INTO items VALUES (12, 2, 'pen', 3)",
            NOT_LISTED,
        ),
        (
            "INSERT INTO items VALUES (12, 1, 'pen', NULL)",
            "items id=12: order_id is 1, expected 2",
        ),
        (
            "DELETE FROM items WHERE id = 11",
            DELETED,
        ),
        ("SELECT 1", 'items: no row was added with {id: {"$id": "i"}, order_id: 2, sku: \'pen\'}'),
        ("SELECT 1", "orders id=1: status is still 'open', expected 'paid'"),
    ],
)
def test_a_message_says_table_key_column_expected_and_found(statement: str, message: str) -> None:
    row = {"id": {"$id": "i"}, "order_id": 2, "sku": "pen"}
    found = verdict({**update(1, status="paid"), "items": {"insert": [row]}}, statement)
    assert message in [reason.message for reason in found.reasons]


def test_a_wrong_id_is_explained() -> None:
    steps = [
        "INSERT INTO orders(id, at) VALUES (4, 'wed'), (5, 'wed')",
        "INSERT INTO items(order_id, sku, n) VALUES (4, 'cup', 1), (4, 'pen', 1)",
    ]
    (reason,) = verdict(ORDER_WITH_ITEMS, *steps).reasons
    assert "which is 5 elsewhere" in reason.message
    steps[1] = "INSERT INTO items(order_id, sku, n) VALUES (2, 'cup', 1), (4, 'pen', 1)"
    (reason,) = verdict(ORDER_WITH_ITEMS, *steps).reasons
    assert "a generated id: this one was there before" in reason.message


def test_long_values_are_shortened_and_shown_where_they_differ() -> None:
    text = "word " * 50
    other = text[:130] + "W" + text[131:]
    found = verdict(update(1, note=text), ("UPDATE orders SET note = ? WHERE id = 1", (other,)))
    (reason,) = found.reasons
    assert len(reason.message) < 250
    assert "they differ at character 131: U+0057, expected U+0077" in reason.message
    assert (reason.expected, reason.found) == (text, other)
    wide = ", ".join(f"c{number}" for number in range(30))
    state = state_after(
        f"CREATE TABLE wide(id INTEGER PRIMARY KEY, {wide})",
        ("INSERT INTO wide(id, c0) VALUES (1, ?)", (b"x" * 10_000,)),
    )
    (reason,) = grade(check({}, read_only=True), state).reasons
    assert len(reason.message) < 450
    assert "(10000 bytes)" in reason.message
    assert "and 19 columns more" in reason.message
