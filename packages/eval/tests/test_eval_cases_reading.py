"""Inputs that broke somebody's reader in public, one named test each (cases/eval.jsonl).

The selection's own reader is tested on the same rows beside its code.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eval_cases import CASES, READING, cases_in, digits, read_case, rows_file, summary
from outcomebox.eval.commands.app import app
from outcomebox.eval.completeness import completeness
from outcomebox.eval.results import Expected, counted, read_results
from outcomebox.reward.rows import read_rows, seal
from outcomebox.rollout.store import EpisodeStore
from outcomebox.sandbox.errors import InputError


def test_every_case_about_reading_has_a_test() -> None:
    assert cases_in(globals()) == READING


@pytest.mark.parametrize("index", range(CASES["ev-023"]["expected"]["refused"]))
def test_ev023_values_that_are_no_outcome_are_refused(tmp_path: Path, index: int) -> None:
    bad = CASES["ev-023"]["input"]["bad_rows"][index]
    good = {"uid": "good", "repetition": 0, "passed": True}
    path = rows_file(tmp_path / "rows.jsonl", [good, bad])
    with pytest.raises(InputError) as caught:
        read_results([str(path)], kind="table")
    field = "uid" if not bad["uid"] else "repetition" if bad["repetition"] < 0 else "passed"
    assert caught.value.file == path
    assert "line 2" in str(caught.value)
    assert field in str(caught.value)
    if field in bad:
        assert caught.value.value == bad[field]
    else:
        assert "is missing" in str(caught.value)


def test_ev024_an_error_beside_a_pass_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 1: passed: .*contradict"):
        read_case(tmp_path, "ev-024")
    # Told as the error that it is, it counts nowhere.
    case = CASES["ev-024"]
    rows = [
        {
            name: value
            for name, value in row.items()
            if not (name == "passed" and "system_error" in row)
        }
        for row in case["input"]["rows"]
    ]
    path = rows_file(tmp_path / "mended.jsonl", rows)
    found = summary(read_results([str(path)], kind="table"))
    assert found.overall.pass_1.value == digits(case["expected"]["pass@1_if_error_wins"])
    assert found.overall.errors == case["expected"]["errors"]
    assert found.overall.pass_1.value != digits(case["expected"]["wrong"]["counted_as_pass"])


@pytest.mark.parametrize("command", ["results", "compare", "report"])
def test_ev029_an_empty_set_is_an_error_before_any_figure(tmp_path: Path, command: str) -> None:
    path = rows_file(tmp_path / "none.jsonl", CASES["ev-029"]["input"]["rows"])
    with pytest.raises(InputError, match="no complete row") as caught:
        read_results([str(path)], kind="table")
    assert str(path) in str(caught.value)
    again = [str(path)] if command == "compare" else []
    out = ["--out", str(tmp_path / "page")] if command == "report" else []
    ended = CliRunner().invoke(app, [command, str(path), *again, "--kind", "table", *out])
    assert ended.exit_code == 2
    assert "no complete row" in ended.stderr
    assert ended.stdout == ""
    for word in ("ZeroDivision", "nan", "0 %", "0.0"):
        assert word not in ended.stderr.replace(str(path), "")


def test_ev031_two_rows_with_one_key_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\('q1', 0, 0\) stands already at .*, line 1") as caught:
        read_case(tmp_path, "ev-031")
    assert "line 2" in str(caught.value)


def test_ev033_the_last_clean_try_counts_by_its_number(tmp_path: Path) -> None:
    case = CASES["ev-033"]["expected"]
    read = read_case(tmp_path, "ev-033")
    outcomes = dict(counted(read).select("uid", "outcome").iter_rows())
    assert {uid: outcome == "passed" for uid, outcome in outcomes.items()} == case["results"]
    found = summary(read)
    assert found.overall.pass_1.value == digits(case["pass@1"])
    assert found.overall.system_errors == case["error_rows"]
    assert read.attempts.get_column("superseded").sum() == case["clean_superseded"]
    assert found.overall.pass_1.value != case["wrong"]["best_of"]
    assert outcomes["a"] is not case["wrong"]["latest_row_a"]


def test_ev035_a_broken_attempt_is_made_again_and_a_failed_one_is_not(tmp_path: Path) -> None:
    case = CASES["ev-035"]["expected"]
    read = read_case(tmp_path, "ev-035")
    found = completeness(read)
    assert found.todo == tuple(map(tuple, case["todo"]))
    assert found.clean == case["kept"]
    # The error's row is still there.
    assert read.attempts.filter(outcome="system_error").height == 1


def test_ev036_unicode_line_separators_are_text(tmp_path: Path) -> None:
    case = CASES["ev-036"]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(case["input"]["text"].encode())
    read = read_results([str(path)], kind="table")
    assert read.attempts.height == case["expected"]["rows"]
    assert summary(read).overall.pass_1.value == digits(case["expected"]["pass@1"])
    assert len(read.attempts.get_column("uid")[0]) == case["expected"]["first_uid_length"]
    assert read.source[0].torn == case["expected"]["corrupt"]


def test_ev037_a_torn_last_line_is_told_and_its_attempt_is_missing(tmp_path: Path) -> None:
    case, given = CASES["ev-037"]["expected"], CASES["ev-037"]["input"]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(given["text"].encode())
    due = Expected.of(given["expected"]["tasks"], given["expected"]["repetitions"])
    read = read_results([str(path)], kind="table", expected=due)
    assert read.attempts.height == case["rows"]
    assert read.source[0].torn == case["torn"]
    found = summary(read)
    assert found.completeness.todo == tuple(map(tuple, case["todo"]))
    assert found.overall.pass_1.value == digits(case["pass@1"])
    assert found.final is case["final"]
    # Reading leaves the file as it is; what appends to a run's rows cuts the fragment off first.
    assert path.read_bytes() == given["text"].encode()
    whole = [
        {**json.loads(line), "try": 0, "verdict": {"outcome": "passed"}, "versions": {}}
        for line in given["text"].split("\n")[:2]
    ]
    run = tmp_path / "episodes.jsonl"
    run.write_bytes(seal(whole[0]) + seal(whole[1])[:-20])
    with EpisodeStore(run) as store:
        store.append(whole[1])
    assert list(read_rows(run)) == whole


def test_ev041_rows_of_another_form_are_refused_while_reading(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_case(tmp_path, "ev-041")
    told = str(caught.value)
    assert "line 2" in told
    assert "schema" in told
    assert "is 2 here and 1 at line 1" in told


def test_ev042_an_id_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 1: uid: must be a text, not int.*\(found 1\)"):
        read_case(tmp_path, "ev-042")
