"""Batches of whole groups on verl's real store, and what a step's log says of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch  # pants: no-infer-dep
import transfer_queue as tq  # pants: no-infer-dep
import verl  # pants: no-infer-dep
from hydra import compose, initialize_config_dir
from stored_groups import Player, empty_store, put_attempt, run_settings, store, stored
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer  # pants: no-infer-dep

from outcomebox.sandbox import InputError
from outcomebox.train import groups
from outcomebox.train.errors import BatchUnfilled, TrainError
from outcomebox.train.groups.faults import PARTITION
from outcomebox.train.groups.judging import Kind
from outcomebox.train.groups.steplog import read_steps


@pytest.fixture(scope="module", autouse=True)
def _store() -> Iterator[None]:
    with store():
        yield


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    yield
    empty_store()


def buffer(folder: Path, player: Player, *, drop_uniform: bool = True, **changes: Any) -> Any:
    from outcomebox.train.groups.sampler import WholeGroups

    return WholeGroups(
        settings=run_settings(folder, **changes),
        drop_uniform=drop_uniform,
        refill_fn=player.play,
        poll_interval=0.01,
        trainer_mode="sync",
        trainer_config={},
        max_off_policy_threshold=8,
        max_off_policy_strategy="drop",
        sampler_kwargs={},
    )


def filled(sampler: Any, player: Player, *, partition: str = "train") -> Any:
    """A batch of two groups: asked for as verl's trainer does, then sampled."""
    player.play(2)
    batch, figures = sampler.sample(global_steps=1, partition_id=partition, batch_size=2)
    assert all(isinstance(each, int | float) for each in figures.values())
    return batch


def words_of(batch: Any, player: Player) -> list[str]:
    """The words of the groups in a batch; all their attempts must be in it, each once."""
    uids = {key.split("_")[0] for key in batch.keys}
    for uid in uids:
        own = sorted(key for key in batch.keys if key.startswith(uid))
        assert own == [f"{uid}_{session}_0" for session in range(4)]
    assert len(batch.keys) == len(batch.tags) == 4 * len(uids)
    return sorted(player.words[uid] for uid in uids)


def test_two_useful_groups_are_a_batch(tmp_path: Path) -> None:
    player = Player("1010", "0001")
    assert words_of(filled(buffer(tmp_path, player), player), player) == ["0001", "1010"]
    assert player.asked == [2]


def test_groups_without_contrast_and_broken_ones_are_run_again(tmp_path: Path) -> None:
    player = Player("1111", "10E1", "0000", "1-01", "EEEE", "1000", "0111")
    sampler = buffer(tmp_path, player)
    assert words_of(filled(sampler, player), player) == ["0111", "1000"]
    assert sum(player.asked) == 7
    books = sampler.step_groups
    assert [each.kind for each in books.dropped].count(Kind.SYSTEM_ERROR) == 3
    phases = [fault.phase for each in books.dropped for fault in each.faults]
    assert sorted(phases) == ["open"] * 5 + ["unreported"]
    assert books.dropped[0].task == "lamps/coin"


def test_what_is_thrown_away_leaves_the_store(tmp_path: Path) -> None:
    player = Player("1111", "10E1", "1000", "0111")
    batch = filled(buffer(tmp_path, player), player)
    assert stored() == {"train": sorted(batch.keys)}


def test_no_more_groups_are_under_way_than_places_are_empty(tmp_path: Path) -> None:
    """Groups end one by one: for each that is dropped, one is asked for."""
    player = Player("1111", "1000", "0000", "0111", at_once=False)
    sampler = buffer(tmp_path, player)
    ended = iter(range(99))

    def wait(partition_id: str, told: float) -> float:
        assert len(player.under_way) + sum(word in {"1000", "0111"} for word in _ended(player)) == 2
        next(ended)
        player.end_one()
        return told

    sampler._wait_for_next_poll = wait
    assert words_of(filled(sampler, player), player) == ["0111", "1000"]
    assert player.asked == [2, 1, 1]
    assert next(ended) == 4


def _ended(player: Player) -> list[str]:
    return [word for uid, word in player.words.items() if uid not in player.under_way]


def test_without_filtering_groups_without_contrast_stay(tmp_path: Path) -> None:
    player = Player("1111", "10E1", "0000")
    batch = filled(buffer(tmp_path, player, drop_uniform=False), player)
    assert words_of(batch, player) == ["0000", "1111"]


