"""Gates, pool and split together, as rules that hold for every input."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from outcomebox.selection import (
    REASONS,
    Curation,
    EmptyPoolError,
    Selection,
    TaskResult,
    curate,
)
from outcomebox.selection.figures import figures
from selection_rows import curation, probed, result, task

texts = st.one_of(
    st.text(alphabet="PF", min_size=8, max_size=8), st.text(alphabet="PFE", max_size=10)
)
populations = st.lists(
    st.tuples(texts, st.sampled_from(["retail", "travel"]), st.sampled_from("abc"), st.booleans()),
    min_size=1,
    max_size=25,
).map(
    lambda items: [
        probed(
            f"t{n:02d}", text, domain=domain, family=family, **({"content": "same"} if same else {})
        )
        for n, (text, domain, family, same) in enumerate(items)
    ]
)

# How long an example takes says nothing on a busy machine.
unhurried = settings(deadline=None, max_examples=50)


def select(results: list[TaskResult], settings: Curation, **more: Any) -> Selection:
    try:
        return curate([r.task for r in results], results, settings, **more)
    except EmptyPoolError as error:
        return error.selection


@unhurried
@given(populations, st.randoms(), st.integers(0, 3))
def test_the_order_of_tasks_and_results_changes_nothing(
    results: list[TaskResult], random: Any, seed: int
) -> None:
    settings = curation(split={"seed": seed})
    shuffled = list(results)
    random.shuffle(shuffled)
    tasks = [r.task for r in results]
    random.shuffle(tasks)
    expected = select(results, settings)
    assume(expected.kept)
    assert curate(tasks, shuffled, settings) == expected


@unhurried
@given(populations, st.sets(st.integers(0, 24)))
def test_every_task_is_kept_or_has_one_reason(
    results: list[TaskResult], excluded: set[int]
) -> None:
    uids = [f"t{n:02d}" for n in excluded]
    chosen = select(results, curation(exclude={"uids": uids}))
    assert [d.uid for d in chosen.decisions] == sorted(r.task.uid for r in results)
    for decision in chosen.decisions:
        assert decision.kept is (decision.reason is None)
        assert decision.reason is None or decision.reason in REASONS
        if decision.uid in uids:
            assert decision.reason == "excluded"
    assert sum(chosen.reasons().values()) + len(chosen.kept) == len(results)
    counted = figures(chosen)
    in_bands = sum(band["kept"] + band["not_kept"] for band in counted["bands"])
    assert in_bands + sum(counted["without_band"].values()) == len(results)
    assert counted["kept"] + counted["dropped"] + counted["undecided"] == len(results)


@unhurried
@given(populations, st.sets(st.integers(0, 24)))
def test_no_excluded_task_and_no_copy_of_one_is_selected(
    results: list[TaskResult], excluded: set[int]
) -> None:
    uids = {f"t{n:02d}" for n in excluded}
    chosen = select(results, curation(exclude={"uids": sorted(uids)}))
    content = {r.task.content for r in results if r.task.uid in uids}
    assert not uids & {d.uid for d in chosen.kept}
    assert not content & {d.task.content for d in chosen.kept}


@unhurried
@given(populations)
def test_of_equal_content_one_task_is_left(results: list[TaskResult]) -> None:
    chosen = select(results, curation())
    contents = [d.task.content for d in chosen.kept]
    assert len(set(contents)) == len(contents)
    copies = [d for d in chosen.decisions if d.task.content == "same"]
    left = [d for d in copies if d.reason != "duplicate"]
    assert len(left) == min(1, len(copies))
    if left:
        assert left[0].result.clean_runs == max(d.result.clean_runs for d in copies)


@unhurried
@given(populations, st.sampled_from([0.0, 0.1, 0.2, 0.5]), st.sampled_from([None, "family"]))
def test_the_split_is_disjoint_and_complete(
    results: list[TaskResult], fraction: float, together: str | None
) -> None:
    chosen = select(results, curation(split={"test_fraction": fraction, "keep_together": together}))
    train, test = ({d.uid for d in chosen.side(side)} for side in ("train", "test"))
    assert not train & test
    assert train | test == {d.uid for d in chosen.kept}
    assert all(d.side is None for d in chosen.decisions if not d.kept)
    if together:
        families = [
            {(d.task.domain, d.task.family) for d in chosen.side(s)} for s in ("train", "test")
        ]
        assert not families[0] & families[1]


@unhurried
@given(populations, st.integers(1, 9))
def test_a_higher_gate_never_adds_a_task(results: list[TaskResult], gate: int) -> None:
    lower, higher = (
        {d.uid for d in select(results, curation(gates={"min_clean_runs": g})).kept}
        for g in (gate, gate + 1)
    )
    assert higher <= lower


@unhurried
@given(populations, st.data())
def test_retaining_more_bands_never_loses_a_task(results: list[TaskResult], data: Any) -> None:
    names = ["rarely_solved", "difficult", "intermediate", "frequently_solved"]
    some = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    more = [*some, *data.draw(st.lists(st.sampled_from(names), unique=True))]
    fewer_kept, more_kept = (
        {d.uid for d in select(results, curation(bands={"retain": retain})).kept}
        for retain in (some, more)
    )
    assert fewer_kept <= more_kept


@unhurried
@given(st.lists(st.text(alphabet="PF", min_size=8, max_size=8), min_size=1, max_size=20), st.data())
def test_an_exact_probe_keeps_what_the_full_one_keeps(full: list[str], data: Any) -> None:
    from outcomebox.selection import settled

    retain = data.draw(
        st.sampled_from([["difficult"], ["intermediate"], ["difficult", "frequently_solved"]])
    )
    used = []
    for text in full:
        ends = [
            n
            for n in range(1, 9)
            if settled(text[:n].count("P"), text[:n].count("F"), 8, retain=retain)
        ]
        used.append(text[: ends[0]])
    whole = select(
        [probed(f"t{n}", text) for n, text in enumerate(full)], curation(bands={"retain": retain})
    )
    stopped = select(
        [probed(f"t{n}", text) for n, text in enumerate(used)],
        curation(bands={"retain": retain}, probe={"stop": "exact"}),
    )
    assert [d.uid for d in stopped.kept] == [d.uid for d in whole.kept]
    for decision in stopped.decisions:
        assert (decision.band is None) is decision.stopped


def test_stopped_probes_are_not_stratified_by_band() -> None:
    results = [probed(f"t{n}", "PF") for n in range(10)]
    chosen = select(results, curation(probe={"stop": "exact"}))
    assert len(chosen.kept) == 10
    assert any("not stratified by band" in note for note in chosen.notes)
    dropped = select(
        [probed("x", "FFFFF"), *results],
        curation(probe={"stop": "exact"}, bands={"retain": ["intermediate"]}),
    )
    assert {d.uid: d.reason for d in dropped.decisions}["x"] == "stopped"
    # Without the setting the same counts decide nothing.
    assert select(results, curation()).reasons() == {"undecided": 10}


def test_an_unfinished_exact_probe_falls_back_to_the_gate() -> None:
    results = [probed("open", "PPPPEEEE"), probed("few", "PPE"), probed("mixed", "PF")]
    chosen = select(results, curation(probe={"stop": "exact"}))
    reasons = {d.uid: d.reason for d in chosen.decisions}
    assert reasons["few"] == "undecided"
    assert reasons["mixed"] is None
    assert reasons["open"] == "nearly_always_solved"


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({"excluded", "reference", "stale", "unprobed"}, "excluded"),
        ({"reference", "stale", "unprobed"}, "reference"),
        ({"stale", "unprobed"}, "stale"),
        ({"duplicate", "unprobed"}, "duplicate"),
        ({"unprobed"}, "unprobed"),
    ],
)
def test_the_first_reason_that_applies_is_the_one(changes: set[str], first: str) -> None:
    probe = result("x", 0, 0 if "unprobed" in changes else 8)
    listed = task("x", content="twin") if "duplicate" in changes else task("x")
    if "stale" in changes:
        listed = replace(listed, hash="a later version")
    other = result("y", 4, 8, content="twin")
    golden = [result("y", 1, 1)] if "reference" in changes else None
    chosen = curate(
        [listed, other.task],
        [probe, other],
        curation(exclude={"uids": ["x"] if "excluded" in changes else []}),
        reference=golden,
    )
    assert {d.uid: d.reason for d in chosen.decisions} == {"x": first, "y": None}


def test_results_of_another_version_are_no_results() -> None:
    chosen = curate(
        [task("a", hash="now"), task("b")], [result("a", 4, 8), result("b", 4, 8)], curation()
    )
    stale = chosen.decisions[0]
    assert (stale.reason, stale.detail) == ("stale", "recorded with hash of a, the task is now")
    assert stale.estimate is None
    assert stale.task.hash == "now"


def test_golden_actions_of_another_version_are_no_reference() -> None:
    chosen = curate(
        [task("a"), task("b")],
        [result("a", 4, 8), result("b", 4, 8)],
        curation(),
        reference=[result("a", 1, 1, hash="then"), result("b", 1, 1)],
    )
    assert chosen.decisions[0].reason == "reference"
    assert "golden actions were run on then" in (chosen.decisions[0].detail or "")


def test_a_listed_task_without_episodes_is_unprobed_and_undecided() -> None:
    chosen = curate([task("a"), task("b")], [result("b", 4, 8)], curation())
    assert chosen.decisions[0].reason == "unprobed"
    assert chosen.decisions[0].status == "undecided"
    assert chosen.decisions[0].detail == "no tries"
    assert figures(chosen)["undecided"] == 1


def test_probed_tasks_off_the_list_are_left_out_and_noted() -> None:
    chosen = curate([task("b")], [result("a", 4, 8), result("b", 4, 8)], curation())
    assert [d.uid for d in chosen.decisions] == ["b"]
    assert "1 probed tasks are not in the task list and were left out." in chosen.notes


def test_a_pool_of_one_has_no_test_side_and_says_so() -> None:
    chosen = curate([task("a")], [result("a", 4, 8)], curation())
    assert Counter(d.side for d in chosen.decisions) == {"train": 1}
    assert "The test side is empty: the pool has one task." in chosen.notes


def test_families_on_both_sides_are_noted() -> None:
    results = [result(f"t{n}", 4, 8) for n in range(10)]
    chosen = select(results, curation())
    assert any(note.startswith("1 families have tasks on both sides") for note in chosen.notes)
    absent = select(results, curation(exclude={"uids": ["no such task"]}))
    assert "1 excluded uids name no task here." in absent.notes


def test_each_stratum_of_domain_and_band_is_shared_out() -> None:
    results = [
        result(f"{domain}{passes}{n}", passes, 8, domain=domain)
        for domain in ("retail", "travel")
        for passes in (2, 4, 6)
        for n in range(10)
    ]
    chosen = select(results, curation())
    held = Counter((d.task.domain, d.band.name) for d in chosen.side("test") if d.band)
    assert set(held.values()) == {2}
    assert len(held) == 6


def test_what_a_caller_gets_wrong_is_refused() -> None:
    with pytest.raises(ValueError, match="resolve_excluded"):
        curate([task("a")], [], curation(exclude={"lists": ["x.txt"]}))
    with pytest.raises(ValueError, match="two results"):
        curate([task("a")], [result("a", 1, 2), result("a", 1, 2)], curation())
    with pytest.raises(ValueError, match="two tasks"):
        curate([task("a"), task("a", hash="b")], [], curation())
    with pytest.raises(EmptyPoolError, match="there were no tasks"):
        curate([], [], curation())


def test_prediction_is_the_sum_over_the_pool() -> None:
    chosen = select([result("a", 0, 8), result("b", 4, 8), result("c", 1, 8)], curation())
    assert chosen.expected_groups() == pytest.approx(0.954657 + 0.654912, abs=1e-6)
    assert chosen.mixed_share() == pytest.approx((0.954657 + 0.654912) / 2, abs=1e-6)
    assert chosen.mixed_share_unselected() == pytest.approx(
        (0.954657 + 0.654912 + 0.287338) / 3, abs=1e-6
    )
