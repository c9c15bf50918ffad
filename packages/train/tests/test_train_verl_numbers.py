"""Attempts' numbers, the dataset's rows, and the reward: from a pool's file to one number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outcomebox.rollout import EpisodeStore
from outcomebox.sandbox import InputError
from outcomebox.train.settings import WorkerSettings
from outcomebox.train.verl.numbering import Asked, Tries, asked_of
from outcomebox.train.verl.opening import rows_file
from outcomebox.train.verl.pool_rows import pool_rows
from outcomebox.train.verl.reward import NoVerdict, compute
from train_episodes import ADD, LOOK, MOVE, asked, make_run

FIELDS: dict[str, Any] = {
    "uid_task": MOVE,
    "uid": "a1b2",
    "session_id": 1,
    "global_steps": 4,
    "index": 0,
    "extra_info": {"draw": 3, "side": "train"},
}


@pytest.fixture
def settings(tmp_path: Path) -> WorkerSettings:
    """A run's settings."""
    return make_run(tmp_path / "run", tmp_path / "model")


def test_what_verl_asks_for() -> None:
    found = asked_of(FIELDS)
    assert found == Asked(MOVE, "train", draw=3, step=4, group="a1b2", session=1)
    assert found.repetition(8) == 25
    assert asked_of({**FIELDS, "extra_info": {"draw": 3, "side": "test"}}).repetition(8) == 33


def test_no_two_attempts_of_a_run_have_one_number() -> None:
    stride = 3
    numbers = [
        asked(draw=draw, session=session).repetition(stride)
        for draw in range(5)
        for session in range(stride)
    ]
    assert numbers == list(range(15))


@pytest.mark.parametrize("name", ["uid_task", "uid", "session_id", "global_steps"])
def test_another_trainer_is_refused(name: str) -> None:
    fields = {key: value for key, value in FIELDS.items() if key != name}
    with pytest.raises(InputError, match=f"{name}: is missing .* use the V1 trainer"):
        asked_of(fields)


@pytest.mark.parametrize("extra", [None, {}, {"draw": 1}, {"draw": 1, "side": "other"}])
def test_another_dataset_is_refused(extra: Any) -> None:
    with pytest.raises(InputError, match="to PoolDataset"):
        asked_of({**FIELDS, "extra_info": extra})


def test_a_group_that_is_too_large_is_refused() -> None:
    with pytest.raises(InputError, match="more attempts than the 2"):
        asked(session=2).repetition(2)


def row(uid: str, repetition: int, attempt: int) -> dict[str, Any]:
    return {
        "uid": uid,
        "repetition": repetition,
        "try": attempt,
        "verdict": {"outcome": "passed"},
        "versions": {},
    }


def test_tries_go_on_over_all_files_of_the_rows(tmp_path: Path) -> None:
    assert Tries.of_rows(tmp_path / "none").next(MOVE, 0) == 0
    keys = {"a-1.jsonl": [(MOVE, 0, 0), (MOVE, 0, 1), (ADD, 5, 0)], "b-2.jsonl": [(MOVE, 0, 2)]}
    for name, found in keys.items():
        with EpisodeStore(tmp_path / name) as store:
            for key in found:
                store.append(row(*key), [{"of": "a model"}] if name == "a-1.jsonl" else [])
    assert (tmp_path / "a-1.exchanges.jsonl").is_file()
    tries = Tries.of_rows(tmp_path)
    assert [tries.next(MOVE, 0), tries.next(MOVE, 0), tries.next(ADD, 5)] == [3, 4, 1]
    assert tries.next(ADD, 6) == 0


def test_a_torn_line_of_a_killed_process_is_no_row(tmp_path: Path) -> None:
    with EpisodeStore(tmp_path / "a-1.jsonl") as store:
        store.append(row(MOVE, 0, 0))
        store.append(row(MOVE, 1, 0))
    path = tmp_path / "a-1.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    tries = Tries.of_rows(tmp_path)
    assert (tries.next(MOVE, 0), tries.next(MOVE, 1)) == (1, 0)


def test_each_process_has_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "node 7/a.local")
    monkeypatch.setattr("os.getpid", lambda: 12)
    assert rows_file(tmp_path) == tmp_path / "node-7-a-local-12.jsonl"


def test_a_row_for_each_task_of_the_pool(settings: WorkerSettings) -> None:
    rows = pool_rows([Path(settings.pool.path)], settings)
    assert [each["uid_task"] for each in rows] == [MOVE, ADD]
    assert rows[0] == {
        "raw_prompt": [{"role": "user", "content": MOVE}],
        "agent_name": "outcomebox",
        "uid_task": MOVE,
        "data_source": "outcomebox",
        "reward_model": {"ground_truth": MOVE},
        "extra_info": {
            "uid": MOVE,
            "band": "intermediate",
            "domain": "shelf",
            "side": "train",
        },
        "index": 0,
    }
    both = pool_rows([Path(settings.pool.path), Path(settings.pool.test_path or "")], settings)
    assert [each["index"] for each in both] == [0, 1, 2]
    assert both[2]["uid_task"] == LOOK
    assert both[2]["extra_info"]["side"] == "test"


def test_another_pool_is_refused(settings: WorkerSettings, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(Path(settings.pool.path).read_text("utf-8") + "# changed\n", "utf-8")
    with pytest.raises(InputError, match="not a file of the pool that this run was started with"):
        pool_rows([other], settings)
    with pytest.raises(InputError, match="cannot be read"):
        pool_rows([tmp_path / "none.yaml"], settings)


@pytest.mark.parametrize(("outcome", "score"), [("passed", 1.0), ("failed", 0.0)])
def test_the_reward_is_the_verdict(outcome: str, score: float) -> None:
    details = {"uid": MOVE, "outcome": outcome, "turns": 3}
    found = compute("outcomebox", "any text", MOVE, {"outcomebox": details, "num_turns": 4})
    assert found == {**details, "score": score}
    # verl 0.9.1 counts an `acc` of 0 for a validation attempt that infrastructure broke.
    assert "acc" not in found


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        (None, "no verdict in extra_info.outcomebox"),
        ({}, "no verdict in extra_info.outcomebox"),
        ({"outcomebox": "passed"}, "no verdict"),
        ({"outcomebox": {"uid": ADD, "outcome": "passed"}}, f"the verdict is of '{ADD}'"),
        ({"outcomebox": {"uid": MOVE}}, "the outcome is None"),
        ({"outcomebox": {"uid": MOVE, "outcome": "system_error"}}, "the outcome is 'system_error'"),
    ],
)
def test_no_verdict_is_never_a_reward_of_0(extra: Any, why: str) -> None:
    with pytest.raises(NoVerdict, match=why):
        compute("outcomebox", "", MOVE, extra)


def test_rows_of_another_source_have_no_reward_here() -> None:
    details = {"uid": MOVE, "outcome": "passed"}
    with pytest.raises(NoVerdict, match="data_source is 'openai/gsm8k'"):
        compute("openai/gsm8k", "", MOVE, {"outcomebox": details})
