"""One signature a failed attempt, silence, and blame."""

from __future__ import annotations

from typing import Any, get_args

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.eval.metrics import signature as signatures
from outcomebox.eval.metrics.columns import looked_at
from outcomebox.eval.metrics.silent import INSIDE
from outcomebox.eval.results import ATTEMPTS
from outcomebox.reward.verdict import Kind

NOTHING: dict[str, Any] = {
    "outcome": "failed",
    "finish_reason": "done",
    "reasons": ["wrong_value"],
    "last_tool_error": False,
    "wrote": True,
}


def look(**row: Any) -> dict[str, Any]:
    plain = {"uid": "t", "repetition": 0, "try": 0}
    frame = pl.DataFrame([{**plain, **NOTHING, **row}], schema=ATTEMPTS)
    return looked_at(frame).row(0, named=True)


def signed(**row: Any) -> str | None:
    found: str | None = look(**row)["signature"]
    return found


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ({}, "wrong_write"),
        ({"finish_reason": "agent_limit"}, "ran_out_of_turns"),
        ({"finish_reason": "token_limit", "last_tool_error": True}, "ran_out_of_turns"),
        ({"finish_reason": "agent_limit", "reasons": None, "wrote": None}, "ran_out_of_turns"),
        ({"last_tool_error": True, "wrote": False}, "tool_usage"),
        ({"finish_reason": "tool_crash", "reasons": ["tool_crash"]}, "tool_usage"),
        ({"finish_reason": None, "reasons": ["tool_crash"]}, "tool_usage"),
        ({"wrote": False, "reasons": ["missing_insert"]}, "no_write"),
        ({"wrote": False, "reasons": ["assertion_failed"]}, "no_write"),
        ({"wrote": False, "reasons": None, "last_tool_error": None}, "no_write"),
        ({"wrote": False, "reasons": ["rubric_failed"]}, "incomplete_resolution"),
        ({"reasons": ["extra_insert", "missing_insert", "wrong_value"]}, "wrong_write"),
        ({"reasons": ["extra_insert", "missing_update"]}, "missing_write"),
        ({"reasons": ["missing_row"]}, "missing_write"),
        ({"reasons": ["rubric_failed", "extra_delete"]}, "extra_write"),
        ({"reasons": ["schema_changed"]}, "extra_write"),
        ({"reasons": ["rubric_failed", "wrong_answer"]}, "incomplete_resolution"),
        ({"finish_reason": "user_limit", "reasons": ["missing_insert"]}, "missing_write"),
        ({"reasons": ["assertion_failed"]}, None),
        ({"reasons": ["assertion_failed", "rubric_failed"]}, None),
        ({"reasons": None}, None),
        ({"reasons": []}, None),
        ({"outcome": "passed", "reasons": []}, None),
        ({"outcome": "system_error", "finish_reason": None, "reasons": []}, None),
    ],
)
def test_the_first_that_holds_is_the_signature(row: dict[str, Any], wanted: str | None) -> None:
    assert signed(**row) == wanted


def test_every_kind_of_reason_has_its_place() -> None:
    placed = {
        *signatures.WRONG,
        *signatures.MISSING,
        *signatures.EXTRA,
        *signatures.SAID,
        "tool_crash",
        "assertion_failed",
    }
    assert placed == set(get_args(Kind))


@given(
    st.fixed_dictionaries(
        {
            "finish_reason": st.sampled_from([None, "done", "agent_limit", "user_done", "no_user"]),
            "reasons": st.one_of(st.none(), st.lists(st.sampled_from(get_args(Kind)), max_size=4)),
            "last_tool_error": st.sampled_from([None, True, False]),
            "wrote": st.sampled_from([None, True, False]),
        }
    )
)
@settings(max_examples=60, deadline=None)
def test_one_signature_and_one_to_blame_whatever_the_order(row: dict[str, Any]) -> None:
    found = look(**row)
    assert found["signature"] in {None, *signatures.SIGNATURES}
    assert found["blame"] in signatures.BLAMED
    if row["reasons"] and "assertion_failed" not in row["reasons"]:
        assert found["signature"] is not None
    if row["reasons"] is not None:
        again = look(**{**row, "reasons": row["reasons"][::-1]})
        assert (again["signature"], again["blame"]) == (found["signature"], found["blame"])


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ({}, True),
        ({"finish_reason": "end_turn_tool"}, True),
        ({"finish_reason": "user_done"}, True),
        ({"finish_reason": "agent_limit"}, False),
        ({"finish_reason": "tool_crash"}, False),
        ({"wrote": False}, False),
        ({"last_tool_error": True}, False),
        ({"wrote": None}, None),
        ({"wrote": None, "last_tool_error": True}, False),
        ({"finish_reason": None}, None),
        ({"outcome": "passed", "reasons": []}, None),
    ],
)
def test_silent_is_ended_written_and_without_error_last(
    row: dict[str, Any], wanted: bool | None
) -> None:
    assert look(**row)["silent"] is wanted


def test_parts_inside_silence_overlap() -> None:
    both = look(reasons=["wrong_value", "missing_update", "extra_insert", "extra_update"])
    assert [both[f"inside.{name}"] for name in INSIDE] == [True, True, True]
    said = look(reasons=["rubric_failed"])
    assert [said[f"inside.{name}"] for name in INSIDE] == [False, False, False]
    loud = look(last_tool_error=True)
    assert [loud[f"inside.{name}"] for name in INSIDE] == [None, None, None]
    untold = look(reasons=["assertion_failed"])
    assert [untold[f"inside.{name}"] for name in INSIDE] == [None, None, None]


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ({}, "agent"),
        ({"finish_reason": "user_limit"}, "user_simulator"),
        ({"finish_reason": "no_user"}, "user_simulator"),
        ({"finish_reason": "user_done", "wrote": False}, "user_simulator"),
        ({"finish_reason": "user_done", "wrote": True}, "agent"),
        ({"reasons": ["rubric_failed", "rubric_failed"]}, "grader"),
        ({"reasons": ["rubric_failed", "wrong_value"]}, "agent"),
        ({"reasons": ["wrong_answer"]}, "agent"),
        ({"reasons": []}, "agent"),
        ({"reasons": None, "finish_reason": None, "wrote": None}, "agent"),
        ({"outcome": "passed"}, None),
    ],
)
def test_blame(row: dict[str, Any], wanted: str | None) -> None:
    assert look(**row)["blame"] == wanted


@pytest.mark.parametrize(
    ("phase", "wanted"),
    [
        ("user", "user_simulator"),
        ("judge", "grader"),
        ("golden", "grader"),
        ("policy", "policy_endpoint"),
        ("open", "backend"),
        ("worker", "harness"),
        (None, "harness"),
    ],
)
def test_broken_tries_are_blamed_by_phase(phase: str | None, wanted: str) -> None:
    assert look(outcome="system_error", error_phase=phase)["broken"] == wanted
    assert look(error_phase=None)["broken"] is None
