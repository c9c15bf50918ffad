"""The desk: its committed tasks, and that any seed gives valid ones, apart by text and by state."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.sandbox import BUNDLED, NO_CHANGE, InputError, find_domain, load_tasks
from outcomebox.sandbox.domains.desk.generating import (
    FAMILIES,
    Side,
    draws,
    family_files,
    generate,
    side_of,
    state_digest,
    text_digest,
    write_tasks,
)
from outcomebox.sandbox.domains.desk.generating.__main__ import main
from outcomebox.sandbox.domains.desk.generating.draw import Drawn
from outcomebox.sandbox.expect import TableEdits

seeds = st.integers(0, 2**31)
CHANGING = [name for name, family in FAMILIES.items() if not family.no_change]
COMMITTED = 28


def test_it_is_found_by_name_and_is_no_default() -> None:
    assert "desk" not in BUNDLED
    assert find_domain("desk").name == "desk"
    assert all(task.domain != "desk" for task in load_tasks().tasks)


def test_the_committed_tasks_are_what_the_generator_gives(tmp_path: Path) -> None:
    committed = load_tasks(["desk"])
    assert len(committed.tasks) == COMMITTED
    made = family_files(generate(0, COMMITTED, side="held-out"))
    folder = find_domain("desk").tasks_folder
    assert {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()} == made
    assert {task.family for task in committed.tasks} == set(FAMILIES)
    assert all(side_of(task) == "held-out" for task in committed.tasks)


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(1, 40))
def test_the_same_seed_gives_the_same_bytes_and_more_go_on_from_them(seed: int, count: int) -> None:
    tasks = generate(seed, count)
    assert len(tasks) == len({task.uid for task in tasks}) == count
    assert family_files(generate(seed, count)) == family_files(tasks)
    assert generate(seed, count + 9)[:count] == tasks
    assert family_files(generate(seed + 1, count)) != family_files(tasks)


def test_another_process_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, hash_seed in (("a", "1"), ("b", "2")):
        subprocess.run(
            [
                *(sys.executable, "-m", "outcomebox.sandbox.domains.desk.generating"),
                *(str(tmp_path / name), "--count", "40", "--seed", "3", "--side", "train"),
            ],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
            check=True,
        )
    texts = [
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in "ab"
    ]
    assert texts[0] == texts[1] == {
        name: text.encode() for name, text in family_files(generate(3, 40, side="train")).items()
    }  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(1, 60))
def test_at_most_one_in_six_ends_without_a_change_and_says_so(seed: int, count: int) -> None:
    tasks = generate(seed, count)
    without = [task for task in tasks if not task.expect]
    assert len(without) <= count / 6
    assert without == [task for task in tasks if NO_CHANGE in task.tags]
    families = Counter(task.family for task in tasks if task.expect)
    assert max(families.values()) - min(families.values()) <= 1 or count < 2 * len(CHANGING)
    assert {FAMILIES[task.family].kind for task in without} <= {"refuse"}


@settings(max_examples=5, deadline=None)
@given(seeds)
def test_files_of_any_seed_are_read_as_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("tasks")
    tasks = generate(seed, 30)
    files = write_tasks(tasks, folder)
    found = load_tasks([str(folder)])
    assert {file.stem for file in files} == {task.family for task in tasks}
    assert found.tasks == tuple(sorted(tasks, key=lambda task: task.uid))
    assert [task.hash for task in found.tasks] == [found.by_uid[t.uid].hash for t in found.tasks]


def test_no_text_and_no_state_is_on_both_sides() -> None:
    """Not within a seed, and not between seeds."""
    seeds_of: dict[Side, tuple[int, int]] = {"train": (1, 2), "held-out": (1, 3)}
    sides = {
        side: [task for seed in seeds for task in generate(seed, 300, side=side)]
        for side, seeds in seeds_of.items()
    }
    for digest in (
        lambda task: text_digest(task.query),
        lambda task: state_digest(task.init),
        lambda task: task.content_hash,
        lambda task: task.uid,
    ):
        train, held_out = ({digest(task) for task in tasks} for tasks in sides.values())
        assert train
        assert held_out
        assert not train & held_out
    for side, tasks in sides.items():
        assert {side_of(task) for task in tasks} == {side}


def test_some_tasks_are_on_no_side() -> None:
    found = Counter(side_of(task) for task in generate(0, 900))
    # Two thirds by two thirds, one third by one third.
    assert 340 < found["train"] < 460
    assert 60 < found["held-out"] < 140


def test_digests_are_of_what_is_meant() -> None:
    assert text_digest("Close  T12.\n") == text_digest("close t12.")
    assert text_digest("Close T12.") != text_digest("Close T21.")
    (task,) = generate(5, 1)
    turned = {
        table: TableEdits(insert=tuple(reversed(edit.insert))) for table, edit in task.init.items()
    }
    assert turned != task.init
    assert state_digest(turned) == state_digest(task.init)
    assert state_digest({"orders": task.init["orders"]}) != state_digest(task.init)


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_what_is_asked_can_be_told_from_what_is_written_and_read(seed: int) -> None:
    """Ids that golden writes to stand in the wish or in a record that golden reads before."""
    for drawn, _ in zip(draws(seed), range(14), strict=False):
        _told(drawn)


def _told(drawn: Drawn) -> None:
    task = drawn.task
    rows = {
        row.get("ticket_id") or row["order_id"]: row
        for edits in task.init.values()
        for row in edits.insert
    }
    known = task.query
    for call in task.golden:
        assert call.arguments["id"] in known
        if call.tool in {"ticket", "order"}:
            known += json.dumps(rows[call.arguments["id"]])
        for value in call.arguments.values():
            assert value in known, (task.query, call)
    changed = [(act.key, act.change) for act in drawn.wish.acts]
    assert all(act.change.items() - rows[next(iter(act.key.values()))].items()
               for act in (*drawn.wish.acts, *drawn.wish.tempting))  # fmt: skip
    assert all((act.key, act.change) not in changed for act in drawn.wish.tempting)


def test_conditions_hold_as_often_as_not() -> None:
    conditional = [name for name, family in FAMILIES.items() if family.kind == "conditional"]
    then = total = 0
    for drawn, _ in zip(draws(1, conditional), range(400), strict=False):
        total += 1
        then += drawn.task.query.split(", else")[0].endswith(drawn.wish.acts[0].words)
    assert 0.4 < then / total < 0.6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--family", "clsoe"), "families: no such family; there are close, assign"),
        (("--family", "refuse-refund"), "name a family that changes something too"),
        (("--family", "close", "--count", "5"), "holds task files already"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "old.yaml").write_text("tasks: []\n")
    assert main([str(tmp_path), *arguments]) == 2
    assert words in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["old.yaml"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/tasks: cannot be written: Not a directory"):
        write_tasks(generate(0, 1), tmp_path / "file" / "tasks")


def test_the_generator_is_no_part_of_the_domain_hash() -> None:
    domain = find_domain("desk")
    assert [file.name for file in sorted(domain.server_file.parent.rglob("*.py"))] == [
        "__init__.py",
        "server.py",
    ]
