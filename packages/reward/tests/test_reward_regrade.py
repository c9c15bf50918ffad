"""Grading stored end states again: what moves, what must not, and what cannot be known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward.errors import CheckError
from outcomebox.reward.judge import AsyncJudge, Judgement
from outcomebox.reward.regrade import Order, Report, open_run, regrade
from outcomebox.reward.rows import read_rows, seal
from outcomebox.sandbox import InputError, TaskSet
from regrade_world import (
    RESEND,
    SEED,
    broken_row,
    domain_folder,
    row_of,
    task,
    task_set,
    write,
    written,
)

RIGHT = "UPDATE orders SET status = 'resent' WHERE order_id = 'O-1'"
WRONG = "UPDATE orders SET status = 'closed' WHERE order_id = 'O-1'"
CLOSED = {"orders": {"update": [{"key": {"order_id": "O-1"}, "set": {"status": "closed"}}]}}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the domain."""
    return domain_folder(tmp_path_factory.mktemp("regrade") / "shop")


def again(path: Path, tasks: TaskSet, **more: Any) -> Report:
    """The report of grading a file again."""
    return anyio.run(regrade, Order(open_run(path), tasks, **more))


def test_with_the_same_checks_nothing_moves(shop: Path, tmp_path: Path) -> None:
    tasks = task_set(shop, task())
    rows = [
        row_of(tasks, task(), did, repetition=n) for n, did in enumerate([[RIGHT], [WRONG], []])
    ]
    report = again(write(tmp_path / "rows.jsonl", *rows), tasks)
    assert (report.rows, report.regraded, report.moved) == (3, 3, [])
    assert report.verdicts == {("passed", "passed"): 1, ("failed", "failed"): 2}
    assert (report.same_reasons, report.explained_otherwise) == (2, [])
    assert not report.since
    assert report.tasks == [{"uid": "shop/resend/1", "before": [1, 3], "after": [1, 3]}]


def test_a_changed_check_moves_verdicts_and_says_why(shop: Path, tmp_path: Path) -> None:
    tasks = task_set(shop, task())
    rows = [
        row_of(tasks, task(), did, repetition=n) for n, did in enumerate([[RIGHT], [WRONG], []])
    ]
    path = write(tmp_path / "rows.jsonl", *rows)
    report = again(path, task_set(shop, task(expect=CLOSED)))
    assert [
        (each["repetition"], each["was"]["outcome"], each["now"]["outcome"])
        for each in report.moved
    ] == [
        (0, "passed", "failed"),
        (1, "failed", "passed"),
    ]
    assert [each["why"] for each in report.moved] == [["task"], ["task"]]
    (reason,) = report.moved[0]["now"]["reasons"]
    assert (reason["kind"], reason["column"]) == ("wrong_value", "status")
    (otherwise,) = report.explained_otherwise
    assert otherwise["repetition"] == 2
    assert report.tasks[0] == {"uid": "shop/resend/1", "before": [1, 3], "after": [1, 3]}


CELLS = st.fixed_dictionaries(
    {
        "status": st.sampled_from(["lost", "resent", "closed"]),
        "quantity": st.sampled_from([1, 2]),
        "note": st.sampled_from(["", "Sorry."]),
    }
)
AT_FIRST = {"status": "lost", "quantity": 1, "note": ""}


@settings(max_examples=60, deadline=None)
@given(old=CELLS, new=CELLS, ends=st.lists(CELLS, min_size=1, max_size=6))
def test_a_changed_cell_moves_exactly_the_rows_it_must(
    shop: Path,
    tmp_path_factory: pytest.TempPathFactory,
    old: dict[str, Any],
    new: dict[str, Any],
    ends: list[dict[str, Any]],
) -> None:
    def expecting(cells: dict[str, Any]) -> Any:
        changed = {name: value for name, value in cells.items() if value != AT_FIRST[name]}
        if not changed:
            return task(expect={}, tags=["no-change"])
        return task(expect={"orders": {"update": [{"key": {"order_id": "O-1"}, "set": changed}]}})

    before = task_set(shop, expecting(old))
    rows = [
        row_of(
            before,
            before.tasks[0],
            [
                "UPDATE orders SET "
                + ", ".join(f"{k} = {v!r}" for k, v in end.items())
                + " WHERE order_id = 'O-1'"
            ],
            repetition=number,
        )
        for number, end in enumerate(ends)
    ]
    path = write(tmp_path_factory.mktemp("rows") / "rows.jsonl", *rows)
    report = again(path, task_set(shop, expecting(new)))
    must = [number for number, end in enumerate(ends) if (end == old) != (end == new)]
    assert [each["repetition"] for each in report.moved] == must
    assert report.tasks[0]["before"][0] == ends.count(old)
    assert report.tasks[0]["after"][0] == ends.count(new)


