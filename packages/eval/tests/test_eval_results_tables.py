"""Plain tables: CSV, Parquet, JSONL; and what was due, from lists and plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from outcomebox.eval.completeness import completeness
from outcomebox.eval.reading.due import read_expected, with_attempts
from outcomebox.eval.results import Expected, by_task, read_results
from outcomebox.eval.writing import write_results
from outcomebox.sandbox.errors import InputError
from result_rows import lines_file, row, run_folder

HEAD = "uid,repetition,passed\n"


def csv(tmp_path: Path, text: str) -> str:
    """A CSV file."""
    file = tmp_path / "rows.csv"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_the_plainest_table_is_enough(tmp_path: Path) -> None:
    found = read_results([csv(tmp_path, HEAD + "a,0,true\na,1,0\nb,0,FALSE\nb,1,1\n")])
    assert by_task(found).select("uid", "domain", "passed", "clean").rows() == [
        ("a", "all", 1, 2),
        ("b", "all", 1, 2),
    ]
    assert (found.source[0].kind, found.source[0].rows) == ("table", 4)
    proof = completeness(found)
    assert (proof.complete, proof.inferred, proof.final) == (True, True, False)


def test_a_table_may_say_more_under_names_of_its_own(tmp_path: Path) -> None:
    head = "task id,rep,ok,kind,system_error,model,input_tokens,cached_tokens,output_tokens,"
    text = (
        f"{head}cost,tags,seconds\n"
        '"t,1",0,1,shop,0,m,100,40,7,0.25,one;two,3.5\n'
        "t2,0,,shop,1,,,,,,,\n"
    )
    fields = {"uid": "task id", "repetition": "rep", "passed": "ok", "domain": "kind"}
    good = read_results([csv(tmp_path, text)], fields=fields)
    one, two = good.attempts.to_dicts()
    assert (one["uid"], one["outcome"], one["domain"], one["tags"]) == (
        "t,1",
        "passed",
        "shop",
        ["one", "two"],
    )
    assert (one["cost"], one["seconds"]) == (0.25, 3.5)
    assert (one["usage"][0]["input"], one["usage"][0]["cached"]) == (100, 40)
    assert (two["outcome"], two["usage"], two["cost"]) == ("system_error", [], None)


BROKEN_CSV = {
    "empty": ("", ["is empty; write it again"]),
    "no head": ("x,y\n", ["uid", "there is no such column; there are x, y"]),
    "head alone": (HEAD, ["holds no complete row"]),
    "half a line": (HEAD + "a,0,true\na,1", ["line 3", "2 fields where the head has 3"]),
    "a field more": (HEAD + "a,0,true,9\n", ["line 2", "4 fields"]),
    "no verdict": (HEAD + "a,0,\n", ["line 2", "passed", "is missing"]),
    "a word": (HEAD + "a,0,C\n", ["line 2", "passed", "'C'"]),
    "two": (HEAD + "a,0,2\n", ["line 2", "passed", "'2'"]),
    "NaN": (HEAD + "a,0,nan\n", ["line 2", "passed", "'nan'"]),
    "no number": (HEAD + "a,one,1\n", ["line 2", "repetition", "'one'"]),
    "negative": (HEAD + "a,-1,1\n", ["line 2", "repetition", "-1"]),
    "no uid": (HEAD + ",0,1\n", ["line 2", "uid", "NoneType"]),
    "no repetition": ("uid,passed\na,1\n", ["repetition", "--field repetition=NAME"]),
    "doubled": (HEAD + "a,0,1\nb,0,1\na,0,0\n", ["line 4", "('a', 0, 0)", "line 2"]),
    "one name twice": ("uid,repetition,passed,passed\na,0,1,1\n", ["two columns have one name"]),
    "infinite cost": (HEAD.replace("\n", ",cost\n") + "a,0,1,inf\n", ["line 2", "cost", "inf"]),
    "NaN score": (HEAD.replace("\n", ",score\n") + "a,0,1,nan\n", ["line 2", "score", "nan"]),
    "open quote": (HEAD + 'a,0,"1\n', ["is not CSV"]),
    "passed and broken": (
        HEAD.replace("\n", ",system_error\n") + "a,0,1,1\n",
        ["line 2", "passed", "contradict"],
    ),
    "two outcomes": (
        HEAD.replace("\n", ",outcome\n") + "a,0,1,failed\n",
        ["line 2", "outcome", "contradicts passed"],
    ),
    "unknown outcome": ("uid,repetition,outcome\na,0,ok\n", ["line 2", "outcome", "'ok'"]),
}


@pytest.mark.parametrize("name", BROKEN_CSV)
def test_a_broken_table_is_one_clear_error(tmp_path: Path, name: str) -> None:
    text, words = BROKEN_CSV[name]
    file = csv(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_results([file])
    for word in [file, *words]:
        assert word in str(caught.value)


BROKEN_ROWS: dict[str, tuple[Any, str]] = {
    "a text that is no truth": ({"uid": "a", "repetition": 0, "passed": "false"}, "'false'"),
    "an id that is a number": ({"uid": 1, "repetition": 0, "passed": True}, "not int"),
    "a number with a point": ({"uid": "a", "repetition": 1.0, "passed": True}, "1.0"),
    "nothing": ({"uid": "a", "repetition": 0}, "is missing"),
    "half a token": (
        {"uid": "a", "repetition": 0, "passed": True, "input_tokens": 0.5},
        "input_tokens",
    ),
}


@pytest.mark.parametrize("name", BROKEN_ROWS)
def test_a_broken_object_is_one_clear_error(tmp_path: Path, name: str) -> None:
    broken, words = BROKEN_ROWS[name]
    good = {"uid": "z", "repetition": 0, "passed": True}
    file = lines_file(tmp_path / "rows.jsonl", [good, broken])
    with pytest.raises(InputError) as caught:
        read_results([str(file)])
    assert f"{file}: line 2: " in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_what_is_written_is_read_back(tmp_path: Path, suffix: str) -> None:
    rows = [
        row("a", 0),
        row("a", 1, "system_error"),
        row("a", 1, "failed", **{"try": 1}),
        row("b\u2028c", 0, "failed", messages=None, tags=[]),
    ]
    found = read_results([str(run_folder(tmp_path / "run", rows))])
    write_results(found, tmp_path / "out" / f"rows{suffix}")
    again = read_results([str(tmp_path / "out" / f"rows{suffix}")])
    if suffix == ".csv":  # tokens of the policy alone, and no lists that are empty
        lists = ("usage", "tags", "reasons")
        assert_frame_equal(again.attempts.drop(lists), found.attempts.drop(lists))
    else:
        assert_frame_equal(again.attempts, found.attempts)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [f"rows{suffix}"]


def test_a_name_that_tells_no_form_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    found = read_results([csv(tmp_path, HEAD + "a,0,1\n")])
    with pytest.raises(InputError, match=r"must end in \.parquet"):
        write_results(found, tmp_path / "out" / "rows.txt")
    assert not (tmp_path / "out").exists()


def test_no_parquet_under_that_name(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    file.write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="is no Parquet file"):
        read_results([str(file)])
    pl.DataFrame({"uid": ["a"], "passed": [True]}).write_parquet(file)
    with pytest.raises(InputError, match="repetition: there is no such column"):
        read_results([str(file)])


def test_kinds_and_fields_that_are_none_are_refused(tmp_path: Path) -> None:
    file = csv(tmp_path, HEAD + "a,0,1\n")
    with pytest.raises(InputError, match="kind: write one of ours, thinkingbox"):
        read_results([file], kind="pickle")
    with pytest.raises(InputError, match=r"field: there is no such column; use one of .*uid"):
        read_results([file], fields={"uids": "uid"})
    rows = run_folder(tmp_path / "run", [row("a", 0)])
    with pytest.raises(InputError, match="the fields of ours rows are fixed"):
        read_results([str(rows)], fields={"uid": "uid"})
    odd = tmp_path / "odd.json"
    odd.write_text("{}")
    with pytest.raises(InputError, match="nothing tells what this file is; say it with --kind"):
        read_results([str(odd)])


LISTS = {
    "tasks.txt": "# the tasks\na\n\nb  # hard\n",
    "tasks.yaml": "- a\n- b\n",
    "tasks.json": '["b", "a"]',
    "domains.yaml": "a: shop\nb: shop\n",
    "tasks.csv": "uid,domain\na,shop\nb,shop\n",
}


@pytest.mark.parametrize("name", LISTS)
def test_what_is_due_comes_from_lists(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LISTS[name])
    expected = read_expected(tmp_path / name, 2)
    assert list(expected.keys()) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert not expected.inferred
    with pytest.raises(InputError, match="does not say how many attempts"):
        read_expected(tmp_path / name)
    rows = csv(tmp_path / "..", HEAD + "a,0,1\na,1,0\nc,0,1\n")
    proof = completeness(read_results([rows], expected=expected))
    assert proof.missing == (("b", 0), ("b", 1))
    assert proof.unexpected == (("c", 0),)
    assert proof.without == ("b",)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("tasks.txt", "a\na\n", "stands twice"),
        ("tasks.txt", "# none\n", "names no task"),
        ("tasks.yaml", "a: [", "not valid YAML"),
        ("tasks.json", "[1]", "must be a text"),
        ("tasks.json", "3", "must be a list of uids"),
        ("tasks.csv", "name\na\n", "needs a column uid"),
    ],
)
def test_a_broken_list_is_one_clear_error(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=words):
        read_expected(tmp_path / name, 2)
    with pytest.raises(InputError, match="cannot be read"):
        read_expected(tmp_path / "nothing.txt", 2)


def test_an_unknown_uid_and_unequal_attempts_are_marked_and_enter_no_figure(
    tmp_path: Path,
) -> None:
    rows = [row("a", 0), row("a", 1), row("b", 0, "failed"), row("x", 0), row("a", 2)]
    found = read_results([str(run_folder(tmp_path, rows, uids=["a", "b", "c"], attempts=2))])
    assert [
        (task["uid"], task["domain"], task["clean"], task["missing"])
        for task in by_task(found).to_dicts()
    ] == [("a", "shelf", 2, 0), ("b", "shelf", 1, 1), ("c", "shelf", 0, 2)]
    proof = completeness(found)
    assert (proof.expected, proof.clean, proof.covered) == (6, 3, 2)
    assert proof.unexpected == (("a", 2), ("x", 0))
    assert proof.todo == (("b", 1), ("c", 0), ("c", 1))
    said = " ".join(proof.words())
    assert "NOT FINAL: 3 of 6 expected attempts have a result (2 of 3 tasks)." in said
    assert "3 missing: b #1, c #0, c #1." in said
    assert "2 unexpected (left out of every figure): a #2, x #0." in said
    assert json.loads(json.dumps(proof.to_json()))["final"] is False


def test_an_attempt_that_only_broke_is_to_be_made_again_and_a_failed_one_is_not(
    tmp_path: Path,
) -> None:
    rows = [row("a", 0, "system_error"), row("a", 1, "failed"), row("b", 0)]
    proof = completeness(
        read_results([str(run_folder(tmp_path, rows, uids=["a", "b"], attempts=2))])
    )
    assert proof.broken == (("a", 0),)
    assert proof.todo == (("a", 0), ("b", 1))


def test_a_complete_run_is_final_by_its_own_plan(tmp_path: Path) -> None:
    rows = [row(uid, n) for uid in "ab" for n in range(2)]
    folder = run_folder(tmp_path, rows, uids=["a", "b"], attempts=2)
    proof = completeness(read_results([str(folder)]))
    assert proof.words() == ("Final: 4 of 4 expected attempts have a result (2 of 2 tasks).",)
    assert read_expected(folder).total == 4
    with pytest.raises(InputError, match="another number than the 2 of the plan"):
        with_attempts(read_results([str(folder)]), 3)


def test_shards_are_due_together(tmp_path: Path) -> None:
    one = run_folder(tmp_path / "one", [row("a", 0)], uids=["a"], attempts=1)
    two = run_folder(tmp_path / "two", [row("b", 0)], uids=["b"], attempts=1)
    proof = completeness(read_results([str(one), str(two)]))
    assert (proof.final, proof.expected) == (True, 2)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (3, "must be an object"),
        ({"uids": "a"}, "uids: must be a list"),
        ({"uids": ["a"], "domains": []}, "domains: must have an entry for each uid"),
        ({"uids": ["a"], "repetitions": [-1]}, "repetitions: must be a whole number"),
        ({"uids": ["a"]}, "repetitions: must be a list"),
    ],
)
def test_a_broken_plan_is_one_clear_error(tmp_path: Path, plan: Any, words: str) -> None:
    folder = run_folder(tmp_path, [row("a", 0)])
    (folder / "run.json").write_text(json.dumps({"plan": plan}))
    with pytest.raises(InputError, match=words):
        read_results([str(folder)])


def test_no_attempts_due_is_no_result(tmp_path: Path) -> None:
    found = read_results([csv(tmp_path, HEAD + "a,0,1\n")], expected=Expected.of(["a"], 0))
    proof = completeness(found)
    assert not proof.final
    assert proof.unexpected == (("a", 0),)
