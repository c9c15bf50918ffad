"""What passes and what fails, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from outcomebox.reward import CheckError, JudgeError, Verdict, grade
from reward_states import Says, brief, check, state_after

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
NEW_ID: dict[str, Any] = {"$id": "n"}


def verdict(tables: dict[str, Any], *statements: Any, judge: Any = None, **more: Any) -> Verdict:
    transcript = more.pop("transcript", None)
    state = state_after(SCRIPT, *statements)
    return grade(check(tables, **more), state, judge=judge, transcript=transcript)


def reasons(tables: dict[str, Any], *statements: Any, **more: Any) -> list[Any]:
    found = verdict(tables, *statements, **more)
    assert (found.outcome == "failed") == bool(found.reasons)
    return [brief(reason) for reason in found.reasons]


def update(key: int, **values: Any) -> dict[str, Any]:
    return {"orders": {"update": [{"key": {"id": key}, "set": values}]}}


# Updates and deletes -----------------------------------------------------------------------------


def test_an_update_fits_with_its_values_and_nothing_else() -> None:
    paid = update(1, status="paid")
    assert reasons(paid, "UPDATE orders SET status = 'paid' WHERE id = 1") == []
    assert reasons(paid, "UPDATE orders SET status = 'paid', note = 'y' WHERE id = 1") == [
        ("extra_update", "orders", (1,), "note")
    ]
    assert reasons(paid, "UPDATE orders SET status = 'paid'") == [
        ("extra_update", "orders", (2,), "status")
    ]
    assert reasons(paid, "UPDATE orders SET status = 'lost' WHERE id = 1") == [
        ("wrong_value", "orders", (1,), "status")
    ]
    assert reasons(paid, "UPDATE orders SET note = 'y' WHERE id = 1") == [
        ("extra_update", "orders", (1,), "note"),
        ("missing_update", "orders", (1,), "status"),
    ]


def test_a_row_that_was_deleted_instead_is_one_reason() -> None:
    assert reasons(update(3, status="lost", note="y"), "DELETE FROM orders WHERE id = 3") == [
        ("extra_delete", "orders", (3,), None)
    ]


def test_a_row_that_never_was_cannot_be_updated_or_deleted() -> None:
    assert reasons(update(9, status="paid"), "UPDATE orders SET note = 'y' WHERE id = 1") == [
        ("extra_update", "orders", (1,), "note"),
        ("missing_row", "orders", (9,), None),
    ]
    assert reasons(
        update(9, status="paid"), "INSERT INTO orders(id, status) VALUES (9, 'paid')"
    ) == [
        ("extra_insert", "orders", (9,), None),
        ("missing_row", "orders", (9,), None),
    ]
    assert reasons({"orders": {"delete": [{"key": {"id": 9}}]}}) == [
        ("missing_row", "orders", (9,), None)
    ]


def test_a_delete_fits_when_the_row_is_gone() -> None:
    gone = {"items": {"delete": [{"key": {"id": 10}}]}}
    assert reasons(gone, "DELETE FROM items WHERE id = 10") == []
    assert reasons(gone) == [("missing_delete", "items", (10,), None)]
    assert reasons(gone, "UPDATE items SET n = 9 WHERE id = 10") == [
        ("missing_delete", "items", (10,), None),
        ("extra_update", "items", (10,), "n"),
    ]
    assert reasons(gone, "DELETE FROM items") == [("extra_delete", "items", (11,), None)]


def test_rows_without_identity_are_deleted_one_by_one() -> None:
    row = {"at": "mon", "what": "start"}
    one = {"log": {"delete": [{"row": row}]}}
    both = {"log": {"delete": [{"row": row}, {"row": row}]}}
    assert reasons(one, "DELETE FROM log WHERE rowid = 2") == []
    assert reasons(one, "DELETE FROM log") == [("extra_delete", "log", None, None)]
    assert reasons(both, "DELETE FROM log") == []
    assert reasons(both, "DELETE FROM log WHERE rowid = 2") == [
        ("missing_delete", "log", None, None)
    ]
    other = {"log": {"delete": [{"row": {"at": "tue", "what": "start"}}]}}
    assert reasons(other) == [("missing_row", "log", None, None)]


# Inserts -----------------------------------------------------------------------------------------


def test_a_column_not_listed_holds_its_default_else_null() -> None:
    new = {"orders": {"insert": [{"id": NEW_ID, "at": "wed"}]}}
    assert reasons(new, "INSERT INTO orders(at) VALUES ('wed')") == []
    assert reasons(new, "INSERT INTO orders(at, status) VALUES ('wed', 'paid')") == [
        ("wrong_value", "orders", (4,), "status")
    ]
    assert reasons(new, "INSERT INTO orders(at, note) VALUES ('wed', '')") == [
        ("wrong_value", "orders", (4,), "note")
    ]


def test_inserts_are_matched_by_what_they_hold_not_by_position() -> None:
    rows = [
        {"id": {"$id": "a"}, "order_id": 2, "sku": {"$pattern": ".*"}, "n": 1},
        {"id": {"$id": "b"}, "order_id": 2, "sku": "pen", "n": {"$any": True}},
    ]
    for first, second in (("pen", "cup"), ("cup", "pen")):
        assert (
            reasons(
                {"items": {"insert": rows}},
                f"INSERT INTO items(order_id, sku, n) VALUES (2, '{first}', 1)",
                f"INSERT INTO items(order_id, sku, n) VALUES (2, '{second}', 1)",
            )
            == []
        )


def test_a_fixed_key_decides_the_pair() -> None:
    rows = [{"id": 20, "order_id": 2, "sku": "pen", "n": 1}]
    assert reasons({"items": {"insert": rows}}, "INSERT INTO items VALUES (20, 3, 'cup', 7)") == [
        ("wrong_value", "items", (20,), "n"),
        ("wrong_value", "items", (20,), "order_id"),
        ("wrong_value", "items", (20,), "sku"),
    ]
    assert reasons({"items": {"insert": rows}}, "INSERT INTO items VALUES (21, 2, 'pen', 1)") == [
        ("missing_insert", "items", (20,), None),
        ("extra_insert", "items", (21,), None),
    ]


def test_with_a_generated_key_half_of_the_columns_make_a_pair() -> None:
    wanted = {"items": {"insert": [{"id": NEW_ID, "order_id": 2, "sku": "pen", "n": 1}]}}
    assert reasons(wanted, "INSERT INTO items(order_id, sku, n) VALUES (2, 'pen', 9)") == [
        ("wrong_value", "items", (12,), "n")
    ]
    assert reasons(wanted, "INSERT INTO items(order_id, sku, n) VALUES (2, 'cup', 9)") == [
        ("extra_insert", "items", (12,), None),
        ("missing_insert", "items", None, None),
    ]


def test_half_of_many_columns_make_a_pair_though_two_reasons_would_be_fewer() -> None:
    state = state_after(
        "CREATE TABLE wide(id INTEGER PRIMARY KEY, a, b, c, d, e, f)",
        "INSERT INTO wide(a, b, c, d, e, f) VALUES (1, 1, 1, 9, 9, 9)",
    )
    row = {"id": NEW_ID, **dict.fromkeys("abcdef", 1)}
    found = grade(check({"wide": {"insert": [row]}}), state)
    assert [brief(reason) for reason in found.reasons] == [
        ("wrong_value", "wide", (1,), column) for column in "def"
    ]


def test_the_nearest_pairing_is_the_one_with_the_fewest_reasons() -> None:
    rows = [
        {"id": {"$id": "a"}, "order_id": 2, "sku": "pen", "n": 1},
        {"id": {"$id": "b"}, "order_id": 2, "sku": "pen", "n": 2},
    ]
    assert reasons(
        {"items": {"insert": rows}},
        "INSERT INTO items(order_id, sku, n) VALUES (2, 'pen', 2)",
        "INSERT INTO items(order_id, sku, n) VALUES (2, 'cup', 1)",
    ) == [("wrong_value", "items", (13,), "sku")]


def test_a_generated_id_may_be_one_that_a_deleted_row_gave_up() -> None:
    tables = {
        "items": {
            "delete": [{"key": {"id": 11}}],
            "insert": [{"id": NEW_ID, "order_id": 1, "sku": "cup", "n": 2}],
        }
    }
    steps = ["DELETE FROM items WHERE id = 11",
             "INSERT INTO items(order_id, sku, n) VALUES (1, 'cup', 2)"]  # fmt: skip
    state = state_after(SCRIPT, *steps)
    assert [change.op for change in state.changes] == ["update"]
    assert reasons(tables, *steps) == []
    assert reasons(tables, steps[1], steps[0]) == []
    assert reasons(tables, "UPDATE items SET sku = 'pot' WHERE id = 11") == [
        ("wrong_value", "items", (11,), "sku")
    ]


# Labels ------------------------------------------------------------------------------------------

ORDER_WITH_ITEMS = {
    "orders": {"insert": [{"id": {"$id": "a"}, "at": "wed"}, {"id": {"$id": "b"}, "at": "wed"}]},
    "items": {
        "insert": [
            {"id": {"$id": "i"}, "order_id": {"$id": "a"}, "sku": "pen", "n": 1},
            {"id": {"$id": "j"}, "order_id": {"$id": "b"}, "sku": "cup", "n": 1},
        ]
    },
}


@pytest.mark.parametrize("ids", [(4, 5), (5, 4), (40, 39)])
def test_a_label_is_one_id_in_every_table_that_refers_to_it(ids: tuple[int, int]) -> None:
    first, second = ids
    steps = [
        f"INSERT INTO orders(id, at) VALUES ({first}, 'wed'), ({second}, 'wed')",
        f"INSERT INTO items(order_id, sku, n) VALUES ({second}, 'cup', 1), ({first}, 'pen', 1)",
    ]
    assert reasons(ORDER_WITH_ITEMS, *steps) == []


def test_two_labels_are_two_ids() -> None:
    both_on_one = [
        "INSERT INTO orders(id, at) VALUES (4, 'wed'), (5, 'wed')",
        "INSERT INTO items(order_id, sku, n) VALUES (4, 'cup', 1), (4, 'pen', 1)",
    ]
    found = verdict(ORDER_WITH_ITEMS, *both_on_one)
    (reason,) = found.reasons
    assert brief(reason)[0::3] == ("wrong_value", "order_id")
    assert reason.expected in ({"$id": "a"}, {"$id": "b"})
    assert reason.found == 4


def test_a_label_does_not_mean_an_id_that_was_there_before() -> None:
    steps = [
        "INSERT INTO orders(id, at) VALUES (4, 'wed'), (5, 'wed')",
        "INSERT INTO items(order_id, sku, n) VALUES (4, 'pen', 1), (2, 'cup', 1)",
    ]
    (found,) = reasons(ORDER_WITH_ITEMS, *steps)
    assert found == ("wrong_value", "items", (13,), "order_id")
    alone = {"items": {"insert": [{"id": NEW_ID, "order_id": {"$id": "o"}, "sku": "pen", "n": 1}]}}
    assert reasons(alone, "INSERT INTO items(order_id, sku, n) VALUES (2, 'pen', 1)") == [
        ("wrong_value", "items", (12,), "order_id")
    ]


def test_labels_in_updates_mean_the_same_ids() -> None:
    tables = {
        "orders": {"insert": [{"id": {"$id": "o"}, "at": "wed"}]},
        "items": {"update": [{"key": {"id": 10}, "set": {"order_id": {"$id": "o"}}}]},
    }
    new = "INSERT INTO orders(at) VALUES ('wed')"
    assert reasons(tables, new, "UPDATE items SET order_id = 4 WHERE id = 10") == []
    assert reasons(tables, new, "UPDATE items SET order_id = 3 WHERE id = 10") == [
        ("wrong_value", "items", (10,), "order_id")
    ]
    assert reasons(tables, new) == [("missing_update", "items", (10,), "order_id")]


def test_a_generated_id_is_not_what_a_column_held_before() -> None:
    reference = update(3, note={"$id": "ref"})
    assert reasons(reference, "UPDATE orders SET note = 'R-9' WHERE id = 3") == []
    assert reasons(reference) == [("missing_update", "orders", (3,), "note")]


def test_lines_of_a_composite_key_are_numbered_anew_under_each_parent() -> None:
    tables = {
        "lines": {
            "insert": [
                {"order_id": 1, "line": {"$id": "a"}, "sku": "pen"},
                {"order_id": 2, "line": {"$id": "b"}, "sku": "pen"},
            ]
        }
    }
    assert reasons(tables, "INSERT INTO lines VALUES (1, 1, 'pen'), (2, 1, 'pen')") == []


def test_a_label_in_columns_without_a_declared_reference_is_still_one_value() -> None:
    tables = {
        "orders": {"insert": [{"id": {"$id": "o"}, "at": "wed"}]},
        "log": {"insert": [{"at": {"$id": "o"}, "what": "order"}]},
    }
    new = "INSERT INTO orders(at) VALUES ('wed')"
    script_reasons = reasons(tables, new, "INSERT INTO log VALUES (7, 'order')")
    assert [found[0] for found in script_reasons] == ["wrong_value"]


# Alternatives, ignoring, marks -------------------------------------------------------------------


def test_the_reasons_are_those_of_the_nearest_end_state_the_first_on_a_tie() -> None:
    far = update(1, status="a", note="b", at="c")
    near = update(2, status="paid")
    also_near = update(3, status="lost")
    more = {
        "accept_also": [{"name": "near", "tables": near}, {"name": "also", "tables": also_near}]
    }
    found = verdict(far, **more)
    assert [brief(reason) for reason in found.reasons] == [
        ("missing_update", "orders", (2,), "status")
    ]
    assert found.details["alternative"] == "near"
    assert found.details["reasons"] == {"expect": 3, "near": 1, "also": 1}


def test_alternatives_are_not_mixed() -> None:
    first, second = update(1, status="paid"), update(2, status="paid")
    more = {"accept_also": [{"name": "other", "tables": second}]}
    assert reasons(first, "UPDATE orders SET status = 'paid' WHERE id = 2", **more) == []
    assert reasons(first, "UPDATE orders SET status = 'paid' WHERE id < 3", **more) == [
        ("extra_update", "orders", (2,), "status")
    ]


def test_each_alternative_has_an_ignore_of_its_own() -> None:
    more = {
        "ignore": {"orders": ["at"]},
        "accept_also": [{"name": "other", "tables": update(2, status="paid")}],
    }
    first = update(1, status="paid")
    assert reasons(first, "UPDATE orders SET status = 'paid', at = 'x' WHERE id = 1", **more) == []
    assert reasons(first, "UPDATE orders SET status = 'paid', at = 'x' WHERE id = 2", **more) != []


def test_ignored_columns_count_nowhere() -> None:
    new = {"orders": {"insert": [{"id": NEW_ID}]}}
    for ignore in ({"orders": ["at"]}, {"*": ["at"]}):
        assert (
            reasons(
                new,
                "UPDATE orders SET at = 'x'",
                "UPDATE log SET at = 'x' WHERE rowid = 1" if "*" in ignore else "SELECT 1",
                "INSERT INTO orders(at) VALUES ('wed')",
                ignore=ignore,
            )
            == []
        )


def test_bag_rows_that_differ_in_ignored_columns_only_are_the_same_row() -> None:
    paid = update(1, status="paid")
    steps = ["UPDATE orders SET status = 'paid' WHERE id = 1", "UPDATE log SET at = 'x'"]
    assert reasons(paid, *steps, ignore={"log": ["at"]}) == []
    assert len(reasons(paid, *steps)) == 4
    steps.append("INSERT INTO log VALUES ('y', 'start')")
    assert reasons(paid, *steps, ignore={"log": ["at"]}) == [("extra_insert", "log", None, None)]


def test_a_table_ignored_in_full_is_ignored_with_its_schema() -> None:
    paid = update(1, status="paid")
    steps = [
        "UPDATE orders SET status = 'paid' WHERE id = 1",
        "CREATE TABLE seen(id INTEGER PRIMARY KEY)",
        "CREATE INDEX seen_by ON seen(id)",
        "INSERT INTO seen VALUES (1)",
        "DROP TABLE log",
    ]
    assert reasons(paid, *steps, ignore={"seen": ["*"], "log": ["*"]}) == []
    assert {found[0] for found in reasons(paid, *steps)} == {
        "schema_changed",
        "extra_insert",
        "extra_delete",
    }


@pytest.mark.parametrize(
    ("sql", "table", "how"),
    [
        ("CREATE INDEX more ON items(n)", "items", "index more was created"),
        ("ALTER TABLE items ADD COLUMN x", "items", "table items was altered"),
        ("DROP TABLE lines", "lines", "table lines was dropped"),
        ("CREATE VIEW v AS SELECT 1", "v", "view v was created"),
    ],
)
def test_a_schema_change_is_denied(sql: str, table: str, how: str) -> None:
    found = verdict({}, sql, read_only=True)
    (reason,) = found.reasons
    assert brief(reason) == ("schema_changed", table, None, None)
    assert how in reason.message


def test_read_only_passes_only_if_nothing_changed() -> None:
    assert reasons({}, read_only=True) == []
    assert reasons({}, "UPDATE orders SET note = 'y' WHERE id = 1", read_only=True) == [
        ("extra_update", "orders", (1,), "note")
    ]


def test_a_check_that_an_untouched_state_fits_gives_no_verdict() -> None:
    with pytest.raises(CheckError, match="nobody touched"):
        verdict(update(1, status="open"))
    with pytest.raises(CheckError, match="nobody touched"):
        verdict(update(1, note={"$any": True}), "UPDATE orders SET at = 'x'", ignore={"*": ["at"]})


# Judge and answer --------------------------------------------------------------------------------

NOTE = update(1, note={"$rubric": "Is it polite?"}, status="paid")
WRITE = "UPDATE orders SET note = 'Dear customer', status = 'paid' WHERE id = 1"


def test_a_rubric_is_asked_only_if_every_exact_column_fits() -> None:
    judge = Says({"Is it polite?": True})
    assert reasons(NOTE, WRITE, judge=judge) == []
    assert judge.asked == [("Is it polite?", "Dear customer")]
    judge = Says()
    assert reasons(NOTE, WRITE, "UPDATE orders SET status = 'x' WHERE id = 2", judge=judge) == [
        ("extra_update", "orders", (2,), "status")
    ]
    assert judge.asked == []


def test_a_rubric_that_is_not_met_names_its_column() -> None:
    found = verdict(NOTE, WRITE, judge=Says({"Is it polite?": False}))
    (reason,) = found.reasons
    assert brief(reason) == ("rubric_failed", "orders", (1,), "note")
    assert (reason.expected, reason.found) == ("Is it polite?", "Dear customer")
    assert found.details["judge"] == [
        {"question": "Is it polite?", "text": "Dear customer", "answer": False}
    ]


@pytest.mark.parametrize(
    "judge",
    [
        None,
        Says({"Is it polite?": "yes"}),
        Says({"Is it polite?": None}),
        Says({"Is it polite?": JudgeError("gone")}),
        Says({"Is it polite?": ConnectionError("gone")}),
        Says({"Is it polite?": AssertionError("gone")}),
    ],
)
def test_without_a_readable_answer_there_is_no_verdict(judge: Any) -> None:
    with pytest.raises(JudgeError):
        verdict(NOTE, WRITE, judge=judge)


def test_a_column_without_text_is_wrong_without_a_judge() -> None:
    assert reasons(NOTE, "UPDATE orders SET status = 'paid' WHERE id = 1", judge=Says()) == [
        ("missing_update", "orders", (1,), "note")
    ]


def test_a_text_that_is_no_utf8_reaches_the_judge_as_text() -> None:
    judge = Says({"Is it polite?": True})
    write = "UPDATE orders SET note = CAST(x'61ff' AS TEXT), status = 'paid' WHERE id = 1"
    assert reasons(NOTE, write, judge=judge) == []
    assert judge.asked == [("Is it polite?", "a\\udcff")]


def test_of_interchangeable_rows_any_pairing_that_the_judge_accepts_will_do() -> None:
    tables = {
        "items": {
            "insert": [
                {"id": {"$id": "a"}, "order_id": 2, "n": 1, "sku": {"$rubric": "Is it red?"}},
                {"id": {"$id": "b"}, "order_id": 2, "n": 1, "sku": {"$rubric": "Is it blue?"}},
            ]
        }
    }
    answers = {
        ("Is it red?", "ruby"): True,
        ("Is it red?", "sea"): False,
        ("Is it blue?", "ruby"): False,
        ("Is it blue?", "sea"): True,
    }
    for skus in (("ruby", "sea"), ("sea", "ruby")):
        steps = [f"INSERT INTO items(order_id, sku, n) VALUES (2, '{sku}', 1)" for sku in skus]
        assert reasons(tables, *steps, judge=Says(answers)) == []
    no = {**answers, ("Is it blue?", "sea"): False}
    steps = [
        f"INSERT INTO items(order_id, sku, n) VALUES (2, '{sku}', 1)" for sku in ("sea", "ruby")
    ]
    assert {found[0] for found in reasons(tables, *steps, judge=Says(no))} == {"rubric_failed"}


def test_labelled_rows_are_paired_for_the_judge_too() -> None:
    tables = {
        "orders": {
            "insert": [
                {"id": {"$id": "a"}, "at": "wed", "note": {"$rubric": "Is it red?"}},
                {"id": {"$id": "b"}, "at": "wed", "note": {"$rubric": "Is it blue?"}},
            ]
        },
        "items": {
            "insert": [
                {"id": {"$id": "i"}, "order_id": {"$id": "a"}, "sku": "pen", "n": 1},
                {"id": {"$id": "j"}, "order_id": {"$id": "b"}, "sku": "pen", "n": 1},
            ]
        },
    }
    answers = {
        ("Is it red?", "ruby"): True,
        ("Is it red?", "sea"): False,
        ("Is it blue?", "ruby"): False,
        ("Is it blue?", "sea"): True,
    }
    items = "INSERT INTO items(order_id, sku, n) VALUES (4, 'pen', 1), (5, 'pen', 1)"
    for first, second in (("ruby", "sea"), ("sea", "ruby")):
        orders = f"INSERT INTO orders(at, note) VALUES ('wed', '{first}'), ('wed', '{second}')"
        assert reasons(tables, orders, items, judge=Says(answers)) == []


def test_who_passes_without_a_judge_does_not_depend_on_one() -> None:
    more = {
        "accept_also": [{"name": "exact", "tables": update(1, note="Dear customer", status="paid")}]
    }
    assert reasons(NOTE, WRITE, judge=None, **more) == []


def test_an_alternative_can_be_right_where_the_judge_refuses_another() -> None:
    also = update(1, note={"$rubric": "Is it short?"}, status="paid")
    more = {"accept_also": [{"name": "short", "tables": also}]}
    judge = Says({"Is it polite?": False, "Is it short?": True})
    found = verdict(NOTE, WRITE, judge=judge, **more)
    assert found.outcome == "passed"
    assert found.details["alternative"] == "short"


PAID = update(1, status="paid")
PAY = "UPDATE orders SET status = 'paid' WHERE id = 1"


def said(*texts: Any) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "hi"},
        *({"role": "assistant", "content": t} for t in texts),
    ]


def test_the_answer_is_joined_to_the_state_by_and() -> None:
    more = {"answer": {"$pattern": ".*paid.*"}, "transcript": said("It is paid now.", "", None)}
    assert reasons(PAID, PAY, **more) == []
    assert reasons(PAID, **more) == [("missing_update", "orders", (1,), "status")]
    more["transcript"] = said("Done.")
    assert reasons(PAID, PAY, **more) == [("wrong_answer", None, None, None)]
    assert len(reasons(PAID, **more)) == 2
    with pytest.raises(CheckError, match="transcript"):
        reasons(PAID, PAY, answer="x")


def test_content_in_parts_is_read_as_text() -> None:
    parts = [
        {"type": "text", "text": "It is "},
        {"type": "image"},
        {"type": "text", "text": "paid"},
    ]
    assert reasons(PAID, PAY, answer="It is paid", transcript=said(parts)) == []


def test_rubrics_of_a_task_are_about_the_conversation() -> None:
    transcript = [*said("Dear customer"), {"role": "tool", "content": "secret"}]
    judge = Says({"Was it polite?": False, "Was it short?": True})
    more = {"rubrics": ["Was it polite?", "Was it short?"], "transcript": transcript}
    found = verdict(PAID, PAY, judge=judge, **more)
    assert [(brief(each)[0], each.expected) for each in found.reasons] == [
        ("rubric_failed", "Was it polite?")
    ]
    assert judge.asked[0] == ("Was it polite?", "user: hi\n\nassistant: Dear customer")
    judge = Says()
    assert len(verdict(PAID, judge=judge, **more).reasons) == 1
    assert judge.asked == []
