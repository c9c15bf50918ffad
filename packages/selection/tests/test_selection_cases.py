"""Inputs that broke somebody's selection in public, one named test each (cases/selection.jsonl)."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from outcomebox.selection import (
    BAND_NAMES,
    EmptyPoolError,
    InputError,
    TaskResult,
    band_index,
    band_masses,
    curate,
    expected_useful_groups,
    mixed_chance,
    read_episodes,
    settled,
    task_results,
)
from outcomebox.selection.results import repetition_outcomes
from outcomebox.selection.split import Member, split_pool
from selection_rows import curation, probed, result, row, task, write_rows

CASES = {
    case["id"]: case
    for case in map(
        json.loads,
        (Path(__file__).parent / "cases" / "selection.jsonl").read_bytes().strip().split(b"\n"),
    )
}


def rows_of(plain: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Episode rows of a case's rows, whatever is odd in them left as it is."""
    rows = []
    for case_row in plain:
        changed = row(str(case_row["uid"]), case_row["repetition"], "F")
        changed["uid"] = case_row["uid"]
        changed["try"] = case_row.get("try", 0)
        outcome: Any = None
        if "passed" in case_row:
            passed = case_row["passed"]
            outcome = (
                {True: "passed", False: "failed"}[passed] if isinstance(passed, bool) else passed
            )
        if case_row.get("system_error"):
            changed["error"] = {"type": "BackendError", "message": "down", "phase": "tool"}
            outcome = outcome or "system_error"
        changed["verdict"]["outcome"] = outcome
        rows.append(changed)
    return rows


@pytest.fixture
def results(tmp_path: Path) -> Callable[[list[dict[str, Any]]], dict[str, TaskResult]]:
    def read(rows: list[dict[str, Any]]) -> dict[str, TaskResult]:
        path = write_rows(tmp_path / "episodes.jsonl", rows)
        return {result.task.uid: result for result in task_results(read_episodes([path]))}

    return read


def test_every_case_has_a_test() -> None:
    tested = {name.split("_")[1] for name in globals() if name.startswith("test_ev0")}
    assert tested == {case.replace("-", "") for case in CASES}


@pytest.mark.parametrize("index", range(CASES["ev-023"]["expected"]["refused"]))
def test_ev023_values_that_are_no_outcome_are_refused(tmp_path: Path, index: int) -> None:
    bad = CASES["ev-023"]["input"]["bad_rows"][index]
    rows = [row("good", 0, "P"), *rows_of([bad])]
    with pytest.raises(InputError) as caught:
        read_episodes([write_rows(tmp_path / "episodes.jsonl", rows)])
    assert caught.value.where.endswith("episodes.jsonl:2")
    field = (
        "uid" if not bad["uid"] else "repetition" if bad["repetition"] < 0 else "verdict.outcome"
    )
    assert caught.value.field == field
    value = {"uid": bad["uid"], "repetition": bad["repetition"]}.get(field, bad.get("passed"))
    assert json.dumps(value) in str(caught.value)


def test_ev024_a_verdict_beside_an_error_is_refused(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "episodes.jsonl", rows_of(CASES["ev-024"]["input"]["rows"]))
    with pytest.raises(InputError, match=r"episodes\.jsonl:1: error: .* contradict"):
        read_episodes([path])


def test_ev031_two_rows_with_one_key_are_refused_by_name(tmp_path: Path) -> None:
    rows = rows_of(CASES["ev-031"]["input"]["rows"])
    for plain in rows:
        del plain["try"]
    path = write_rows(tmp_path / "episodes.jsonl", rows)
    with pytest.raises(InputError, match=r'jsonl:2: .*\("q1", 0, 0\) stands already at .*jsonl:1'):
        read_episodes([path])


def test_ev033_the_last_clean_try_counts_by_its_number(tmp_path: Path) -> None:
    case = CASES["ev-033"]
    path = write_rows(tmp_path / "episodes.jsonl", rows_of(case["input"]["rows"]))
    episodes = read_episodes([path])
    outcomes = {
        found["uid"]: found["outcome"] == "passed"
        for found in repetition_outcomes(episodes.rows.lazy()).collect().iter_rows(named=True)
    }
    assert outcomes == case["expected"]["results"]
    counted = task_results(episodes)
    assert sum(r.system_errors for r in counted) == case["expected"]["error_rows"]
    assert sum(r.superseded for r in counted) == case["expected"]["clean_superseded"]


