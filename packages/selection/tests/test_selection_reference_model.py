"""A stronger model shows which tasks can be solved: by counts, or by a posterior probability."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from outcomebox.selection import EmptyPoolError, Selection, TaskResult, curate
from outcomebox.selection.explain import explain_json
from selection_rows import curation, result, task

unhurried = settings(deadline=None, max_examples=60)


def select(model: list[TaskResult], **gate: Any) -> Selection:
    probed = [result(f"t{n}", 4, 8) for n in range(5)]
    settings_ = curation(gates={"reference_model": gate})
    try:
        return curate([r.task for r in probed], probed, settings_, reference_model=model)
    except EmptyPoolError as error:
        return error.selection


MODEL = [result("t0", 0, 8), result("t1", 1, 8), result("t2", 3, 4), result("t3", 8, 8)]


@pytest.mark.parametrize(
    ("gate", "kept"),
    [
        ({}, ["t1", "t2", "t3"]),
        ({"passes": 3}, ["t2", "t3"]),
        ({"passes": 1, "runs": 8}, ["t1", "t3"]),
        ({"rate": 0.2, "probability": 0.9}, ["t2", "t3"]),
        ({"passes": 0, "rate": 0.01, "probability": 0.5}, ["t0", "t1", "t2", "t3"]),
    ],
)
def test_a_task_is_kept_as_the_reference_model_shows(gate: dict[str, Any], kept: list[str]) -> None:
    chosen = select(MODEL, **gate)
    assert [d.uid for d in chosen.kept] == kept
    reasons = {d.uid: (d.reason, d.detail) for d in chosen.decisions}
    assert reasons["t4"] == ("unsolved", "no clean run of the reference model")
    assert {reason for reason, _ in reasons.values()} == {None, "unsolved"}


def test_the_reason_has_the_figures() -> None:
    details = {d.uid: d.detail for d in select(MODEL, rate=0.2, probability=0.9).decisions}
    chance = stats.beta(1.5, 7.5).sf(0.2)
    assert details["t1"] == (
        f"1 of 8 clean runs of the reference model passed: P(pass rate > 0.2) is {chance:.3f}, "
        "0.9 is asked for"
    )
    assert details["t0"] == (
        "0 of 8 clean runs of the reference model passed, 1 of at least 1 are asked for"
    )
    chosen = select(MODEL, rate=0.2, probability=0.1)
    told = explain_json(chosen, chosen.decisions[1])["reference_model"]
    assert told == {
        "passes": 1,
        "clean_runs": 8,
        "rate": 0.2,
        "probability": pytest.approx(chance),
    }


counts = st.lists(
    st.integers(0, 8).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=5,
    max_size=5,
)


@given(counts, st.data())
@unhurried
def test_a_higher_gate_of_the_reference_model_never_adds_a_task(
    found: list[tuple[int, int]], data: Any
) -> None:
    model = [result(f"t{n}", passes, runs) for n, (passes, runs) in enumerate(found)]
    low = {
        "passes": data.draw(st.integers(0, 4)),
        "runs": data.draw(st.integers(1, 4)),
        "rate": data.draw(st.sampled_from([0.0, 0.1, 0.5])),
        "probability": data.draw(st.sampled_from([0.1, 0.5, 0.9])),
    }
    for name, more in (("passes", 1), ("runs", 1), ("rate", 0.2), ("probability", 0.05)):
        higher = {d.uid for d in select(model, **{**low, name: low[name] + more}).kept}
        assert higher <= {d.uid for d in select(model, **low).kept}


def test_runs_of_another_version_show_nothing() -> None:
    other = TaskResult(task("t0", hash="another"), 8, 8, 0, 0, 8)
    assert select([other, *MODEL[1:]]).decisions[0].detail == "no clean run of the reference model"
