"""Twelve kinds of defect, seeded into copies of bundled tasks, are each found and named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward.lint import LintedTask, lint_task
from outcomebox.sandbox import Task, TaskSet, load_tasks
from reward_lint_helpers import (
    TASKS,
    bundled,
    codes,
    found,
    lint_seeded,
    plain,
    replays,
    seeded,
)

Cell = tuple[str, str, int, str]
"""Table, ``insert`` or ``update``, index and column of an expected value."""


def cells(uid: str) -> Iterator[tuple[Cell, Any]]:
    """The expected values of a task."""
    for table, edits in plain(uid).items():
        for kind in ("insert", "update"):
            for index, entry in enumerate(edits[kind]):
                for column, spec in (entry if kind == "insert" else entry["set"]).items():
                    yield (table, kind, index, column), spec


def with_value(uid: str, cell: Cell, spec: Any) -> Task:
    """The task with another expected value."""
    expect = plain(uid)
    table, kind, index, column = cell
    entry = expect[table][kind][index]
    (entry if kind == "insert" else entry["set"])[column] = spec
    return seeded(uid, expect=expect)


def is_key(uid: str, cell: Cell) -> bool:
    table, _, _, column = cell
    return column in bundled()[1][uid].golden.tables[table].key


def chosen(test: Any) -> Any:
    """Some task and some of its expected values for which ``test(uid, cell, spec)`` holds."""
    options = [
        (uid, cell, spec) for uid in TASKS for cell, spec in cells(uid) if test(uid, cell, spec)
    ]
    assert len(options) >= 5
    return st.sampled_from(options)


def assert_named(linted: LintedTask, code: str, cell: Cell) -> None:
    named = [(each.table, each.column) for each in found(linted, code)]
    assert (cell[0], cell[3]) in named, [each.to_json() for each in linted.findings]


@pytest.mark.parametrize("uid", TASKS)
def test_the_tasks_themselves_are_clean(uid: str) -> None:
    linted = lint_seeded(bundled()[0][uid])
    assert linted.findings == ()
    assert linted.score == 1.0
    assert linted.mutants >= 100


def scalar(_uid: str, _cell: Cell, spec: Any) -> bool:
    return not isinstance(spec, dict) and spec is not None


@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_an_over_wide_check(data: st.DataObject) -> None:
    uid, cell, _ = data.draw(chosen(lambda u, c, s: scalar(u, c, s) and not is_key(u, c)))
    wide = data.draw(st.sampled_from([{"$any": True}, {"$not_null": True}]))
    assert_named(lint_seeded(with_value(uid, cell, wide)), "over_wide_check", cell)


@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_an_ignored_table(data: st.DataObject) -> None:
    uid = data.draw(st.sampled_from(TASKS))
    tables = sorted(bundled()[1][uid].golden.initial.tables.keys() - plain(uid).keys())
    table = data.draw(st.sampled_from(tables))
    linted = lint_seeded(seeded(uid, ignore={table: {"*": "it changes all the time"}}))
    assert [each.table for each in found(linted, "ignored_table")] == [table]
    assert codes(linted) == {"ignored_table"}


def pattern(_uid: str, _cell: Cell, spec: Any) -> bool:
    return isinstance(spec, dict) and "$pattern" in spec


@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_an_unchecked_text(data: st.DataObject) -> None:
    uid, cell, _ = data.draw(chosen(pattern))
    loose = data.draw(st.sampled_from([{"$any": True}, {"$not_null": True}]))
    assert_named(lint_seeded(with_value(uid, cell, loose)), "unchecked_text", cell)


@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_a_pattern_that_matches_all(data: st.DataObject) -> None:
    uid, cell, _ = data.draw(chosen(pattern))
    loose = data.draw(st.sampled_from([".*", ".+", "(?s).{3,}", r"[\w\W]*"]))
    task = with_value(uid, cell, {"$pattern": loose})
    assert_named(lint_seeded(task), "pattern_matches_all", cell)


@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_a_tolerance_too_wide(data: st.DataObject) -> None:
    uid, cell, spec = data.draw(chosen(lambda _u, _c, s: isinstance(s, int) and s > 10))
    near = {"$close": spec, "abs": data.draw(st.sampled_from([spec, 10 * spec, 1_000_000]))}
    assert_named(lint_seeded(with_value(uid, cell, near)), "tolerance_too_wide", cell)


def test_linting_twice_gives_the_same() -> None:
    one, other = (lint_seeded(bundled()[0][TASKS[0]]) for _ in range(2))
    assert json.dumps(one.to_json()) == json.dumps(other.to_json())


@pytest.mark.parametrize("uid", TASKS[:2])
def test_a_sound_tolerance_is_no_finding(uid: str) -> None:
    sound = [
        cell for cell, spec in cells(uid) if isinstance(spec, int) and cell[3] == "amount_cents"
    ]
    for cell in sound:
        spec = dict(cells(uid))[cell]
        linted = lint_seeded(with_value(uid, cell, {"$close": spec, "abs": 1}))
        assert linted.findings == ()


@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_a_check_that_passes_on_an_exception(data: st.DataObject) -> None:
    """An end state that is accepted too is the one in which a call was refused."""
    options = [
        (uid, failed) for uid in TASKS for failed in bundled()[1][uid].failed if failed[2].changes
    ]
    uid, (index, tool, state) = data.draw(st.sampled_from(options))
    expect: dict[str, dict[str, list[Any]]] = {}
    for change in state.changes:
        edits = expect.setdefault(change.table, {"insert": [], "update": [], "delete": []})
        new = dict(change.new or {})
        if change.op == "insert":
            edits["insert"].append(new)
        elif change.op == "update":
            values = {column: new[column] for column in change.columns}
            edits["update"].append({"key": dict(change.key or {}), "set": values})
        else:
            edits["delete"].append({"key": dict(change.key or {})})
    linted = lint_seeded(seeded(uid, accept_also=[{"name": "not done", "expect": expect}]))
    assert tool in [each.table for each in found(linted, "passes_on_exception")]
    assert any(f"call {index} " in each.message for each in found(linted, "passes_on_exception"))


@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_a_swapped_column(data: st.DataObject) -> None:
    uid = data.draw(st.sampled_from(TASKS))
    known = [(cell, spec) for cell, spec in cells(uid) if not isinstance(spec, dict)]
    pairs = [
        (one, other)
        for one in known
        for other in known
        if one[0][:3] == other[0][:3] and one[0] < other[0] and one[1] != other[1]
    ]
    (one, left), (other, right) = data.draw(st.sampled_from(pairs))
    expect = plain(uid)
    table, kind, index, _ = one
    entry = expect[table][kind][index]
    row = entry if kind == "insert" else entry["set"]
    row[one[3]], row[other[3]] = right, left
    linted = lint_seeded(seeded(uid, expect=expect))
    assert "golden_fails" in codes(linted)
    named = [set(each.details["columns"]) for each in found(linted, "swapped_columns")]
    assert {one[3], other[3]} in named


@pytest.mark.parametrize(
    "uid", [uid for uid in TASKS if "two-payments" in uid or "lost-express" in uid]
)
def test_an_order_dependence(uid: str) -> None:
    """The ids of golden's order, written down."""
    golden = bundled()[1][uid].golden
    expect = plain(uid)
    rows = [change.new or {} for change in golden.changes if change.table == "refunds"]
    expect["refunds"]["insert"] = [dict(row) for row in rows]
    linted = lint_seeded(seeded(uid, expect=expect))
    assert codes(linted) == {"order_dependence"}
    (finding,) = found(linted, "order_dependence")
    assert finding.table == "refunds"