def test_a_batch_that_cannot_be_filled_stops_with_the_reason(tmp_path: Path) -> None:
    player = Player(*["1111", "0000"] * 9)
    bounds = {"max_rounds": 9, "max_wasted_groups": 3, "max_silence_s": 60}
    with pytest.raises(BatchUnfilled) as stopped:
        filled(buffer(tmp_path, player, refill=bounds), player)
    assert stopped.value.counts == {"all_pass": 2, "all_fail": 2}
    assert "max_wasted_groups 3" in str(stopped.value)


def test_system_errors_without_end_stop_with_what_failed(tmp_path: Path) -> None:
    player = Player(*["11E0"] * 40)
    with pytest.raises(BatchUnfilled, match="SessionOpenError: no sandbox") as stopped:
        filled(buffer(tmp_path, player), player)
    assert stopped.value.counts == {"system_error in open": 8}


def test_groups_that_never_end_stop_the_run(tmp_path: Path) -> None:
    player = Player("1000", "0111", at_once=False)
    bounds = {"max_rounds": 9, "max_wasted_groups": 3, "max_silence_s": 1}
    with pytest.raises(BatchUnfilled, match="no group has ended for 1 s") as stopped:
        filled(buffer(tmp_path, player, refill=bounds), player)
    assert stopped.value.counts == {"under_way": 2}


def test_verls_own_sampler_would_train_on_a_group_that_lost_attempts() -> None:
    """Why ours is there: with refilling on, verl keeps a group that has any attempt left."""
    player = Player("10E1", "1000")
    theirs = ReplayBuffer(
        trainer_mode="sync",
        trainer_config={},
        max_off_policy_threshold=8,
        max_off_policy_strategy="drop",
        sampler_kwargs={},
        poll_interval=0.01,
        refill_fn=player.play,
        gen_batch_size=1,
        sync_refill_failed_groups=True,
    )
    player.play(2)
    batch, _ = theirs.sample(global_steps=1, partition_id="train", batch_size=2)
    assert len(batch.keys) == 7


def test_a_reward_that_is_not_the_verdicts_stops_the_step(tmp_path: Path) -> None:
    player = Player("1010", "0101")
    sampler = buffer(tmp_path, player)
    player.at_once = False
    player.play(2)
    uid = player.under_way[0]
    player.end_one()
    put_attempt(uid, 1, passed=True, outcome="failed")
    with pytest.raises(TrainError, match=f"{uid}_1_0 has the reward 1.0, and its verdict is fail"):
        sampler.sample(global_steps=1, partition_id="train", batch_size=2)


def test_validation_counts_what_has_no_verdict_apart(tmp_path: Path) -> None:
    player = Player("1-E0", "0E11", partition="val")
    sampler = buffer(tmp_path, player)
    batch = filled(sampler, player, partition="val")
    assert len(batch.keys) == 5
    assert sampler.validation_faults == {"open": 2}
    assert PARTITION not in stored()
    assert sampler.step_groups is None


def test_a_validation_without_any_verdict_stops(tmp_path: Path) -> None:
    player = Player("EEEE", "EEEE", partition="val")
    with pytest.raises(BatchUnfilled, match="system_error in open 8.*no validation attempt"):
        filled(buffer(tmp_path, player), player, partition="val")


def config(*overrides: str) -> Any:
    """verl's own configuration as our launcher asks for it."""
    folder = Path(verl.__file__).parent / "trainer" / "config"
    with initialize_config_dir(str(folder), version_base=None):
        return compose(
            "ppo_trainer",
            [
                f"trainer.v1.trainer_mode={groups.TRAINER}",
                "trainer.v1.sampler.sync_refill_failed_groups=True",
                "algorithm.filter_groups.enable=True",
                "algorithm.adv_estimator=grpo",
                "data.train_batch_size=2",
                "actor_rollout_ref.rollout.n=4",
                *overrides,
            ],
        )


def trainer(folder: Path, *overrides: str) -> Any:
    from verl.trainer.ppo.v1 import get_trainer_cls

    groups.register()
    run_settings(folder)
    return get_trainer_cls(groups.TRAINER)(config(*overrides))


def test_verl_finds_our_trainer_by_name(tmp_path: Path) -> None:
    from verl.trainer.ppo.v1 import PPOTrainerSync

    made = trainer(tmp_path)
    assert isinstance(made, PPOTrainerSync)
    assert made.trainer_mode == "sync"
    assert made.parameter_sync_step == 1
    assert type(made.replay_buffer).__name__ == "WholeGroups"
    assert made.replay_buffer.drop_uniform
    assert not trainer(tmp_path, "algorithm.filter_groups.enable=False").replay_buffer.drop_uniform


