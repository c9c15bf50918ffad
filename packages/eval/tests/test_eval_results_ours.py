"""Reading our own rows: what is taken from them, what is refused, and by what name."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from outcomebox.eval.completeness import completeness
from outcomebox.eval.results import ATTEMPTS, Results, by_task, counted, read_results
from outcomebox.reward.rows import seal
from outcomebox.rollout.store import EpisodeStore
from outcomebox.sandbox.errors import InputError
from result_rows import lines_file, row, run_folder


def read(folder: Path) -> Results:
    """The results of a run's folder."""
    return read_results([str(folder)])


def test_a_row_gives_what_every_figure_needs(tmp_path: Path) -> None:
    rows = [row("a", 0), row("a", 1, "failed"), row("b", 0, "system_error")]
    found = read(run_folder(tmp_path, rows))
    assert found.attempts.schema == ATTEMPTS
    assert found.source[0].rows == 3
    one, two, broken = found.attempts.to_dicts()
    assert one | {"usage": None} == {
        "uid": "a",
        "repetition": 0,
        "try": 0,
        "outcome": "passed",
        "domain": "shelf",
        "family": "move",
        "tags": ["one", "two"],
        "finish_reason": "done",
        "turns": 3,
        "tool_calls": 2,
        "tool_errors": 1,
        "last_tool_error": False,
        "wrote": True,
        "reasons": [],
        "score": 1.0,
        "seconds": 1.75,
        "usage": None,
        "cost": None,
        "error_phase": None,
        "error_type": None,
        "policy": '{"model":"m","name":"openai"}',
        "task_hash": "hash of a",
        "versions_hash": one["versions_hash"],
        "stopped": False,
        "superseded": False,
        "counted": True,
    }
    assert one["usage"] == [
        {
            "role": "policy",
            "model": "m",
            "input": 100,
            "cached": None,
            "output": 20,
            "reasoning": None,
        }
    ]
    assert (two["outcome"], two["reasons"]) == ("failed", ["missing_insert", "wrong_value"])
    assert (broken["error_phase"], broken["error_type"], broken["counted"]) == (
        "policy",
        "PolicyError",
        False,
    )


@pytest.mark.parametrize(
    ("effects", "wrote"),
    [
        ({"s": {"initial_db_state": {"a": 1}, "result_db_state": {"a": 1}}}, False),
        ({"s": {"initial_db_state": {"a": 1}, "result_db_state": {"a": 2}}}, True),
        (
            {
                "s": {
                    "initial_db_state": {"left_out": {"bytes": 9, "sha256": "x"}},
                    "result_db_state": {"left_out": {"bytes": 9, "sha256": "y"}},
                },
                "t": "nothing of use",
            },
            True,
        ),
        ({"s": {"status": "ok"}}, None),
    ],
)
def test_servers_of_a_dataset_tell_whether_something_was_written(
    tmp_path: Path, effects: Any, wrote: bool | None
) -> None:
    found = read(run_folder(tmp_path, [row("a", 0, changes=[], effects=effects)]))
    assert found.attempts["wrote"].to_list() == [wrote]


def test_what_an_endpoint_had_cached_is_part_of_the_input(tmp_path: Path) -> None:
    """It tells it of answers too that were asked for again and are not in the usage."""
    sent = {"policy": {"cached_tokens": 64, "reasoning_tokens": 99}}
    found = read(run_folder(tmp_path, [row("a", 0, traffic=sent)]))
    (usage,) = found.attempts["usage"].to_list()[0]
    assert (usage["input"], usage["cached"]) == (100, 64)
    assert (usage["output"], usage["reasoning"]) == (20, 20)


def test_the_last_clean_try_counts_and_an_error_erases_nothing(tmp_path: Path) -> None:
    rows = [
        row("a", 0, "system_error", **{"try": 2}),
        row("a", 0, "failed", **{"try": 1}),
        row("a", 0, "passed"),
    ]
    found = read(run_folder(tmp_path, rows))
    assert counted(found).select("try", "outcome").rows() == [(1, "failed")]
    assert found.attempts["superseded"].to_list() == [True, False, False]
    tasks = by_task(found).to_dicts()[0]
    assert (tasks["passed"], tasks["clean"], tasks["errors"], tasks["system_errors"]) == (
        0,
        1,
        0,
        1,
    )


