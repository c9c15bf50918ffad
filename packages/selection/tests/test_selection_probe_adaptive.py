"""An adaptive probe: which attempts are made, in what order, and that it resumes to the same."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from outcomebox.rollout import Plan, digest, read_rows
from outcomebox.selection import read_pool
from outcomebox.selection.probe_adaptive import AdaptivePlan, Key
from outcomebox.selection.probe_command import app
from outcomebox.selection.stopped import Stopped, read_stopped
from outcomebox.selection.stopping import StopRule

SHELF = Path(__file__).parents[2] / "sandbox" / "tests" / "domains" / "shelf"
EXACT, BAYES = StopRule("exact", 8), StopRule("bayes", 16)


@dataclass(frozen=True)
class Task:
    """A task, as far as a plan looks at it."""

    uid: str


@dataclass(frozen=True)
class Tasks:
    """The tasks of a plan."""

    tasks: tuple[Task, ...]


def planned(uids: int, rule: StopRule, done: dict[Key, str] | None = None) -> AdaptivePlan:
    """The plan of a probe of which something is done."""
    tasks: Any = Tasks(tuple(Task(f"t{i:02d}") for i in range(uids)))
    return AdaptivePlan(Plan(tasks, range(rule.most), done or {}, {}), rule)


@dataclass
class Played:
    """A probe that was played: outcomes by key, and what ran whenever no more could be begun."""

    rows: dict[Key, str]
    moments: list[tuple[dict[Key, str], list[Key]]]
    stopped: dict[str, Stopped]


def play(
    plan: AdaptivePlan, outcome: Any, slots: int, rng: random.Random, most: int = 10_000
) -> Played:
    """Makes what a plan asks for, with so many slots and attempts that end in any order."""
    todo, running = plan.todo(), list[Key]()
    rows = dict(plan.outcomes)
    played = Played(rows, [], plan.stopped)
    for _ in range(most):
        while len(running) < slots:
            asked = next(todo, None)
            if asked is None:
                break
            running.append(asked[0])
        played.moments.append((dict(rows), list(running)))
        if not running:
            break
        key = running.pop(rng.randrange(len(running)))
        rows[key] = outcome(key)
        plan.ended(key, rows[key])
    return played


def outcomes_of(seed: int) -> Any:
    """What each attempt comes to: the same for the same seed."""

    def outcome(key: Key) -> str:
        rate = random.Random(f"{seed} {key[0]}").betavariate(0.3, 0.6)
        return "passed" if random.Random(f"{seed} {key}").random() < rate else "failed"

    return outcome


@given(
    st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 20), st.sampled_from([EXACT, BAYES])
)
@settings(max_examples=60, deadline=None)
def test_the_rows_do_not_depend_on_slots_and_order(
    seed: int, tasks: int, slots: int, rule: StopRule
) -> None:
    outcome = outcomes_of(seed)
    one = play(planned(tasks, rule), outcome, 1, random.Random(0))
    many = play(planned(tasks, rule), outcome, slots, random.Random(seed))
    assert one.rows == many.rows
    assert one.stopped == many.stopped
    for uid in {uid for uid, _ in one.rows}:
        made = [one.rows[uid, r] for r in range(sum(key[0] == uid for key in one.rows))]
        passes = [made[: n + 1].count("passed") for n in range(len(made))]
        decided = [rule.decision(k, n + 1 - k) is not None for n, k in enumerate(passes)]
        # Left at the first decision, and not before.
        assert decided == [False] * (len(made) - 1) + [True]
        assert (uid in one.stopped) is (len(made) < rule.most)


@given(st.integers(0, 10**6), st.integers(1, 60), st.sampled_from([EXACT, BAYES]))
@settings(max_examples=60, deadline=None)
def test_a_killed_probe_resumes_to_the_same_rows(seed: int, kill: int, rule: StopRule) -> None:
    outcome = outcomes_of(seed)
    whole = play(planned(8, rule), outcome, 3, random.Random(1))
    part = play(planned(8, rule), outcome, 5, random.Random(seed), most=kill)
    rest = play(planned(8, rule, part.rows), outcome, 4, random.Random(2))
    assert rest.rows == whole.rows
    assert rest.stopped == whole.stopped


@pytest.mark.parametrize("rule", [EXACT, BAYES])
def test_a_slot_is_free_only_where_one_more_attempt_could_be_in_vain(rule: StopRule) -> None:
    slots = 16
    played = play(planned(40, rule), outcomes_of(5), slots, random.Random(5))
    free = 0
    for rows, running in played.moments:
        assert len(running) <= slots
        if len(running) == slots:
            continue
        free += 1
        for uid in (f"t{i:02d}" for i in range(40)):
            words = [word for key, word in rows.items() if key[0] == uid]
            passes = words.count("passed")
            needed = rule.least_more(passes, len(words) - passes)
            assert sum(key[0] == uid for key in running) >= needed
    # All slots are busy until few tasks are left.
    assert free < len(played.moments) / 4


def test_what_was_given_up_decides_nothing_and_the_total_shrinks() -> None:
    plan = planned(2, EXACT)
    assert (plan.total, plan.left) == (16, 16)
    todo = plan.todo()
    first = [next(todo) for _ in range(4)]
    assert [asked[0] for asked in first if asked] == [
        ("t00", 0),
        ("t01", 0),
        ("t00", 1),
        ("t01", 1),
    ]
    assert next(todo) is None
    plan.ended(("t00", 0), "passed")
    plan.ended(("t00", 1), None)
    assert plan.stopped == {}
    asked = next(todo)
    assert asked == (("t00", 2), 0)
    plan.ended(("t00", 2), "failed")
    assert plan.stopped == {"t00": Stopped("exact", 2)}
    # Three attempts were made at the one, and the other may need all of its eight.
    assert plan.total == 3 + 8


def run(*given: object) -> Result:
    """Run the command to its end, in this process."""
    arguments = ["--tasks", str(SHELF), *map(str, given)]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def pool(folder: Path) -> set[str]:
    """The kept tasks."""
    sides = (read_pool(folder / name) for name in ("train.yaml", "test.yaml"))
    return {task["uid"] for side in sides for task in side.tasks}


def test_the_command_keeps_the_same_tasks_with_fewer_rows(tmp_path: Path) -> None:
    full, early = tmp_path / "full", tmp_path / "early"
    common: list[Any] = ["--attempts", 8, "--seed", 5, "--concurrency", 8]
    assert run(*common, "--out", full).exit_code == 0
    done = run(*common, "--stop", "exact", "--out", early, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    rows = list(read_rows(early / "episodes.jsonl"))
    everything = list(read_rows(full / "episodes.jsonl"))
    assert pool(early) == pool(full)
    assert len(rows) < len(everything)
    assert told["figures"]["probing"]["fewer"] == pytest.approx(1 - len(rows) / len(everything))
    assert told["report"]["complete"] is True
    # The same attempts, as far as they were made.
    assert {row["uid"] for row in rows} == {row["uid"] for row in everything}
    whole = {(row["uid"], row["repetition"]): row["verdict"]["outcome"] for row in everything}
    assert all(whole[row["uid"], row["repetition"]] == row["verdict"]["outcome"] for row in rows)
    stopped = read_stopped(early / "episodes.jsonl")
    assert stopped
    assert read_stopped(full / "episodes.jsonl") is None
    for uid, mark in stopped.items():
        assert mark == Stopped("exact", sum(row["uid"] == uid for row in rows))
    # Resumed, it has nothing to do; and part of its rows resumes to the same.
    before = (early / "manifest.json").read_bytes()
    lines = (early / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    (early / "episodes.jsonl").write_bytes(b"".join(lines[:5]) + lines[5][:40])
    (early / "stopped.json").unlink()
    again = run("--resume", "--out", early)
    assert again.exit_code == 0, again.stderr
    assert digest(read_rows(early / "episodes.jsonl")) == digest(rows)
    assert (early / "manifest.json").read_bytes() == before
    assert read_stopped(early / "episodes.jsonl") == stopped
    other = run("--resume", "--out", early, "--stop", "bayes")
    assert other.exit_code == 2
    assert 'probe.stop: was "exact"' in other.stderr


def test_bayes_on_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "run"
    given: list[Any] = ["--stop-option", "most=6", "--stop-option", "keep=.9"]
    done = run("--stop", "bayes", *given, "--out", out, "--json")
    assert done.exit_code == 0, done.stderr
    probing = json.loads(done.stdout)["figures"]["probing"]
    assert (probing["stop"], probing["most"]) == ("bayes", 6)
    rows = list(read_rows(out / "episodes.jsonl"))
    assert max(row["repetition"] for row in rows) <= 5
    wrong = run("--stop", "bayes", "--stop-option", "keep=high", "--out", tmp_path / "no")
    assert wrong.exit_code == 2
    assert "probe.bayes.keep" in wrong.stderr
    assert not (tmp_path / "no").exists()


def test_a_probe_goes_on_as_it_was_started(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = run("--attempts", 1, "--record", "--executor", "local", "--patience", 5, "--out", out)
    assert first.exit_code == 0, first.stderr
    saved = (out / "curation.yaml").read_text()
    for line in ("record: true", "executor: local", "patience_s: 5.0"):
        assert line in saved
    assert (out / "exchanges.jsonl").exists()
    resumed = run("--resume", "--out", out)
    assert resumed.exit_code == 0, resumed.stderr
    assert (out / "curation.yaml").read_text() == saved
    replayed = tmp_path / "replayed"
    again = run("--attempts", 1, "--replay", out, "--out", replayed)
    assert again.exit_code == 0, again.stderr
    assert digest(read_rows(replayed / "episodes.jsonl")) == digest(
        read_rows(out / "episodes.jsonl")
    )
    # Taken over where it is said again by another way to the same place, refused where it differs.
    assert run("--resume", "--out", replayed, "--replay", out / ".." / "run").exit_code == 0
    other = run("--resume", "--out", replayed, "--replay", tmp_path)
    assert other.exit_code == 2
    assert "probe.replay" in other.stderr
