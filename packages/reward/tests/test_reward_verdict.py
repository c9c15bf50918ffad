"""The error rule: what is a failure, what is no verdict, and that records survive."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from outcomebox.reward import (
    CheckError,
    JudgeError,
    Reason,
    Verdict,
    grade_safely,
    verdict_of,
)
from outcomebox.sandbox.changes import read_state, terminal_state
from outcomebox.sandbox.errors import StateUnreadable
from reward_states import check, state_after

SCRIPT = "CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 'x')"
CHECK = check({"t": {"update": [{"key": {"id": 1}, "set": {"a": "y"}}]}})
RIGHT = "UPDATE t SET a = 'y'"


def raising(error: BaseException) -> Any:
    def run(*_: Any) -> Any:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "phase"),
    [
        (KeyError("street"), "check"),
        (ZeroDivisionError(), "check"),
        (RecursionError(), "check"),
        (MemoryError(), "check"),
        (TimeoutError("late"), "check"),
        (StopIteration(), "check"),
        (CheckError("does not fit"), "check"),
        (StateUnreadable("damaged"), "read"),
        (JudgeError("unreadable"), "judge"),
        (ExceptionGroup("many", [AssertionError("a")]), "check"),
    ],
)
def test_an_exception_is_never_a_failure(error: Exception, phase: str) -> None:
    verdict = verdict_of(raising(error))
    assert verdict.outcome == "system_error"
    assert verdict.error == {"type": type(error).__name__, "message": str(error), "phase": phase}
    assert (verdict.reward, verdict.score, verdict.reasons) == (None, None, ())


def test_an_assertion_of_a_custom_check_is_a_failure_with_its_words() -> None:
    verdict = verdict_of(raising(AssertionError("two orders were expected")))
    assert (verdict.outcome, verdict.reward, verdict.score) == ("failed", 0.0, 0.0)
    (reason,) = verdict.reasons
    assert (reason.kind, reason.message) == ("assertion_failed", "two orders were expected")


def test_an_assertion_without_words_names_its_line() -> None:
    def custom() -> None:
        assert sorted([2, 1]) == [2, 1]

    (reason,) = verdict_of(custom).reasons
    assert "[2, 1]" in reason.message


def test_an_assertion_is_a_failure_only_where_it_is_a_custom_checks_own() -> None:
    assert verdict_of(raising(AssertionError()), assertions=False).outcome == "system_error"
    state = state_after(SCRIPT, RIGHT)
    assert grade_safely(CHECK, raising(AssertionError("internal"))).error == {
        "type": "StateUnreadable",
        "message": "AssertionError: internal",
        "phase": "read",
    }
    assert grade_safely(CHECK, state).outcome == "passed"


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(1), GeneratorExit()])
def test_an_order_to_stop_is_no_verdict_at_all(stop: BaseException) -> None:
    with pytest.raises(type(stop)):
        verdict_of(raising(stop))


@pytest.mark.parametrize(("result", "score"), [(None, 1.0), (1, 1.0), (0.25, 0.25), (0, 0.0)])
def test_a_number_is_a_score_beside_the_outcome(result: Any, score: float) -> None:
    verdict = verdict_of(lambda: result)
    assert (verdict.outcome, verdict.reward, verdict.score) == ("passed", 1.0, score)


@pytest.mark.parametrize("result", [True, False, 1.5, -0.1, float("nan"), "passed", [1]])
def test_any_other_result_is_a_broken_check(result: Any) -> None:
    verdict = verdict_of(lambda: result)
    assert verdict.outcome == "system_error"
    assert verdict.error is not None
    assert "None or a score from 0 to 1" in verdict.error["message"]


def test_a_verdict_passes_through() -> None:
    verdict = Verdict("failed", 0.0, (Reason("tool_crash", message="the server died twice"),))
    assert verdict_of(lambda: verdict) is verdict


@pytest.mark.parametrize("damage", ["zeros", "missing", "empty"])
def test_a_broken_backend_is_no_verdict_even_if_nothing_was_done(
    tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "d.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCRIPT)
    connection.close()
    initial = read_state(path)
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(b"" if damage == "empty" else bytes(8192))
    verdict = grade_safely(CHECK, lambda: terminal_state(initial, read_state(path)))
    assert verdict.outcome == "system_error"
    assert verdict.error is not None
    assert verdict.error["phase"] == "read"


def test_a_check_that_does_not_fit_is_no_verdict() -> None:
    wrong = check({"u": {"update": [{"key": {"id": 1}, "set": {"a": "y"}}]}})
    verdict = grade_safely(wrong, state_after(SCRIPT, RIGHT))
    assert verdict.error is not None
    assert (verdict.outcome, verdict.error["phase"]) == ("system_error", "check")
    assert "there is no table u" in verdict.error["message"]


def test_what_was_graded_safely_is_what_was_graded() -> None:
    assert grade_safely(CHECK, lambda: state_after(SCRIPT, RIGHT)).reward == 1.0
    assert grade_safely(CHECK, lambda: state_after(SCRIPT)).reward == 0.0


@pytest.mark.parametrize(
    "fields",
    [
        {"outcome": "failed", "score": 0.0},
        {"outcome": "passed", "score": 1.0, "reasons": (Reason("wrong_value"),)},
        {"outcome": "passed", "score": None},
        {"outcome": "passed", "score": 2.0},
        {"outcome": "passed", "score": float("nan")},
        {"outcome": "system_error", "score": 0.0, "details": {"error": {}}},
        {"outcome": "system_error", "score": None},
        {"outcome": "passed", "score": 1.0, "details": {"error": {}}},
        {"outcome": "great", "score": 1.0},
    ],
)
def test_a_verdict_that_contradicts_itself_cannot_be_made(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"verdict|score|outcome|error"):
        Verdict(**fields)


@pytest.mark.parametrize(
    "verdict",
    [
        verdict_of(lambda: 0.5),
        verdict_of(raising(KeyError("x"))),
        grade_safely(CHECK, state_after(SCRIPT, "UPDATE t SET a = x'00ff'")),
        grade_safely(CHECK, state_after(SCRIPT, "DELETE FROM t")),
        grade_safely(CHECK, state_after(SCRIPT, "UPDATE t SET a = 9e999")),
    ],
)
def test_a_verdict_survives_its_record(verdict: Verdict) -> None:
    line = json.dumps(verdict.to_json(), allow_nan=False)
    assert Verdict.from_json(json.loads(line)) == verdict


def test_an_unknown_record_is_refused() -> None:
    with pytest.raises(ValueError, match="no such kind"):
        Reason.from_json({"kind": "bad_mood"})
    with pytest.raises(TypeError):
        Reason.from_json({"kind": "wrong_value", "colour": "red"})