OUTCOMES = st.sampled_from(["passed", "failed", "system_error"])
KEYS = st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 2))


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(KEYS, OUTCOMES, min_size=1), st.randoms(use_true_random=False))
def test_neither_order_nor_split_of_rows_changes_anything(
    tmp_path_factory: pytest.TempPathFactory,
    tries: dict[tuple[str, int, int], str],
    order: random.Random,
) -> None:
    rows = [row(uid, n, outcome, **{"try": t}) for (uid, n, t), outcome in tries.items()]
    folder = tmp_path_factory.mktemp("split")
    whole = read(run_folder(folder / "whole", rows))
    order.shuffle(rows)
    cut = order.randint(0, len(rows))
    files = [
        str(lines_file(folder / f"{number}.jsonl", part))
        for number, part in enumerate((rows[:cut], rows[cut:]))
        if part
    ]
    again = read_results(files)
    assert_frame_equal(again.attempts, whole.attempts)
    clean = {
        key[:2]: outcome for key, outcome in sorted(tries.items()) if outcome != "system_error"
    }
    result = counted(whole)
    assert (
        dict(
            zip(result.select("uid", "repetition").rows(), result["outcome"].to_list(), strict=True)
        )
        == clean
    )
    proof = completeness(whole)
    assert len(proof.missing) + len(proof.broken) + proof.clean == proof.expected
    assert proof.inferred
    assert not proof.final