def test_it_refuses_other_groups_than_the_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="^data.train_batch_size: must be 2"):
        trainer(tmp_path, "data.train_batch_size=4")


def with_actors_log_probs(batch: Any, *, off: float) -> Any:
    """The batch once the actor has computed its own."""
    rows = torch.nested.as_nested_tensor(
        [torch.tensor([-1.0 - off, 5.0, -2.0]) for _ in batch.keys], layout=torch.jagged
    )
    from tensordict import TensorDict

    fields = TensorDict({"old_log_probs": rows}, batch_size=len(batch.keys))
    return tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=fields)


def test_a_steps_figures_go_to_verls_tracker_and_to_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verl.trainer.ppo.v1 import PPOTrainerSync

    asked: list[int] = []

    def theirs(
        self: Any, batch: Any, metrics: Any, timing_raw: Any, global_steps: int, epoch: int
    ) -> None:
        asked.append(global_steps)
        metrics["training/global_step"] = global_steps

    monkeypatch.setattr(PPOTrainerSync, "_compute_metrics", theirs)
    made = trainer(tmp_path)
    player = Player("1111", "10E1", "1000", "0111")
    made.replay_buffer.refill_fn = player.play
    made.replay_buffer.poll_interval = 0.01
    batch = with_actors_log_probs(filled(made.replay_buffer, player), off=0.25)
    metrics: dict[str, Any] = {}
    # As verl's loop calls it.
    made._compute_metrics(batch, metrics, {"gen": 3.0, "step": 4.0}, global_steps=1, epoch=0)
    assert asked == [1]
    assert metrics["training/global_step"] == 1
    for name, value in {
        "groups/tried": 4,
        "groups/useful": 2,
        "groups/all_pass": 1,
        "groups/system_error": 1,
        "refills/total": 2,
        "refills/phase/open": 1,
        "wasted/rollouts": 8,
        "useful_share/predicted": 0.5,
        "useful_share/predicted_for_tried": 0.75,
        "useful_share/seen": pytest.approx(2 / 3),
        "reward/mean": 0.5,
        "pass_rate": pytest.approx(8 / 12),
        "reward/band/intermediate": pytest.approx(8 / 12),
        "parity/differences": 0,
        "seconds/rollout": 3.0,
        "log_probs/difference/max": pytest.approx(0.25),
        "log_probs/difference/mean": pytest.approx(0.125),
        "log_probs/tokens": 16,
    }.items():
        assert metrics[f"outcomebox/{name}"] == value, name
    (row,) = read_steps(tmp_path / "steps.jsonl")
    assert (row["step"], row["run_id"]) == (1, "run")
    assert {f"outcomebox/{name}": value for name, value in row["figures"].items()} == {
        name: value for name, value in metrics.items() if name.startswith("outcomebox/")
    }


def test_padding_and_a_rollout_without_log_probs_are_left_out(tmp_path: Path) -> None:
    from outcomebox.train.groups.trainer import log_prob_difference

    player = Player("1000", "0111")
    batch = with_actors_log_probs(filled(buffer(tmp_path, player), player), off=0.5)
    found = log_prob_difference(batch)
    assert found is not None
    assert (found.highest, found.tokens) == (0.5, 16)
    for tag in batch.tags[1:]:
        tag["is_padding"] = True
    found = log_prob_difference(batch)
    assert found is not None
    assert found.tokens == 2

    empty_store()
    silent = Player("1000", "0111", log_probs=False)
    batch = with_actors_log_probs(filled(buffer(tmp_path, silent), silent), off=0.5)
    assert log_prob_difference(batch) is None


def test_a_validations_system_errors_are_among_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verl.trainer.ppo.v1 import PPOTrainerSync

    made = trainer(tmp_path)
    player = Player("1-E0", "0E11", "1111", "1111", partition="val")
    made.replay_buffer.poll_interval = 0.01

    def theirs(self: Any) -> dict[str, Any]:
        filled(self.replay_buffer, player, partition="val")
        return {"val-core/outcomebox/reward/mean@4": 0.6}

    monkeypatch.setattr(PPOTrainerSync, "_validate", theirs)
    assert made._validate() == {
        "val-core/outcomebox/reward/mean@4": 0.6,
        "outcomebox/validation/system_errors/total": 2,
        "outcomebox/validation/system_errors/phase/open": 2,
    }
    empty_store()
    assert made._validate()["outcomebox/validation/system_errors/total"] == 0
