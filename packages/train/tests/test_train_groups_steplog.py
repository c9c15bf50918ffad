from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from outcomebox.sandbox import InputError
from outcomebox.train.errors import TrainError
from outcomebox.train.groups.ledger import StepGroups
from outcomebox.train.groups.logprobs import Difference, difference
from outcomebox.train.groups.stepfigures import (
    attempt_figures,
    group_figures,
    step_figures,
)
from outcomebox.train.groups.steplog import StepLog, read_steps
from train_groups import attempt, group


def steps(path: Path) -> list[tuple[int, float]]:
    return [(row["step"], row["figures"]["reward"]) for row in read_steps(path)]


def test_each_step_has_a_row(tmp_path: Path) -> None:
    path = tmp_path / "run" / "steps.jsonl"
    log = StepLog(path)
    for step in (1, 2):
        log.write(step, {"reward": step / 2}, run_id="r")
    assert steps(path) == [(1, 0.5), (2, 1.0)]
    assert json.loads(path.read_text().splitlines()[0])["run_id"] == "r"
    assert [each.name for each in path.parent.iterdir()] == ["steps.jsonl"]


def test_a_resumed_run_replaces_the_steps_that_it_does_again(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    first = StepLog(path)
    for step in (1, 2, 3, 4):
        first.write(step, {"reward": 0.0})
    resumed = StepLog(path)  # from the checkpoint of step 2
    assert len(steps(path)) == 4, "nothing is lost before the first step is done again"
    resumed.write(3, {"reward": 1.0})
    assert steps(path) == [(1, 0.0), (2, 0.0), (3, 1.0)]
    resumed.write(4, {"reward": 1.0})
    assert steps(path) == [(1, 0.0), (2, 0.0), (3, 1.0), (4, 1.0)]


def test_a_write_that_fails_leaves_the_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "steps.jsonl"
    log = StepLog(path)
    log.write(1, {"reward": 0.0})
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        log.write(2, {"reward": 0.0})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{", "line 2"),
        ("[]", "line 2"),
        ('{"step": 2}', "line 2"),
        ('{"step": 1, "figures": {}}', "behind step 1"),
        ('{"step": "2", "figures": {}}', "behind step 1"),
        ('{"step": 2, "figures": []}', "behind step 1"),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: str, found: str) -> None:
    path = tmp_path / "steps.jsonl"
    StepLog(path).write(1, {})
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match=found) as refused:
        StepLog(path)
    assert str(path) in str(refused.value)


def test_the_figures_of_groups_add_up() -> None:
    groups = StepGroups(
        kept=(group("1010", "a", task="x"), group("1000", "b", task="y", band="intermediate")),
        dropped=(
            group("1111", "c", task="z", band="intermediate"),
            group("0000", "d", task="x"),
            group("1E0E", "e", task="x", phase="open"),
            group("11-1", "f", task="y"),
        ),
        rounds=3,
    )
    found = group_figures(groups, predicted_share=0.6, mixed_chances={"x": 0.5, "y": 0.9})
    assert {name.removeprefix("outcomebox/"): value for name, value in found.items()} == {
        "groups/tried": 6,
        "groups/trained": 2,
        "groups/useful": 2,
        "groups/all_pass": 1,
        "groups/all_fail": 1,
        "groups/system_error": 2,
        "groups/rounds": 3,
        "refills/total": 4,
        "refills/all_pass": 1,
        "refills/all_fail": 1,
        "refills/system_error": 2,
        "refills/phase/open": 1,
        "refills/phase/unreported": 1,
        "system_errors/total": 3,
        "system_errors/phase/open": 2,
        "system_errors/phase/unreported": 1,
        "wasted/groups": 4,
        "wasted/rollouts": 16,
        "wasted/tokens": 8 * (4 + 4 + 2 + 3),
        "useful_share/predicted": 0.6,
        "useful_share/seen": 0.5,
        # z is not among the chances: x and y kept, x dropped.
        "useful_share/predicted_for_tried": pytest.approx((0.5 + 0.9 + 0.5) / 3),
        "pass_rate": (2 + 1 + 4 + 0) / 16,
        "reward/band/difficult": 2 / 8,
        "reward/band/intermediate": 5 / 8,
        "groups/band/difficult": 2,
        "groups/band/intermediate": 2,
    }


def test_a_step_of_nothing_but_broken_groups_has_no_share() -> None:
    groups = StepGroups(kept=(), dropped=(group("1E"),), rounds=1)
    found = group_figures(groups, predicted_share=0.6, mixed_chances={})
    assert "outcomebox/useful_share/seen" not in found
    assert "outcomebox/pass_rate" not in found


def test_the_figures_of_attempts_are_means_and_sums() -> None:
    found = attempt_figures([attempt(0, True), attempt(1, False), attempt(2, False)])
    assert found["outcomebox/reward/mean"] == pytest.approx(1 / 3)
    assert found["outcomebox/turns/mean"] == 3
    assert found["outcomebox/turns/max"] == 3
    assert found["outcomebox/tokens/response/mean"] == 20
    assert found["outcomebox/seconds/generation/mean"] == 2.0
    assert found["outcomebox/parity/turns"] == 9
    assert found["outcomebox/parity/differences"] == 0
    assert found["outcomebox/finish/stop"] == 3


def test_a_step_tells_its_own_time_and_how_far_the_programs_are_apart() -> None:
    timing = {"gen": 5.0, "update_actor": 2.0, "old_log_prob": 1.0, "adv": 0.1, "step": 9.0}
    found = step_figures(timing, Difference(highest=1e-3, mean=1e-4, tokens=7))
    assert found == {
        "outcomebox/seconds/rollout": 5.0,
        "outcomebox/seconds/log_probs": 1.0,
        "outcomebox/seconds/update": 2.0,
        "outcomebox/seconds/step": 9.0,
        "outcomebox/log_probs/difference/max": 1e-3,
        "outcomebox/log_probs/difference/mean": 1e-4,
        "outcomebox/log_probs/tokens": 7,
    }


def test_differences_are_of_the_tokens_that_the_model_wrote() -> None:
    rows = [
        ([-1.0, -9.0, -2.0], [-1.5, 0.0, -2.0], [1, 0, 1]),
        ([-3.0], [-2.75], [1]),
    ]
    assert difference(rows) == Difference(highest=0.5, mean=0.25, tokens=3)


def test_without_a_written_token_there_is_no_difference() -> None:
    assert difference([]) is None
    assert difference([([-1.0], [-2.0], [0])]) is None


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (([-1.0], [-1.0, -2.0], [1]), "not of one length"),
        (([-1.0], [-1.0], [1, 1]), "not of one length"),
        (([np.nan], [-1.0], [1]), "not a finite number"),
        (([-1.0], [-np.inf], [1]), "not a finite number"),
    ],
)
def test_differences_that_cannot_be_are_refused(
    row: tuple[list[float], list[float], list[int]], said: str
) -> None:
    with pytest.raises(TrainError, match=said):
        difference([row])