UNREACHABLE = {
    "no such row": {"orders": {"update": [{"key": {"order_id": "ORD-1"}, "set": {"status": "x"}}]}},
    "a constraint": {
        "products": {"update": [{"key": {"product_id": "PRD-3001"}, "set": {"stock": -1}}]}
    },
    "a reference": {
        "store_credits": {
            "insert": [
                {
                    "credit_id": {"$id": "c"},
                    "customer_id": "CUS-1002",
                    "order_id": "ORD-1",
                    "amount_cents": 5,
                    "reason": "goodwill",
                    "issued_at": "2026-03-02T09:00:00Z",
                }
            ]
        }
    },
    "a pattern": {
        "products": {
            "update": [{"key": {"product_id": "PRD-3001"}, "set": {"name": {"$pattern": "(?!a)a"}}}]
        }
    },
}


@pytest.mark.parametrize("why", UNREACHABLE)
@pytest.mark.parametrize("uid", TASKS[:1])
def test_an_unreachable_alternative(uid: str, why: str) -> None:
    linted = lint_seeded(seeded(uid, accept_also=[{"name": why, "expect": UNREACHABLE[why]}]))
    assert codes(linted) == {"unreachable_alternative"}
    (finding,) = found(linted, "unreachable_alternative")
    assert finding.details["alternative"] == why


def text_fact(uid: str, cell: Cell, spec: Any) -> bool:
    return isinstance(spec, str) and " " not in spec and not is_key(uid, cell)


@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_a_rubric_for_a_fact(data: st.DataObject) -> None:
    uid, cell, _ = data.draw(chosen(text_fact))
    task = with_value(uid, cell, {"$rubric": "Is it the right one?"})
    linted = lint_seeded(task)
    assert_named(linted, "rubric_for_fact", cell)
    assert linted.judged > 0


@pytest.mark.parametrize("uid", TASKS[:2])
def test_a_noop_that_passes(uid: str) -> None:
    linted = lint_seeded(seeded(uid, accept_also=[{"name": "nothing to do", "expect": {}}]))
    assert "noop_passes" in codes(linted)


@pytest.mark.parametrize("uid", TASKS)
def test_a_noop_that_passes_because_it_is_so_already(uid: str) -> None:
    """Expected values are those of the seed."""
    initial = bundled()[1][uid].golden.initial
    expect: dict[str, Any] = {}
    for table, edits in plain(uid).items():
        for update in edits["update"]:
            row = initial.row(table, update["key"]) or {}
            values = {column: row[column] for column in update["set"]}
            expect = {table: {"update": [{"key": update["key"], "set": values}]}}
    if expect:
        linted = lint_seeded(seeded(uid, expect=expect))
        (table,) = expect
        assert [each.table for each in found(linted, "noop_passes")] == [table]


@pytest.mark.parametrize("uid", TASKS[::2])
def test_a_golden_list_that_fails(uid: str) -> None:
    task = bundled()[0][uid]
    at = bundled()[1][uid].failed[0][0]
    golden = [call.model_dump(mode="json") for call in task.golden]
    golden[at]["arguments"] = json.loads(
        json.dumps(golden[at]["arguments"]).replace("ORD-", "ORD-9").replace("PAY-", "PAY-9")
    )
    if golden[at]["arguments"] == task.golden[at].arguments:
        golden[at]["arguments"] = {}
    broken = seeded(uid, golden=golden)
    evidence = anyio.run(replays, TaskSet((broken,), load_tasks([broken.domain]).domains))
    linted = lint_task(broken, evidence[uid])
    assert at in [each.details["statement"] for each in found(linted, "golden_error")]
    assert "golden_fails" in codes(linted)
    assert linted.mutants == 0
    assert linted.score is None