def edited(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """A row with something changed."""
    found = row("b", 0)
    change(found)
    return found


BROKEN = {
    "uid a number": (edited(lambda r: r.update(uid=1)), ["uid", "must be a text, not int"]),
    "uid empty": (edited(lambda r: r.update(uid=" ")), ["uid", "is empty"]),
    "uid half a character": (edited(lambda r: r.update(uid="a\ud800")), ["uid", "surrogate"]),
    "repetition negative": (edited(lambda r: r.update(repetition=-1)), ["repetition", "-1"]),
    "repetition a truth": (edited(lambda r: r.update(repetition=True)), ["repetition", "True"]),
    "repetition missing": (edited(lambda r: r.pop("repetition")), ["repetition", "null"]),
    "try a text": (edited(lambda r: r.update({"try": "0"})), ["try", "'0'"]),
    "verdict missing": (edited(lambda r: r.pop("verdict")), ["verdict", "nothing"]),
    "outcome unknown": (
        edited(lambda r: r["verdict"].update(outcome="ok")),
        ["verdict.outcome", "passed, failed, system_error", "'ok'"],
    ),
    "error beside a verdict": (
        edited(lambda r: r.update(error={"type": "x"})),
        ["error", "contradict"],
    ),
    "score a text": (edited(lambda r: r["verdict"].update(score="1")), ["verdict.score", "'1'"]),
    "timing negative": (edited(lambda r: r["timing"].update(open=-1)), ["timing", "-1"]),
    "usage a number": (edited(lambda r: r["usage"].update(policy=3)), ["usage.policy", "3"]),
    "tokens negative": (
        edited(lambda r: r["usage"]["policy"].update(prompt=-3)),
        ["usage.policy.prompt", "-3"],
    ),
    "tags a text": (edited(lambda r: r.update(tags="one")), ["tags", "list of texts"]),
    "messages an object": (edited(lambda r: r.update(messages={})), ["messages", "list"]),
    "message without role": (edited(lambda r: r.update(messages=[{}])), ["messages", "role"]),
    "reasons without kind": (
        edited(lambda r: r["verdict"].update(reasons=[{}])),
        ["verdict.reasons", "kind"],
    ),
    "changes a number": (edited(lambda r: r.update(changes=1)), ["changes", "list"]),
    "no object": ([1, 2], ["is no object"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_row_is_refused_by_line_field_and_value(tmp_path: Path, name: str) -> None:
    broken, words = BROKEN[name]
    file = lines_file(tmp_path / "episodes.jsonl", [row("a", 0), broken])
    with pytest.raises(InputError) as caught:
        read_results([str(file)])
    for word in [f"{file}: line 2", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("domain", "elsewhere"),
        ("family", "other"),
        ("tags", ["three"]),
        ("versions", {"task": "another hash"}),
    ],
)
def test_two_versions_of_a_task_are_refused(tmp_path: Path, field: str, other: Any) -> None:
    file = lines_file(
        tmp_path / "episodes.jsonl", [row("a", 0), row("b", 0), row("a", 1, **{field: other})]
    )
    with pytest.raises(InputError, match=r"line 3: (\w+): of 'a' is .* here and .* line 1; use"):
        read_results([str(file)])


def test_two_policies_are_refused(tmp_path: Path) -> None:
    rows = [row("a", 0), row("b", 0, policy={"name": "openai", "model": "n"})]
    with pytest.raises(InputError, match=r"line 2: policy: is .* a figure is of one policy"):
        read(run_folder(tmp_path, rows))


def test_mixed_versions_of_the_packages_are_marked(tmp_path: Path) -> None:
    newer = {**row("a", 1)["versions"], "packages": {"outcomebox-rollout": "0.2.0"}}
    rows = [row("a", 0), row("b", 0), row("a", 1, versions=newer)]
    (note,) = read(run_folder(tmp_path, rows)).notes
    assert "mixed versions" in note
    assert "(2, 1 rows)" in note


def test_a_doubled_key_is_refused_with_both_places(tmp_path: Path) -> None:
    first = run_folder(tmp_path / "first", [row("a", 0), row("b", 0)])
    second = run_folder(tmp_path / "second", [row("c", 0), row("b", 0, "failed")])
    with pytest.raises(InputError) as caught:
        read_results([str(first), str(second)])
    said = str(caught.value)
    assert f"{second / 'episodes.jsonl'}: line 2" in said
    assert "('b', 0, 0) stands already at" in said
    assert f"{first / 'episodes.jsonl'}, line 2" in said


def test_one_file_named_twice_is_read_once(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", [row("a", 0)])
    named = [str(folder), str(folder / "episodes.jsonl"), str(tmp_path / "r*" / "*.jsonl")]
    assert read_results(named).attempts.height == 1


def test_uids_that_look_alike_are_refused(tmp_path: Path) -> None:
    rows = [row("caf\u00e9", 0), row("cafe\u0301", 0)]
    with pytest.raises(InputError, match="differ in their Unicode form only"):
        read(run_folder(tmp_path, rows))


def test_a_line_of_unicode_separators_is_one_line(tmp_path: Path) -> None:
    rows = [row("a\u2028b", 0), row("c\u0085d", 0)]
    file = tmp_path / "episodes.jsonl"
    file.write_bytes(b"".join(json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in rows))
    assert read_results([str(file)]).attempts["uid"].to_list() == ["a\u2028b", "c\u0085d"]


def test_half_a_last_line_is_counted_as_torn_and_its_attempt_is_missing(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, [row("a", 0), row("a", 1)], uids=["a"], attempts=2)
    file = folder / "episodes.jsonl"
    file.write_bytes(file.read_bytes()[:-30])
    found = read(folder)
    assert (found.source[0].rows, found.source[0].torn) == (1, 1)
    proof = completeness(found)
    assert proof.missing == (("a", 1),)
    assert "cut off by a killed run" in " ".join(proof.words())


def test_half_a_line_elsewhere_is_refused(tmp_path: Path) -> None:
    lines = [seal(row("a", 0)), seal(row("b", 0))[:40] + b"\n", seal(row("c", 0))]
    (tmp_path / "episodes.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(InputError, match="line 2: is not JSON"):
        read(tmp_path)


def test_an_edited_line_is_refused(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, [row("a", 0, "failed")])
    file = folder / "episodes.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"failed"', b'"passed"'))
    with pytest.raises(InputError, match="line 1: checksum: does not fit"):
        read(folder)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "holds no complete row"),
        (b"\n\n", "holds no complete row"),
        (b'{"uid": "a", "repe', "holds no complete row"),
        (b'{"uid": "a", "repetition": 0, "verdict": {"outcome": "passed", "score": NaN}}\n', "NaN"),
    ],
)
def test_files_without_a_usable_row_are_one_clear_error(
    tmp_path: Path, data: bytes, words: str
) -> None:
    (tmp_path / "episodes.jsonl").write_bytes(data)
    with pytest.raises(InputError) as caught:
        read(tmp_path)
    assert words in str(caught.value)
    assert str(tmp_path / "episodes.jsonl") in str(caught.value)


def test_no_results_are_one_clear_error(tmp_path: Path) -> None:
    for name in ("nothing", "*.jsonl", "."):
        with pytest.raises(InputError, match="there are no results here"):
            read_results([str(tmp_path / name)])


def test_numbers_and_texts_that_only_plain_json_knows_are_read(tmp_path: Path) -> None:
    """A model may write whole numbers of any size, and half characters."""
    said = [{"role": "assistant", "content": "\ud83d", "n": 10**30}]
    found = read(run_folder(tmp_path, [row("a", 0, messages=said)]))
    assert found.attempts["turns"].to_list() == [1]


def test_stopped_tasks_are_marked_and_never_final(tmp_path: Path) -> None:
    rows = [row("a", 0), row("a", 1, "failed"), row("b", 0), row("b", 1)]
    folder = run_folder(tmp_path, rows, uids=["a", "b"], attempts=2)
    assert completeness(read(folder)).final
    (folder / "stopped.json").write_text('{"a": {"rule": "exact", "clean": 2}}')
    found = read(folder)
    assert found.attempts.filter(pl.col("stopped"))["uid"].unique().to_list() == ["a"]
    proof = completeness(found)
    assert proof.stopped == ("a",)
    assert not proof.final
    assert "no evidence for pass@1" in " ".join(proof.words())


INDEX_COLUMNS = [
    *("uid", "repetition", "try", "outcome", "domain", "family", "tags", "policy"),
    *("task_hash", "versions_hash", "stopped", "superseded", "counted"),
]


def indexed(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """A run's folder as a store leaves it, with its index."""
    folder.mkdir(parents=True)
    with EpisodeStore(folder / "episodes.jsonl") as store:
        for each in rows:
            store.append(each)
    return folder


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(KEYS, OUTCOMES, min_size=1))
def test_the_index_alone_gives_the_same_counts(
    tmp_path_factory: pytest.TempPathFactory, tries: dict[tuple[str, int, int], str]
) -> None:
    rows = [row(uid, n, outcome, **{"try": t}) for (uid, n, t), outcome in tries.items()]
    folder = indexed(tmp_path_factory.mktemp("slim") / "run", rows)
    whole, slim = read(folder), read_results([str(folder)], counts=True)
    assert_frame_equal(slim.attempts.select(INDEX_COLUMNS), whole.attempts.select(INDEX_COLUMNS))
    assert_frame_equal(by_task(slim), by_task(whole))
    assert slim.attempts["turns"].null_count() == len(rows)


def test_an_index_that_does_not_fit_the_rows_is_refused(tmp_path: Path) -> None:
    folder = indexed(tmp_path / "run", [row("a", 0), row("a", 1, "failed"), row("b", 0)])
    index = folder / "episodes.index"
    lines = index.read_bytes().splitlines(keepends=True)
    changes = {
        "lacks rows that are there": lines[:2],
        "line 2: does not fit its row": [lines[0], lines[1].replace(b" f ", b" p "), lines[2]],
        "line 3: is no line of an index": [*lines[:2], b"half a li"],
    }
    for words, kept in changes.items():
        index.write_bytes(b"".join(kept))
        with pytest.raises(InputError, match=f"{words}; read the rows without --counts"):
            read_results([str(folder)], counts=True)
    index.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        read_results([str(folder)], counts=True)
    assert read(folder).attempts.height == 3


def test_an_index_of_two_versions_of_a_task_is_refused(tmp_path: Path) -> None:
    versions = {**row("a", 1)["versions"], "task": "another"}
    folder = indexed(tmp_path / "run", [row("a", 0), row("a", 1, versions=versions)])
    with pytest.raises(InputError, match="line 2: versions: 'a' is of another version"):
        read_results([str(folder)], counts=True)