def other_seed(seed: str) -> Callable[[Path], Path]:
    return lambda folder: domain_folder(folder, seed=seed)


@pytest.mark.parametrize(
    ("did", "seed", "differs"),
    [
        (RIGHT, SEED.replace("'lost', 1", "'sent', 1"), "status is 'sent' from the start now"),
        (RIGHT, SEED.replace("'O-1'", "'O-9'"), "O-1': was there from the start, and is not now"),
        (
            "INSERT INTO refunds VALUES (7, 'O-1', 100)",
            SEED + "INSERT INTO refunds VALUES (7, 'O-2', 5);",
            "refund_id=7: was added then, and is there from the start now",
        ),
        ("DELETE FROM orders WHERE order_id = 'O-3'", SEED.replace("3, ''", "4, ''"), "quantity"),
    ],
)
def test_a_row_from_another_initial_state_is_never_graded(
    shop: Path, tmp_path: Path, did: str, seed: str, differs: str
) -> None:
    tasks = task_set(shop, task())
    path = write(
        tmp_path / "rows.jsonl",
        row_of(tasks, task(), [did]),
        row_of(tasks, task(), [RIGHT], repetition=1)
        if did != RIGHT
        else row_of(tasks, task(), [], repetition=1),
    )
    now = task_set(domain_folder(tmp_path / "shop", seed=seed), task())
    report = again(path, now)
    assert report.left == {"initial_differs": 1}
    assert differs in report.examples["initial_differs"][0]["message"]
    assert report.regraded == 1
    assert report.since["initial"] == report.doubtful == 1
    assert "may have begun otherwise" in report.notes()[0]


def test_a_column_that_came_since_is_another_initial_state(shop: Path, tmp_path: Path) -> None:
    tasks = task_set(shop, task())
    path = write(tmp_path / "rows.jsonl", row_of(tasks, task(), [RIGHT]))
    schema = "CREATE TABLE orders(order_id TEXT PRIMARY KEY, status TEXT, quantity, note, more);"
    folder = domain_folder(
        tmp_path / "shop", schema=schema, seed="INSERT INTO orders VALUES ('O-1', 'lost', 1, '', 2)"
    )
    report = again(path, task_set(folder, task()))
    assert (
        "its columns are order_id, status, quantity, note, more now"
        in (report.examples["initial_differs"][0]["message"])
    )


def test_rows_of_a_tasks_own_rows_start_from_them(shop: Path, tmp_path: Path) -> None:
    init = {"orders": {"insert": [{"order_id": "O-4", "status": "lost"}]}}
    expect = {"orders": {"update": [{"key": {"order_id": "O-4"}, "set": {"status": "resent"}}]}}
    own = task(expect=expect, init=init)
    tasks = task_set(shop, own)
    did = "UPDATE orders SET status = 'resent' WHERE order_id = 'O-4'"
    path = write(tmp_path / "rows.jsonl", row_of(tasks, own, [did]))
    assert again(path, tasks).verdicts == {("passed", "passed"): 1}
    without = task(expect=RESEND)
    assert again(path, task_set(shop, without)).left == {"initial_differs": 1}


