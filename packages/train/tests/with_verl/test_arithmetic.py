"""GRPO's arithmetic on small arrays: verl's own functions against sums done here.

The expectations are written from the formulas, with numpy: the advantage of an attempt is its
reward less the mean of its group, over the group's standard deviation (with n - 1) where asked for
(Shao et al. 2024, DeepSeekMath, eq. in 4.1; without the division Liu et al. 2025, "Dr. GRPO").
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch  # pants: no-infer-dep
from hypothesis import given, settings
from hypothesis import strategies as st
from verl.protocol import DataProto  # pants: no-infer-dep
from verl.trainer.ppo.core_algos import (  # pants: no-infer-dep
    agg_loss,
    compute_grpo_outcome_advantage,
    get_policy_loss_fn,
)
from verl.trainer.ppo.v1.utils import (  # pants: no-infer-dep
    compute_advantage_for_multi_trajectories,
)
from verl.workers.config import ActorConfig  # pants: no-infer-dep

EPSILON = 1e-6
LENGTH = 5
settings.register_profile("torch", deadline=None, derandomize=True)
settings.load_profile("torch")

Groups = list[list[float]]
GROUPS = st.lists(
    st.lists(st.sampled_from([0.0, 1.0]), min_size=4, max_size=4), min_size=1, max_size=5
)


def wanted(groups: Groups, *, by_deviation: bool) -> np.ndarray:
    """The advantage of each attempt, groups one behind the other."""
    found = []
    for group in groups:
        scores = np.array(group)
        centred = scores - scores.mean()
        found.append(centred / (scores.std(ddof=1) + EPSILON) if by_deviation else centred)
    return np.concatenate(found)


def rows_of(groups: Groups) -> tuple[torch.Tensor, torch.Tensor, np.ndarray]:
    """Rewards at the last token that counts, masks and group names, as verl has them.

    Every third token, and the end of every second row, is not the model's.
    """
    scores = [score for group in groups for score in group]
    mask = torch.ones(len(scores), LENGTH)
    mask[:, 2] = 0
    mask[1::2, 4] = 0
    rewards = torch.zeros(len(scores), LENGTH)
    rewards[:, -1] = torch.tensor(scores)
    names = [f"g{number}" for number, group in enumerate(groups) for _ in group]
    return rewards, mask, np.array(names, dtype=object)


def advantages(groups: Groups, *, by_deviation: bool = True) -> torch.Tensor:
    rewards, mask, names = rows_of(groups)
    found, _ = compute_grpo_outcome_advantage(
        rewards, mask, names, norm_adv_by_std_in_grpo=by_deviation
    )
    return found


def test_an_advantage_by_hand() -> None:
    found = advantages([[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]], by_deviation=False)
    assert found[:, 0].tolist() == [0.5, -0.5, 0.5, -0.5, 0.75, -0.25, -0.25, -0.25]
    # The deviation of (1, 0, 0, 0) with n - 1 is one half.
    assert advantages([[1.0, 0.0, 0.0, 0.0]])[:, 0].tolist() == pytest.approx(
        [1.5, -0.5, -0.5, -0.5], rel=1e-4
    )


@pytest.mark.parametrize("by_deviation", [True, False])
@given(groups=GROUPS)
def test_advantages_are_centred_in_their_group(groups: Groups, by_deviation: bool) -> None:
    found = advantages(groups, by_deviation=by_deviation)
    np.testing.assert_allclose(
        found[:, 0].numpy(), wanted(groups, by_deviation=by_deviation), rtol=1e-4, atol=1e-6
    )
    sums = found[:, 0].reshape(len(groups), 4).sum(dim=1)
    np.testing.assert_allclose(sums.numpy(), 0, atol=1e-5)


@given(groups=GROUPS)
def test_a_token_that_is_not_the_models_has_no_advantage(groups: Groups) -> None:
    _, mask, _ = rows_of(groups)
    found = advantages(groups)
    assert not found[mask == 0].any()
    for row, own in zip(found, mask, strict=True):
        assert len(set(row[own == 1].tolist())) == 1


@pytest.mark.parametrize("score", [0.0, 1.0])
@pytest.mark.parametrize("by_deviation", [True, False])
def test_a_group_that_ends_alike_has_no_advantage(score: float, by_deviation: bool) -> None:
    assert not advantages([[score] * 4], by_deviation=by_deviation).any()


@given(groups=GROUPS, order=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(groups: Groups, order: Any) -> None:
    rewards, mask, names = rows_of(groups)
    places = list(range(len(names)))
    order.shuffle(places)
    found, _ = compute_grpo_outcome_advantage(rewards[places], mask[places], names[places])
    torch.testing.assert_close(found, advantages(groups)[places], rtol=1e-5, atol=1e-6)


def test_a_group_that_lost_attempts_would_teach_something_else() -> None:
    """Why a partial group is never trained on."""
    whole = advantages([[1.0, 0.0, 0.0, 0.0]], by_deviation=False)
    lost_failures = advantages([[1.0, 0.0]], by_deviation=False)
    assert whole[0, 0] == 0.75
    assert lost_failures[0, 0] == 0.5
    # The only attempt left of a group is not compared at all: it gets its bare reward.
    assert advantages([[1.0]])[0, 0].item() == pytest.approx(1.0, rel=1e-4)
    # And one that lost its only success teaches nothing.
    assert not advantages([[0.0, 0.0, 0.0]]).any()


def test_the_last_of_an_attempts_trajectories_gives_all_of_them_its_advantage() -> None:
    rewards, mask, names = rows_of([[1.0, 0.0, 0.0]])
    data = DataProto.from_single_dict(
        {
            "token_level_rewards": rewards,
            "response_mask": mask,
            "uid": np.array(["g", "g", "g"], dtype=object),
        }
    )
    # The attempt 0 has two trajectories, the first of which is not looked at.
    found = compute_advantage_for_multi_trajectories(
        data, ["g_0_0", "g_0_1", "g_1_0"], "grpo", norm_adv_by_std_in_grpo=False, num_repeat=2
    )
    assert not found.batch["advantages"].any()
    other = DataProto.from_single_dict(
        {"token_level_rewards": rewards.flip(0), "response_mask": mask, "uid": names}
    )
    found = compute_advantage_for_multi_trajectories(
        other, ["g_0_0", "g_0_1", "g_1_0"], "grpo", norm_adv_by_std_in_grpo=False, num_repeat=2
    )
    assert found.batch["advantages"][:, 0].tolist() == [-0.5, -0.5, 0.5]


def test_the_mean_over_tokens_weighs_long_attempts_more() -> None:
    losses = torch.tensor([[4.0, 9.0, 9.0], [1.0, 1.0, 1.0]])
    mask = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert agg_loss(losses, mask, "token-mean").item() == pytest.approx(7 / 4)
    assert agg_loss(losses, mask, "seq-mean-token-mean").item() == pytest.approx((4 + 1) / 2)
    assert agg_loss(losses, mask, "seq-mean-token-sum").item() == pytest.approx((4 + 3) / 2)


def test_an_attempt_without_a_token_counts_nowhere() -> None:
    losses = torch.tensor([[4.0, 2.0], [7.0, 7.0]])
    mask = torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    for mode in ("token-mean", "seq-mean-token-mean"):
        assert agg_loss(losses, mask, mode).item() == pytest.approx(3.0)


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 99))
def test_the_mean_over_tokens_is_one_over_ranks_and_micro_batches(
    ranks: int, micro_batches: int, seed: int
) -> None:
    """What FSDP averages over ranks, and micro-batches add up, is the mean over all tokens."""
    rows = 2
    draw = np.random.default_rng(seed)
    shape = (ranks, micro_batches, rows, LENGTH)
    losses = torch.tensor(draw.normal(size=shape))
    mask = torch.tensor(draw.integers(0, 2, size=shape).astype(float))
    mask[..., 0] = 1
    tokens = int(mask.sum())
    parts = [
        agg_loss(
            losses[rank, part],
            mask[rank, part],
            "token-mean",
            dp_size=ranks,
            batch_num_tokens=tokens,
        )
        for rank in range(ranks)
        for part in range(micro_batches)
    ]
    assert float(sum(parts)) / ranks == pytest.approx(float((losses * mask).sum()) / tokens)


def gradient(groups: Groups, mode: str = "token-mean") -> torch.Tensor:
    """Gradient of verl's policy loss in each token's log-probability, at the old policy."""
    _, mask, _ = rows_of(groups)
    old = torch.full(mask.shape, -1.0)
    new = old.clone().requires_grad_()
    actor = ActorConfig(strategy="fsdp2", rollout_n=4, ppo_micro_batch_size_per_gpu=1)
    loss, _ = get_policy_loss_fn("vanilla")(
        old, new, advantages(groups), mask, loss_agg_mode=mode, config=actor
    )
    loss.backward()
    assert new.grad is not None
    return new.grad


@given(groups=GROUPS)
def test_only_the_models_tokens_get_a_gradient(groups: Groups) -> None:
    _, mask, _ = rows_of(groups)
    found = gradient(groups)
    assert not found[mask == 0].any()
    # At the old policy it is the advantage's negative, shared over all tokens.
    torch.testing.assert_close(found, -advantages(groups) * mask / mask.sum())


def test_a_gradient_of_the_mean_over_attempts_is_shared_in_each() -> None:
    groups = [[1.0, 0.0, 0.0, 0.0]]
    _, mask, _ = rows_of(groups)
    found = gradient(groups, "seq-mean-token-mean")
    share = mask / mask.sum(dim=1, keepdim=True) / len(mask)
    torch.testing.assert_close(found, -advantages(groups) * share)


@given(groups=GROUPS, score=st.sampled_from([0.0, 1.0]))
def test_a_group_without_contrast_only_thins_the_others(groups: Groups, score: float) -> None:
    """Why such groups are dropped: no gradient of their own, and a smaller one for the rest."""
    _, mask, _ = rows_of(groups)
    _, more, _ = rows_of([*groups, [score] * 4])
    alone, together = gradient(groups), gradient([*groups, [score] * 4])
    assert not together[len(alone) :].any()
    torch.testing.assert_close(together[: len(alone)], alone * mask.sum() / more.sum())
