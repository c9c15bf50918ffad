"""Inputs that broke somebody's rates in public, one named test each (cases/eval.jsonl)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from eval_cases import (
    ALL,
    CASES,
    COMPARED,
    INTERVALS,
    RATES,
    READING,
    SELECTION,
    at_k,
    cases_in,
    counts_case,
    digits,
    never,
    one_attempt,
    read_case,
    rows_file,
    summary,
)
from eval_counts import of_counts, results
from outcomebox.eval.metrics.rates import pass_at_k, pass_hat_k
from outcomebox.eval.report import Run, write_report
from outcomebox.eval.results import Expected, ExpectedTask, read_results


def test_every_case_has_a_test_in_one_of_the_places() -> None:
    places = (RATES, INTERVALS, COMPARED, READING, SELECTION)
    assert len(ALL) == 56
    assert sum(map(len, places)) == 56
    assert frozenset().union(*places) == ALL
    assert {name.removeprefix("ev-") for name in CASES} == ALL - SELECTION
    file = Path(__file__).parents[2] / "selection" / "tests" / "cases" / "selection.jsonl"
    beside = {json.loads(line)["id"][3:] for line in file.read_bytes().strip().split(b"\n")}
    assert beside >= SELECTION


def test_each_case_of_this_kind_has_its_test() -> None:
    assert cases_in(globals()) == RATES


def test_ev001_the_estimator_never_says_less_than_the_record(tmp_path: Path) -> None:
    case = CASES["ev-001"]["expected"]
    found = summary(read_case(tmp_path, "ev-001"), ks=(1, 2, 4))
    told = at_k(found)
    for k in (1, 2, 4):
        assert told[f"pass@{k}"] == digits(case[f"pass@{k}"])
    never(found.to_json(), *case["wrong"].values())


def test_ev003_a_ladder_of_k_and_null_beyond_the_attempts() -> None:
    case = CASES["ev-003"]["expected"]
    told = at_k(summary(counts_case("ev-003"), ks=(1, 2, 4, 8)))
    assert told == {name: None if value is None else digits(value) for name, value in case.items()}


def test_ev004_fewer_attempts_than_k_is_null_whatever_they_came_to() -> None:
    case, k = CASES["ev-004"]["expected"], CASES["ev-004"]["input"]["k"]
    told = at_k(summary(counts_case("ev-004"), ks=(99, k)))
    assert case["overall_pass@100"] is case["per_task_pass@100"] is None
    assert told["pass@100"] is told["pass^100"] is None
    assert np.isnan(pass_at_k([0, 99], [99, 99], k)).all()
    assert np.isnan(pass_hat_k([0, 99], [99, 99], k)).all()
    assert pass_at_k([0, 99], [99, 99], 99).tolist() == [
        case["never_pass@99"],
        case["always_pass@99"],
    ]


def test_ev006_pass_hat_k_is_no_power_of_the_rate() -> None:
    case = CASES["ev-006"]["expected"]
    found = summary(counts_case("ev-006"), ks=(3, 10))
    told = at_k(found)
    for k in (3, 10):
        assert told[f"pass^{k}"] == digits(case[f"pass^{k}"])
    never(found.to_json(), *case["wrong"].values())


def test_ev008_an_attempt_without_verdict_is_outside_the_denominator() -> None:
    case = CASES["ev-008"]["expected"]
    found = summary(counts_case("ev-008"), ks=(1, 2, 4))
    told = at_k(found)
    assert told["pass^1"] == digits(case["pass^1"])
    assert told["pass^2"] == digits(case["pass^2"])
    assert told["pass^4"] is None
    four = found.overall.at_k[-1].pass_hat_defined
    assert four.value == digits(case["pass^4_over_defined"])
    assert (four.n, four.of) == (case["tasks_defined_at_4"], case["tasks"])
    assert found.overall.errors == case["errors"]
    by_uid = {each.uid: each for each in found.tasks}
    assert by_uid["A"].dependable is None
    assert found.overall.dependable.count == 1
    assert found.overall.dependable.share.value is None
    figures = [each.pass_hat.value for each in found.overall.at_k]
    never([*figures, four.value], *case["wrong"].values())


def test_ev010_a_rate_that_was_stopped_early_is_no_rate(tmp_path: Path) -> None:
    case, given = CASES["ev-010"]["expected"], CASES["ev-010"]["input"]
    rows = [{**row, "stopped": True} for row in given["rows"]]
    path = rows_file(tmp_path / "stopped.jsonl", rows)
    found = summary(read_results([str(path)], kind="table"), ks=(1, 3))
    told = at_k(found)
    assert told["pass@1"] is told["pass@3"] is told["pass^3"] is None
    assert case["pass@1"] is case["pass@3"] is found.overall.pass_1.value is None
    assert found.overall.dependable.count is None
    assert found.overall.any.count == int(case["any"]) == 1
    assert found.tasks[0].rate is None
    p, most = given["true_p"], given["scheduled"]
    naive = sum(p * (1 - p) ** (t - 1) / t for t in range(1, most + 1))
    assert naive == digits(case["expected_naive_c_over_n"])
    shown = [found.overall.pass_1.value, *told.values(), found.tasks[0].rate]
    never(shown, *case["wrong"].values())


def test_ev013_errors_stand_beside_the_rate_with_its_bounds() -> None:
    case = CASES["ev-013"]["expected"]
    found = summary(counts_case("ev-013"))
    assert found.overall.pass_1.value == digits(case["pass@1"])
    assert found.overall.clean == case["clean"]
    assert found.overall.errors == case["errors"]
    assert found.overall.tasks - found.overall.covered == case["tasks_without_clean_run"]
    assert found.overall.pass_1.lowest == digits(case["low"])
    assert found.overall.pass_1.highest == digits(case["high"])
    assert found.final is case["final"]


def test_ev015_one_clean_run_of_twenty_is_no_dependable_agent(tmp_path: Path) -> None:
    case = CASES["ev-015"]["expected"]
    found = summary(read_case(tmp_path, "ev-015"), ks=(1, 4))
    whole = found.overall
    assert whole.pass_1.value == digits(case["pass@1"])
    assert (whole.pass_1.population.n, whole.pass_1.population.of) == (
        case["tasks_with_clean_run"],
        case["tasks"],
    )
    assert whole.pass_1.population.low is whole.pass_1.population.high is None
    assert (whole.clean, whole.due) == (case["clean"], case["scheduled"])
    assert whole.clean / whole.due == digits(case["clean_share"])
    task = found.tasks[0]
    assert [task.low, task.high] == digits(case["jeffreys_a"])
    assert at_k(found)["pass^4"] is case["pass^4"] is None
    assert whole.dependable.count == case["observed_4of4_tasks"]
    assert task.dependable is None
    assert found.final is case["final"]
    broken = {uid for uid, _ in found.completeness.broken}
    assert broken - {"a"} == {each.uid for each in found.tasks if each.rate is None}
    assert broken - {"a"} == {"b", "c", "d", "e"}
    assert "b, c, d, e" in " ".join(found.completeness.words())


def test_ev016_a_task_without_a_row_is_missed(tmp_path: Path) -> None:
    case = CASES["ev-016"]["expected"]
    found = summary(read_case(tmp_path, "ev-016"))
    assert found.overall.pass_1.value == digits(case["pass@1"])
    assert found.completeness.missing == tuple(map(tuple, case["missing"]))
    assert (found.overall.covered, found.overall.tasks) == (case["tasks_covered"], case["tasks"])
    assert found.final is case["final"]
    assert found.overall.pass_1.value != digits(case["wrong"]["missing_as_zero"])


def test_ev018_a_mean_stands_beside_its_number(tmp_path: Path) -> None:
    case = CASES["ev-018"]["expected"]
    found = summary(read_case(tmp_path, "ev-018", score="rubric"))
    rate = found.overall.pass_1.population
    assert (rate.value, rate.n, rate.of) == (
        case["passed"]["mean"],
        case["passed"]["n"],
        case["of"],
    )
    score = next(each.mean for each in found.overall.means if each.name == "score")
    assert (score.value, score.n, score.of) == (
        case["rubric"]["mean"],
        case["rubric"]["n"],
        case["of"],
    )


def test_ev020_what_could_not_be_measured_is_null_not_0(tmp_path: Path) -> None:
    case = CASES["ev-020"]["expected"]
    found = summary(read_case(tmp_path, "ev-020"))
    whole = found.overall
    assert whole.pass_1.value == digits(case["pass@1"])
    assert (whole.covered, whole.tasks) == (case["tasks_covered"], case["tasks"])
    assert whole.smallest_rate == digits(case["min_task_rate"])
    assert whole.pass_1.value not in {*case["wrong"].values()}
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert [each["rate"] for each in told["tasks"]] == [1.0, 0.5, None]


def test_ev026_an_empty_answer_fails_and_an_error_does_not() -> None:
    case, given = CASES["ev-026"]["expected"], CASES["ev-026"]["input"]["statuses"]
    counts = one_attempt(
        passed=given["resolved"],
        failed=given["unresolved"] + given["empty"],
        errors=given["error"],
    )
    found = summary(of_counts(counts))
    assert found.overall.pass_1.value == digits(case["pass@1"])
    assert (found.overall.clean, found.overall.errors) == (case["clean"], case["errors"])
    wrong = case["wrong"]
    # What it were if the errors had failed is told as that: the lower bound.
    assert found.overall.pass_1.lowest == digits(wrong["errors_as_failures"])
    never([found.overall.pass_1.value], *wrong.values())


def test_ev028_an_empty_domain_has_no_data_and_stops_nothing(tmp_path: Path) -> None:
    case, given = CASES["ev-028"]["expected"], CASES["ev-028"]["input"]
    tasks = {row["uid"]: ExpectedTask(row["domain"]) for row in given["rows"]}
    due = Expected.of({**tasks, "n1": ExpectedTask("neobank")}, 1)
    path = rows_file(tmp_path / "rows.jsonl", given["rows"])
    read = read_results([str(path)], kind="table", expected=due)
    found = summary(read)
    domains = {group.name: group for group in found.groups["domain"]}
    assert {*domains} == {*given["domains"]}
    for name, group in domains.items():
        assert group.pass_1.value == (None if case[name] is None else digits(case[name]))
        share = group.dependable.share
        expected = case[f"wilson_{name}"]
        assert [share.low, share.high] == ([None, None] if expected is None else digits(expected))
    assert found.overall.pass_1.value == digits(case["overall"])
    json.dumps(found.to_json(), allow_nan=False)
    write_report([Run("run", read, found)], tmp_path / "report", formats=("md", "json"))
    text = (tmp_path / "report" / "report.md").read_text("utf-8")
    lines = [each for each in text.splitlines() if "neobank" in each]
    assert any("1 (0 with a result)" in each for each in lines)
    assert not any("%" in each or "nan" in each.lower() for each in lines)


def test_ev030_rows_before_and_after_a_resume_are_one_run(tmp_path: Path) -> None:
    case, given = CASES["ev-030"]["expected"], CASES["ev-030"]["input"]
    paths = [
        str(rows_file(tmp_path / f"{name}.jsonl", given[name]))
        for name in ("saved_rows", "resumed_rows")
    ]
    found = summary(read_results(paths, kind="table"), ks=(1, 2))
    told = at_k(found)
    assert found.overall.clean == case["n"]
    for name in ("pass@1", "pass@2", "pass^2"):
        assert told[name] == digits(case[name])
    assert found.overall.pass_1.value != case["wrong"]["new_rows_only_pass@1"]


def test_ev043_ids_with_colons_stay_whole(tmp_path: Path) -> None:
    case = CASES["ev-043"]["expected"]
    found = summary(read_case(tmp_path, "ev-043"), ks=(1, 2))
    told = at_k(found)
    assert found.overall.tasks == case["tasks"]
    for name in ("pass@1", "pass@2", "pass^2"):
        assert told[name] == digits(case[name])
    assert sum(0 < each.passed < each.clean for each in found.tasks) == case["mixed_groups"]
    figures = [value for value in told.values() if value is not None]
    never(figures, case["wrong"]["merged_pass@2"], case["wrong"]["merged_pass^2"])


def test_ev090_tasks_that_the_reference_fails_are_in_no_share() -> None:
    case, given = CASES["ev-090"]["expected"], CASES["ev-090"]["input"]
    planned, failed = given["reference"]["planned"], given["reference"]["failed"]
    uids = [f"t{number:03d}" for number in range(planned)]
    eligible = uids[failed:]
    assert len(eligible) == case["eligible"]
    passed = given["agent_passed_on_gated"]
    rows = [
        {"uid": uid, "repetition": 0, "outcome": "passed" if at < passed else "failed"}
        for at, uid in enumerate(eligible)
    ]
    rows += [{"uid": uid, "repetition": 0, "outcome": "failed"} for uid in uids[:failed]]
    found = summary(results(rows, expected=Expected.of(eligible, 1)))
    share = found.overall.dependable.share
    assert share.value == found.overall.pass_1.value == digits(case["share"])
    assert [share.low, share.high] == digits(case["wilson"])
    assert {uid for uid, _ in found.completeness.unexpected} == {*uids[:failed]}
    assert len(found.completeness.unexpected) == case["dropped"]
    assert digits(case["wrong"]["over_all"]) != share.value
