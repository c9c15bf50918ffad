"""What is no check: it says nothing, contradicts itself, or does not fit the database."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from outcomebox.reward import Check, CheckError, grade
from outcomebox.sandbox.expect import Alternative, TableExpect
from outcomebox.sandbox.task import Task
from reward_cases import CASES
from reward_states import check, state_after

SCRIPT = """
CREATE TABLE t(id INTEGER PRIMARY KEY, a, b DEFAULT 'x', at DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE pair(x, y, v, PRIMARY KEY(x, y));
CREATE TABLE bag(x, y);
INSERT INTO t VALUES (1, 'a', 'b', NULL);
INSERT INTO pair VALUES (1, 1, 0), (NULL, 1, 0);
"""
UPDATE = {"t": {"update": [{"key": {"id": 1}, "set": {"a": "z"}}]}}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"tables": {}}, "mark the check read_only"),
        ({"tables": UPDATE, "read_only": True}, "take the mark away"),
        (
            {"tables": UPDATE, "accept_also": [{"name": "none", "tables": {}}]},
            "none: lists no change",
        ),
        (
            {"tables": UPDATE, "accept_also": [{"name": "expect", "tables": UPDATE}]},
            "two accepted end states are called 'expect'",
        ),
        ({"tables": UPDATE, "ignore": {"t": ["*"]}}, "t, which is ignored in full"),
        ({"tables": UPDATE, "ignore": {"t": ["a"]}}, r"t\.a, which is ignored"),
        ({"tables": UPDATE, "ignore": {"*": ["a"]}}, r"t\.a, which is ignored"),
        ({"tables": UPDATE, "ignore": {"*": ["*"]}}, "ignores every column of every table"),
        ({"tables": UPDATE, "answer": {"$id": "n"}}, r"answer: \$id"),
        ({"tables": UPDATE, "answer": {"$regex": "n"}}, r"answer: .*write \{\$pattern"),
        ({"tables": UPDATE, "unknown": 1}, "unknown: Extra inputs"),
        ({"table": UPDATE}, "Field required"),
        ({"tables": {"t": {}}}, r"tables\.t: lists no change"),
    ],
)
def test_refused_when_made(data: dict[str, Any], says: str) -> None:
    with pytest.raises(CheckError, match=says):
        Check.from_json(data)


@pytest.mark.parametrize(
    ("tables", "more", "says"),
    [
        (
            {"u": {"insert": [{"id": 2}]}},
            {},
            r"expect\.u: there is no table u; there are bag, pair, t",
        ),
        ({"T": {"insert": [{"id": 2}]}}, {}, "no table T; write t, with case as declared"),
        ({"t": {"update": [{"key": {"id": 1}, "set": {"A": 1}}]}}, {}, "no column A .*; write a,"),
        ({"t": {"update": [{"key": {"id": 1}, "set": {"c": 1}}]}}, {}, "no column c"),
        ({"t": {"insert": [{"id": 1, "c": 1, "at": None}]}}, {}, "no column c"),
        (
            {"t": {"update": [{"key": {"a": 1}, "set": {"b": 1}}]}},
            {},
            r"the primary key of t is \(id\); write all of it \(found \{\"a\": 1\}",
        ),
        ({"pair": {"delete": [{"key": {"x": 1}}]}}, {}, r"\(x, y\); write all of it"),
        ({"pair": {"delete": [{"key": {"x": None, "y": 1}}]}}, {}, r"delete \{row"),
        ({"bag": {"update": [{"key": {"x": 1}, "set": {"y": 1}}]}}, {}, "has no primary key"),
        ({"bag": {"delete": [{"row": {"x": 1}}]}}, {}, "y is missing"),
        ({"bag": {"delete": [{"row": {"x": 1, "y": 1, "z": 1}}]}}, {}, "no column z"),
        ({"t": {"delete": [{"row": {"id": 1, "a": 1, "b": 1, "at": 1}}]}}, {}, r"write \{key"),
        ({"t": {"update": [{"key": {"id": 1}, "set": {"id": 2}}]}}, {}, "list a delete"),
        ({"t": {"insert": [{"a": 1, "at": None}]}}, {}, r"key column id.*\$id"),
        ({"t": {"insert": [{"id": 2}]}}, {}, r"at is not listed.*\$not_null"),
        (
            {"t": {"insert": [{"id": 2, "at": None}, {"id": 2, "at": None}]}},
            {},
            r"named twice.*\{\"id\": 2\}",
        ),
        (
            {"t": {"insert": [{"id": 1, "at": None}], "delete": [{"key": {"id": 1}}]}},
            {},
            r"named twice.*\{\"id\": 1\}",
        ),
        (UPDATE, {"ignore": {"t": ["zz"]}}, "t has no column zz"),
        (UPDATE, {"ignore": {"u": ["a"]}}, r"ignore\.u: there is no table u; .*the column \*"),
        (UPDATE, {"ignore": {"*": ["zz"]}}, r"\* has no column zz"),
        (
            UPDATE,
            {"accept_also": [{"name": "other", "tables": {"u": {"insert": [{"id": 2}]}}}]},
            r"other: expect\.u: there is no table u",
        ),
    ],
)
def test_refused_when_it_does_not_fit_the_database(
    tables: dict[str, Any], more: dict[str, Any], says: str
) -> None:
    state = state_after(SCRIPT)
    made = check(tables, **more)
    assert len(made.problems(state.tables)) == 1
    with pytest.raises(CheckError, match=says):
        grade(made, state)


def test_what_fits_has_no_problems() -> None:
    made = check(
        {
            "t": {"insert": [{"id": {"$id": "n"}, "a": 1}]},
            "pair": {"delete": [{"row": {"x": None, "y": 1, "v": 0}}]},
            "bag": {"insert": [{"x": 1}], "delete": [{"row": {"x": 1}}]},
        },
        ignore={"t": ["at"], "bag": ["y"], "made_by_tools": ["*"]},
    )
    assert made.problems(state_after(SCRIPT).tables) == ()


def test_the_database_a_check_must_fit_is_the_initial_one() -> None:
    """Otherwise an agent could drop a table to make the verdict go away."""
    state = state_after(SCRIPT, "DROP TABLE t")
    verdict = grade(check(UPDATE), state)
    assert verdict.outcome == "failed"
    assert {reason.kind for reason in verdict.reasons} == {"schema_changed", "extra_delete"}


def test_a_task_and_its_json_form_make_the_same_check() -> None:
    task = Task.model_validate(
        {
            "uid": "shop/fix/1",
            "domain": "shop",
            "family": "fix",
            "query": "Please.",
            "expect": UPDATE,
            "accept_also": [{"name": "gone", "expect": {"t": {"delete": [{"key": {"id": 1}}]}}}],
            "ignore": {"t": {"at": "declared in the check"}},
            "rubrics": ["Was the agent polite?"],
        }
    )
    assert Check.from_task(task) == check(
        UPDATE,
        accept_also=[{"name": "gone", "tables": {"t": {"delete": [{"key": {"id": 1}}]}}}],
        ignore={"t": ["at"]},
        rubrics=["Was the agent polite?"],
    )


def test_the_tag_no_change_is_the_mark_of_a_task() -> None:
    @dataclass(frozen=True)
    class Plain:
        tags: tuple[str, ...]
        expect: dict[str, TableExpect] = field(default_factory=dict)
        accept_also: tuple[Alternative, ...] = ()
        ignore: dict[str, dict[str, str]] = field(default_factory=dict)
        rubrics: tuple[str, ...] = ()

    assert Check.from_task(Plain(("no-change",))).read_only
    with pytest.raises(CheckError, match="the tag no-change"):
        Check.from_task(Plain(()))


@pytest.mark.parametrize("case_id", ["st-082", "st-084"])
def test_cases_whose_check_says_nothing_are_refused(case_id: str) -> None:
    case = next(case for case in CASES if case["id"] == case_id)
    with pytest.raises(CheckError, match="an agent that does nothing would pass"):
        Check.from_json(case["check"])


def test_invariants_are_kept_for_whoever_tests_the_task() -> None:
    case = next(case for case in CASES if case["id"] == "st-088")
    (invariant,) = Check.from_json(case["check"]).invariants
    assert invariant.name == "price as in catalog"
    assert json.dumps(invariant.sql)