def test_ev036_unicode_line_separators_are_text(tmp_path: Path) -> None:
    case = CASES["ev-036"]
    path = tmp_path / "episodes.jsonl"
    lines = []
    for line in case["input"]["text"].strip("\n").split("\n"):
        plain = json.loads(line)
        lines.append(json.dumps(rows_of([plain])[0] | {"note": plain["note"]}, ensure_ascii=False))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    episodes = read_episodes([path])
    assert episodes.rows.height == case["expected"]["rows"]
    assert episodes.torn_lines == case["expected"]["corrupt"]
    assert len(episodes.tasks[0].uid) == case["expected"]["first_uid_length"]


def test_ev037_a_torn_last_line_is_left_out_and_reported(tmp_path: Path) -> None:
    case = CASES["ev-037"]
    *whole, torn = case["input"]["text"].split("\n")
    path = write_rows(tmp_path / "episodes.jsonl", rows_of([json.loads(line) for line in whole]))
    with path.open("ab") as file:
        file.write(torn.encode())
    episodes = read_episodes([path])
    assert episodes.rows.height == case["expected"]["rows"]
    assert episodes.torn_lines == case["expected"]["torn"]


def test_ev042_an_id_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "episodes.jsonl", rows_of(CASES["ev-042"]["input"]["rows"]))
    with pytest.raises(InputError, match="jsonl:1: uid: must be non-empty text, found 1"):
        read_episodes([path])


def test_ev043_ids_with_colons_stay_whole(
    results: Callable[[list[dict[str, Any]]], dict[str, TaskResult]],
) -> None:
    case = CASES["ev-043"]
    found = results(rows_of(case["input"]["rows"]))
    assert len(found) == case["expected"]["tasks"]
    assert {uid: (r.passes, r.clean_runs) for uid, r in found.items()} == {
        "shop.py:return:gold": (2, 2),
        "shop.py:return:none": (0, 2),
    }


def test_ev083_bands_and_kept_counts_of_eight_attempts() -> None:
    case = CASES["ev-083"]
    passes, n = case["input"]["passes"], case["input"]["n"]
    masses = band_masses(passes, [n] * len(passes))
    winners = band_index(masses)
    assert [BAND_NAMES[index] for index in winners] == case["expected"]["band"]
    assert masses.max(axis=1) == pytest.approx(case["expected"]["mass"], abs=5e-7)
    chosen = curate(
        [task(f"t{k}") for k in passes], [result(f"t{k}", k, n) for k in passes], curation()
    )
    assert [d.result.passes for d in chosen.kept] == case["expected"]["kept"]


def test_ev084_errors_are_no_failures_and_few_clean_runs_decide_nothing() -> None:
    case = CASES["ev-084"]
    found = [probed(uid, text) for uid, text in case["input"]["probes"].items()]
    tasks = [r.task for r in found]
    with pytest.raises(EmptyPoolError) as caught:
        curate(tasks, found, curation())
    assert caught.value.reasons == {"unprobed": 1, "undecided": 5}
    lowered = {
        d.uid: d for d in curate(tasks, found, curation(gates={"min_clean_runs": 1})).decisions
    }
    assert lowered["none"].reason == "unprobed"
    assert lowered["none"].estimate is None
    for uid, decision in lowered.items():
        expected = case["expected"][uid]
        if expected is not None:
            assert decision.band is not None
            assert decision.band.name == expected["band"]
            assert decision.band_probability == pytest.approx(expected["mass"], abs=5e-7)
            assert decision.kept is expected["kept"]


def test_ev085_an_empty_pool_is_an_error_with_the_count_of_each_reason() -> None:
    case = CASES["ev-085"]
    found = [
        TaskResult(task(uid), c["passed"], c["passed"] + c["failed"], c["errors"], c["errors"], 8)
        for uid, c in case["input"]["tasks"].items()
    ]
    with pytest.raises(
        EmptyPoolError, match="unprobed 1, rarely_solved 1, nearly_always"
    ) as caught:
        curate([r.task for r in found], found, curation())
    assert caught.value.reasons == case["expected"]["dropped"]


