"""Every public mistake of a state grader in ``cases/state.jsonl``, with the right value."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import test_reward_lint_cases
from outcomebox.reward import Check, Reason, Verdict, grade, grade_safely, verdict_of
from outcomebox.sandbox.changes import read_state, terminal_state
from reward_cases import CASES, CaseJudge, bag, cases_of, end_of, plain, play, seed

# Findings about a task rather than about an episode are tested in test_reward_lint_cases.py.
COUNTS = {"verdict": 39, "changelog": 9, "isolation": 1, "error": 3, "lint": 11}

TRANSCRIPT = [
    {"role": "user", "content": "Please change my orders."},
    {"role": "assistant", "content": "I have changed your orders."},
]


def brief(reason: Reason) -> dict[str, Any]:
    return {
        "table": reason.table,
        "key": reason.key,
        "column": reason.column,
        "kind": reason.kind,
    }


def graded(case: dict[str, Any], folder: Path, statements: list[Any]) -> Verdict:
    judge = CaseJudge(case.get("rubric_answers", {}))
    state = end_of(case, folder, statements)
    return grade(Check.from_json(case["check"]), state, judge=judge, transcript=TRANSCRIPT)


def assert_expected(verdict: Verdict, expected: dict[str, Any], case: dict[str, Any]) -> None:
    assert verdict.outcome == expected["verdict"], [reason.message for reason in verdict.reasons]
    found = bag(map(brief, verdict.reasons))
    accepted = [bag(expected["reasons"])]
    if "reasons_alternative" in case:
        accepted.append(bag(case["reasons_alternative"]))
    assert found in accepted


def test_every_case_is_a_named_test_and_none_is_skipped() -> None:
    assert Counter(case["kind"] for case in CASES) == COUNTS
    assert len({case["id"] for case in CASES}) == len(CASES) == 63
    for kind, test in (
        ("verdict", test_verdict),
        ("changelog", test_old_and_new_values),
        ("isolation", test_isolation),
        ("error", test_error),
        ("lint", test_reward_lint_cases.test_lint),
    ):
        (marked,) = test.pytestmark
        named = {parameter.id for parameter in marked.args[1]}
        assert named == {case["id"] for case in CASES if case["kind"] == kind}
        assert all(not parameter.marks for parameter in marked.args[1])


@pytest.mark.parametrize("case", cases_of("verdict"))
def test_verdict(case: dict[str, Any], tmp_path: Path) -> None:
    verdict = graded(case, tmp_path, case["actual"])
    assert_expected(verdict, case["expected"], case)
    for reason in verdict.reasons:
        for part in (reason.table, reason.column):
            assert part is None or part in reason.message
        assert "\n" not in reason.message
    json.dumps(verdict.to_json())
    assert Verdict.from_json(verdict.to_json()) == verdict


@pytest.mark.parametrize("case", cases_of("verdict"))
def test_the_golden_statements_pass(case: dict[str, Any], tmp_path: Path) -> None:
    case = {**case, "rubric_answers": dict.fromkeys(case.get("rubric_answers", {}), "yes")}
    assert graded(case, tmp_path, case["golden"]).outcome == "passed"


@pytest.mark.parametrize("case", list(cases_of("verdict", "changelog", "error")))
def test_changes(case: dict[str, Any], tmp_path: Path) -> None:
    state = end_of(case, tmp_path, case["actual"])
    expected = []
    for change in case["changes"]:
        listed = dict(change)
        if "columns" in listed:  # the cases list generated columns too; ours leave them out
            known = state.tables[listed["table"]].columns
            listed["columns"] = sorted(set(listed["columns"]) & set(known))
        expected.append(listed)
    assert bag(map(plain, state.changes)) == bag(expected)


@pytest.mark.parametrize("case", cases_of("changelog"))
def test_old_and_new_values(case: dict[str, Any], tmp_path: Path) -> None:
    found = []
    for change in end_of(case, tmp_path, case["actual"]).changes:
        entry: dict[str, Any] = {"op": change.op, "table": change.table}
        if change.key is not None:
            entry["key"] = change.key
        if change.old is not None and change.new is not None:
            entry["old"] = {column: change.old[column] for column in change.columns}
            entry["new"] = {column: change.new[column] for column in change.columns}
        else:
            entry["row"] = change.new if change.old is None else change.old
        found.append(entry)
    assert bag(found) == bag(case["expected"]["changes"])


@pytest.mark.parametrize("case", cases_of("isolation"))
def test_isolation(case: dict[str, Any], tmp_path: Path) -> None:
    check = Check.from_json(case["check"])
    leaked = tmp_path / "shared.sqlite"
    initial = seed(leaked, case["schema"], case["seed"])
    play(leaked, case["actual"])
    assert grade(check, terminal_state(initial, read_state(leaked))).outcome == "passed"

    clean = tmp_path / "own.sqlite"
    initial_b = seed(clean, case["schema"], case["seed"])
    play(clean, case["then"])
    assert_expected(
        grade(check, terminal_state(initial_b, read_state(clean))), case["expected"], case
    )

    play(leaked, case["then"])
    assert_expected(
        grade(check, terminal_state(initial, read_state(leaked))),
        case["expected"]["if_leaked"],
        case,
    )


@pytest.mark.parametrize("case", cases_of("error"))
def test_error(case: dict[str, Any], tmp_path: Path) -> None:
    check = Check.from_json(case["check"])
    path = tmp_path / "database.sqlite"
    initial = seed(path, case["schema"], case["seed"])
    play(path, case["actual"])
    judge = CaseJudge(case.get("rubric_answers", {}))
    where = case["fault"]["where"]
    if where == "check":

        def broken() -> Verdict:
            assert grade(check, terminal_state(initial, read_state(path))).outcome == "passed"
            raise KeyError("street")

        verdict = verdict_of(broken)
        assert verdict.error is not None
        assert verdict.error["type"] == case["fault"]["raises"]
    else:
        if where == "read":
            with path.open("r+b") as file:
                file.write(bytes(100))
        verdict = grade_safely(
            check, lambda: terminal_state(initial, read_state(path)), judge=judge
        )
    assert verdict.outcome == case["expected"]["verdict"] == "system_error"
    assert verdict.error is not None
    assert verdict.error["phase"] == case["expected"]["phase"]
    assert verdict.error["message"]
    assert verdict.reward is None
    assert verdict.score is None
    assert verdict.reasons == ()


def test_a_judge_is_asked_only_about_the_column_that_needs_it(tmp_path: Path) -> None:
    case = next(case for case in CASES if case["id"] == "st-107")
    judge = CaseJudge({"Is it the street the caller named?": "yes"})
    state = end_of(case, tmp_path, case["actual"])
    assert grade(Check.from_json(case["check"]), state, judge=judge).outcome == "passed"
    assert judge.asked == [("Is it the street the caller named?", "9 Oak")]