def test_what_broke_stays_broken_and_a_crash_stays_failed(shop: Path, tmp_path: Path) -> None:
    tasks = task_set(shop, task())
    crash = row_of(tasks, task(), [RIGHT], repetition=1)
    crash["verdict"] = {
        "outcome": "failed",
        "score": 0.0,
        "reasons": [{"kind": "tool_crash", "message": "hang (again)"}],
        "details": {"tool": "hang"},
    }
    out = tmp_path / "new.jsonl"
    path = write(tmp_path / "rows.jsonl", broken_row(tasks, task()), crash)
    report = again(path, task_set(shop, task(expect=CLOSED)), write=out)
    assert report.left == {"no_state": 1, "tool_crash": 1}
    assert report.tasks == [{"uid": "shop/resend/1", "before": [0, 1], "after": [0, 1]}]
    assert [row["verdict"]["outcome"] for row in written(out)] == ["system_error", "failed"]
    assert {row["versions"]["task"] for row in written(out)} == {task(expect=CLOSED).hash}


def test_a_check_that_was_broken_is_graded_once_it_is_mended(shop: Path, tmp_path: Path) -> None:
    vacuous = {"orders": {"update": [{"key": {"order_id": "O-2"}, "set": {"status": "sent"}}]}}
    tasks = task_set(shop, task(expect=vacuous))
    row = row_of(tasks, task(expect=vacuous), [])
    assert row["verdict"]["outcome"] == "system_error"
    out = tmp_path / "new.jsonl"
    report = again(write(tmp_path / "rows.jsonl", row), task_set(shop, task()), write=out)
    assert report.verdicts == {("system_error", "failed"): 1}
    (new,) = written(out)
    assert new["error"] is None
    assert new["regraded"]["error"] == row["error"]