def test_ev086_stopping_at_certainty_keeps_the_same_set_and_gives_no_band() -> None:
    case = CASES["ev-086"]
    used = {}
    for uid, text in case["input"]["probes"].items():
        end = next(
            (
                n
                for n in range(1, len(text))
                if settled(text[:n].count("P"), text[:n].count("F"), len(text))
            ),
            len(text),
        )
        used[uid] = text[:end]
    assert sum(map(len, used.values())) == case["expected"]["probes_used"]
    full = [probed(uid, text) for uid, text in case["input"]["probes"].items()]
    stopped = [probed(uid, text) for uid, text in used.items()]
    tasks = [r.task for r in full]
    all_runs = curate(tasks, full, curation())
    early = curate(tasks, stopped, curation(probe={"stop": "exact"}))
    assert [d.uid for d in all_runs.kept] == case["expected"]["kept_full"]
    assert [d.uid for d in early.kept] == case["expected"]["kept"]
    rates = [Fraction(text.count("P"), len(text)) for text in used.values()]
    assert float(sum(rates) / len(rates)) == pytest.approx(case["expected"]["naive_mean_used"])
    for decision in early.decisions:
        assert decision.stopped is (len(used[decision.uid]) < 8)
        if decision.stopped:
            assert decision.band is None
            assert decision.band_probability is None


def test_ev088_chance_of_a_mixed_group() -> None:
    case = CASES["ev-088"]
    passes, n, g = (case["input"][key] for key in ("passes", "n", "g"))
    chances = mixed_chance(passes, [n] * len(passes), g)
    assert chances == pytest.approx(case["expected"]["mixed"], abs=5e-7)
    assert expected_useful_groups(chances) == pytest.approx(
        case["expected"]["expected_groups"], abs=5e-7
    )


def test_ev090_tasks_whose_reference_fails_are_named() -> None:
    case = CASES["ev-090"]
    planned, failed = case["input"]["reference"]["planned"], case["input"]["reference"]["failed"]
    uids = [f"t{n:03d}" for n in range(planned)]
    golden = [result(uid, int(n >= failed), 1) for n, uid in enumerate(uids)]
    chosen = curate(
        [task(uid) for uid in uids],
        [result(uid, 4, 8) for uid in uids],
        curation(),
        reference=golden,
    )
    assert len(chosen.kept) == case["expected"]["eligible"]
    assert chosen.reasons() == {"reference": case["expected"]["dropped"]}
    assert [d.uid for d in chosen.decisions if d.reason == "reference"] == uids[:failed]


def test_ev092_golden_actions_that_raise_make_a_task_unusable() -> None:
    case = CASES["ev-092"]
    said = case["input"]["reference"]
    golden = [probed(uid, "E" if "raised" in text else "P") for uid, text in said.items()]
    tasks = [task(uid) for uid in said]
    chosen = curate(tasks, [result(uid, 4, 8) for uid in said], curation(), reference=golden)
    assert [d.uid for d in chosen.kept] == case["expected"]["eligible"]
    for decision in chosen.decisions:
        if not decision.kept:
            assert decision.reason == "reference"
            assert "system_error" in (decision.detail or "")
            assert decision.estimate is None
    # Its episodes enter no figure, the share without selection included.
    assert chosen.mixed_share_unselected() == chosen.mixed_share()


@pytest.mark.parametrize("seed", range(25))
def test_ev093_a_template_stays_on_one_side(seed: int) -> None:
    case = CASES["ev-093"]
    uids = case["input"]["uids"]
    members = [Member(uid, (), template) for uid, template in uids.items()]
    sides = split_pool(members, case["input"]["holdout_share"], seed)
    assert sides == split_pool(reversed(members), case["input"]["holdout_share"], seed)
    assert set(sides.values()) == {"train", "test"}
    for template in set(uids.values()):
        assert len({sides[uid] for uid, name in uids.items() if name == template}) == 1


def test_ev093_the_share_reached_is_reported() -> None:
    uids = CASES["ev-093"]["input"]["uids"]
    chosen = curate(
        [task(uid, family=family) for uid, family in uids.items()],
        [result(uid, 4, 8, family=family) for uid, family in uids.items()],
        curation(split={"keep_together": "family", "test_fraction": 0.34}),
    )
    reached = len(chosen.side("test")) / len(uids)
    assert any(f"{reached:.1%} are held out, 34.0% were asked" in note for note in chosen.notes)