class Model:
    """A judge that takes its time."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)

    def describe(self) -> dict[str, Any]:
        return {"model": "m"}

    async def check(self) -> None:
        """Nothing to see."""

    async def answer(self, question: str, text: str) -> Judgement:
        await anyio.lowlevel.checkpoint()
        return Judgement(self.answers.pop(0), {"model": "m"})

    async def aclose(self) -> None:
        """Nothing to release."""


class Yes:
    """A judge that says yes at once."""

    def ask(self, question: str, text: str) -> bool:
        return True


POLITE = ["Was the agent polite?"]
SAID = [{"role": "assistant", "content": "Gladly."}]


def test_recorded_answers_are_taken_and_others_need_a_judge(shop: Path, tmp_path: Path) -> None:
    asked = task(rubrics=POLITE)
    tasks = task_set(shop, asked)
    row = row_of(tasks, asked, [RIGHT], messages=SAID, judge=Yes())
    path = write(tmp_path / "rows.jsonl", row)
    assert again(path, tasks).verdicts == {("passed", "passed"): 1}
    other = task_set(shop, task(rubrics=["Was the agent brief?"]))
    out = tmp_path / "new.jsonl"
    report = again(path, other, write=out)
    assert report.left == {"needs_judge": 1}
    assert report.moved == []
    assert report.tasks == [{"uid": "shop/resend/1", "before": [1, 1], "after": [0, 0]}]
    (new,) = written(out)
    assert (new["verdict"]["outcome"], new["error"]["phase"]) == ("system_error", "judge")


def test_a_judge_is_asked_and_may_say_otherwise(shop: Path, tmp_path: Path) -> None:
    asked = task(rubrics=POLITE)
    tasks = task_set(shop, asked)
    rows = [
        row_of(tasks, asked, [RIGHT], messages=SAID, judge=Yes(), repetition=n) for n in range(2)
    ]
    judge: AsyncJudge = Model(False, True)
    report = again(write(tmp_path / "rows.jsonl", *rows), tasks, judge=judge)
    assert report.judge == {"model": "m"}
    assert sum(report.verdicts.values()) == 2
    (moved,) = report.moved
    assert moved["why"] == ["judge"]
    assert moved["now"]["reasons"][0]["kind"] == "rubric_failed"


def test_rows_of_other_tasks_are_left_and_reported(shop: Path, tmp_path: Path) -> None:
    other = task("shop/resend/2")
    tasks = task_set(shop, task(), other)
    rows = [row_of(tasks, task(), [RIGHT]), row_of(tasks, other, [RIGHT])]
    path = write(tmp_path / "rows.jsonl", *rows)
    out = tmp_path / "new.jsonl"
    report = again(path, task_set(shop, task()), write=out)
    assert report.left == {"no_task": 1}
    assert [each["uid"] for each in report.tasks] == ["shop/resend/1"]
    assert "regraded" in written(out)[0]
    assert "regraded" not in written(out)[1]
    only = again(path, tasks, only="shop/resend/2")
    assert (only.rows, [each["uid"] for each in only.tasks]) == (1, ["shop/resend/2"])
    with pytest.raises(InputError, match="no row is of this task"):
        again(path, tasks, only="shop/resend/3")
    with pytest.raises(InputError, match="name the run's tasks with --tasks"):
        again(path, task_set(shop, task("shop/resend/3")), write=tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def test_effects_of_other_servers_are_said_to_be_out_of_reach(shop: Path, tmp_path: Path) -> None:
    tasks = task_set(shop, task())
    row = row_of(tasks, task(), [RIGHT]) | {"effects": {"desk": {}}}
    assert again(write(tmp_path / "rows.jsonl", row), tasks).left == {"custom_check": 1}


def test_new_rows_are_whole_sealed_and_tell_what_they_were(shop: Path, tmp_path: Path) -> None:
    tasks = task_set(shop, task())
    rows = [row_of(tasks, task(), did, repetition=n) for n, did in enumerate([[RIGHT], [WRONG]])]
    path = write(tmp_path / "rows.jsonl", *rows)
    before = path.read_bytes()
    new = task(expect=CLOSED)
    again(path, task_set(shop, new), write=tmp_path / "one.jsonl")
    again(path, task_set(shop, new), write=tmp_path / "two.jsonl")
    assert path.read_bytes() == before
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    made = list(read_rows(tmp_path / "one.jsonl"))
    assert [row["verdict"]["outcome"] for row in made] == ["failed", "passed"]
    for old, row in zip(rows, made, strict=True):
        assert row["versions"]["task"] == new.hash
        assert row["versions"]["content"] == new.content_hash
        assert row["regraded"]["verdict"] == old["verdict"]
        assert row["regraded"]["task"] == task().hash
        kept = row.keys() - {"verdict", "versions", "regraded"}
        assert {name: row[name] for name in kept} == {name: old[name] for name in kept}
    assert again(tmp_path / "one.jsonl", task_set(shop, new)).moved == []


def test_an_existing_file_is_never_written_over(shop: Path, tmp_path: Path) -> None:
    tasks = task_set(shop, task())
    path = write(tmp_path / "episodes.jsonl", row_of(tasks, task(), [RIGHT]))
    before = path.read_bytes()
    for out in (path, tmp_path):
        with pytest.raises(InputError, match="is there already and is not overwritten"):
            again(path, tasks, write=out)
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="cannot be written"):
        again(path, tasks, write=tmp_path / "none" / "rows.jsonl")
    assert [each.name for each in tmp_path.iterdir()] == ["episodes.jsonl"]


def test_a_tampered_row_is_refused_by_its_line_and_nothing_is_written(
    shop: Path, tmp_path: Path
) -> None:
    tasks = task_set(shop, task())
    lines = [seal(row_of(tasks, task(), [], repetition=n)) for n in range(3)]
    lines[1] = lines[1].replace(b'"failed"', b'"passed"')
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(lines))
    with pytest.raises(InputError, match="line 2 is damaged"):
        again(path, tasks, write=tmp_path / "new.jsonl")
    assert [each.name for each in tmp_path.iterdir()] == ["rows.jsonl"]


def test_a_last_line_that_was_cut_off_is_left_out_and_said(shop: Path, tmp_path: Path) -> None:
    tasks = task_set(shop, task())
    path = write(tmp_path / "rows.jsonl", row_of(tasks, task(), [RIGHT]))
    path.write_bytes(path.read_bytes() + b'{"uid":')
    report = again(path, tasks)
    assert (report.rows, report.cut) == (1, 7)
    assert "cut off" in report.notes()[0]


def test_rows_of_before_the_calls_field_are_read(shop: Path, tmp_path: Path) -> None:
    tasks = task_set(shop, task())
    row = row_of(tasks, task(), [RIGHT])
    for change in row["changes"]:
        del change["calls"]
    assert again(write(tmp_path / "rows.jsonl", row), tasks).verdicts == {("passed", "passed"): 1}


def test_only_what_an_episode_begins_with_makes_its_row_doubtful(
    shop: Path, tmp_path: Path
) -> None:
    tasks = task_set(shop, task())
    row = row_of(tasks, task(), [RIGHT])
    folder = domain_folder(tmp_path / "shop")
    (folder / "policy.md").write_text("Be brief.\n", encoding="utf-8")
    now = task_set(folder, task())
    report = again(write(tmp_path / "rows.jsonl", row), now)
    assert (dict(report.since), report.doubtful, report.notes()) == ({"domain": 1}, 0, [])
    del row["versions"]["initial"]
    old = write(tmp_path / "old.jsonl", row)
    assert again(old, now).doubtful == 1
    assert again(old, tasks).doubtful == 0


def test_a_schema_change_stays_a_reason(shop: Path, tmp_path: Path) -> None:
    tasks = task_set(shop, task())
    did = [RIGHT, "CREATE INDEX extra ON orders(status)", "DROP TABLE refunds"]
    path = write(tmp_path / "rows.jsonl", row_of(tasks, task(), did))
    report = again(path, tasks)
    assert report.verdicts == {("failed", "failed"): 1}
    assert report.same_reasons == 1
    ignoring = task(ignore={"refunds": {"*": "a log"}})
    assert again(path, task_set(shop, ignoring)).explained_otherwise
    row = row_of(task_set(shop, ignoring), ignoring, [RIGHT, "DROP TABLE refunds"])
    assert row["verdict"]["outcome"] == "passed"
    report = again(write(tmp_path / "passed.jsonl", row), tasks)
    assert report.left == {"schema_unknown": 1}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"op": "swap"}, "line 1: a change is not as a record holds it"),
        ({"new": {"order_id": []}}, "line 1: a change is not as a record holds it"),
    ],
)
def test_changes_that_nobody_records_are_refused(
    shop: Path, tmp_path: Path, change: dict[str, Any], match: str
) -> None:
    tasks = task_set(shop, task())
    row = row_of(tasks, task(), [RIGHT])
    row["changes"][0] |= change
    with pytest.raises(InputError, match=match):
        again(write(tmp_path / "rows.jsonl", row), tasks)


@pytest.mark.parametrize("name", ["uid", "repetition", "try", "verdict", "changes", "versions"])
def test_rows_of_something_else_are_refused(shop: Path, tmp_path: Path, name: str) -> None:
    tasks = task_set(shop, task())
    row = row_of(tasks, task(), [RIGHT])
    del row[name]
    with pytest.raises(InputError, match=f"line 1 is no row of an episode: {name}"):
        again(write(tmp_path / "rows.jsonl", row), tasks)


def test_files_without_states_are_refused_with_what_to_do(tmp_path: Path) -> None:
    replay = tmp_path / "golden.jsonl"
    replay.write_text(json.dumps({"uid": "a", "policy": "golden", "verdict": "passed"}) + "\n")
    with pytest.raises(InputError, match="record verdicts and no states"):
        open_run(replay)
    (tmp_path / "empty.jsonl").write_bytes(b"")
    with pytest.raises(InputError, match="holds no row"):
        open_run(tmp_path / "empty.jsonl")
    with pytest.raises(InputError, match=r"give a run's folder or its episodes\.jsonl"):
        open_run(tmp_path)


def test_a_run_knows_its_tasks(shop: Path, tmp_path: Path) -> None:
    tasks = task_set(shop, task())
    run = tmp_path / "run"
    run.mkdir()
    write(run / "episodes.jsonl", row_of(tasks, task(), [RIGHT]))
    assert open_run(run).selectors == ("retail", "travel")
    (run / "curation.yaml").write_text("sources: {tasks: [retail, ../shop/tasks.yaml]}\n")
    assert open_run(run).selectors == ("retail", str(tmp_path / "shop" / "tasks.yaml"))


def test_a_check_that_contradicts_itself_is_bad_input(shop: Path, tmp_path: Path) -> None:
    tasks = task_set(shop, task())
    path = write(tmp_path / "rows.jsonl", row_of(tasks, task(), [RIGHT]))
    bad = task(ignore={"orders": {"status": "says who"}})
    with pytest.raises(CheckError, match="ignored"):
        again(path, task_set(shop, bad))
    with pytest.raises(CheckError, match="ignored"):
        again(path, task_set(shop, bad), judge=Model())
