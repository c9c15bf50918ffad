"""verl's synchronous trainer with our sampler and our log of steps.

It is registered with verl under :data:`~outcomebox.train.groups.TRAINER` when this module is
imported, which :func:`~outcomebox.train.groups.register` has done once verl's own are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import transfer_queue as tq  # pants: no-infer-dep
from verl.trainer.ppo.v1.trainer_base import register_trainer  # pants: no-infer-dep
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync  # pants: no-infer-dep

from outcomebox.train.errors import TrainError
from outcomebox.train.groups import TRAINER
from outcomebox.train.groups.asked import check_asked, drops_uniform
from outcomebox.train.groups.logprobs import Difference, difference
from outcomebox.train.groups.sampler import WholeGroups
from outcomebox.train.groups.stepfigures import (
    PREFIX,
    attempt_figures,
    group_figures,
    step_figures,
)
from outcomebox.train.groups.steplog import StepLog
from outcomebox.train.settings import load_settings

LOG_PROBS = ("rollout_log_probs", "old_log_probs", "response_mask")
"""verl's fields that are compared."""


@register_trainer(TRAINER)
class GroupsTrainer(PPOTrainerSync):  # type: ignore[misc]  # verl has no types
    """Trains on whole groups; see :mod:`outcomebox.train.groups`.

    Args:
        config: verl's whole configuration; ``data.settings_path`` may name the run's settings.

    Raises:
        InputError: The settings cannot be used, or verl was asked for other groups than they name.
    """

    def __init__(self, config: Any) -> None:
        self.settings = load_settings(config.data.get("settings_path"))
        check_asked(config, self.settings)
        self.step_log = StepLog(self.settings.steps)
        super().__init__(config)

    def _build_replay_buffer(self) -> WholeGroups:
        # verl asks in many places whether the mode is "sync"; in all but its name, it is.
        self.trainer_mode = "sync"
        sampler = self.config.trainer.v1.sampler
        return WholeGroups(
            settings=self.settings,
            drop_uniform=drops_uniform(self.config),
            refill_fn=self._add_prompts_to_generate,
            trainer_mode=self.trainer_mode,
            trainer_config=self.config.trainer.v1.get("sync", {}),
            max_off_policy_threshold=sampler.max_off_policy_threshold,
            max_off_policy_strategy=sampler.max_off_policy_strategy,
            sampler_kwargs=sampler.sampler_kwargs,
        )

    def _compute_metrics(
        self, batch: Any, metrics: dict[str, Any], timing_raw: Mapping[str, float], **told: Any
    ) -> None:
        super()._compute_metrics(batch, metrics, timing_raw, **told)
        groups = self.replay_buffer.step_groups
        if groups is None:
            raise TrainError("a step has ended without a batch of whole groups")
        figures = {
            **group_figures(
                groups,
                predicted_share=self.settings.predicted_useful_share,
                mixed_chances=self.settings.pool.mixed_chances,
            ),
            **attempt_figures([each for group in groups.kept for each in group.attempts]),
            **step_figures(timing_raw, log_prob_difference(batch)),
        }
        metrics.update(figures)
        plain = {name.removeprefix(PREFIX): value for name, value in figures.items()}
        self.step_log.write(told["global_steps"], plain, run_id=self.settings.run_id)

    def _validate(self) -> dict[str, Any]:
        faults = self.replay_buffer.validation_faults
        faults.clear()
        figures: dict[str, Any] = super()._validate()
        name = f"{PREFIX}validation/system_errors"
        figures[f"{name}/total"] = sum(faults.values())
        figures |= {f"{name}/phase/{phase}": number for phase, number in sorted(faults.items())}
        return figures


def log_prob_difference(batch: Any) -> Difference | None:
    """How far rollout and actor are apart on a batch; None where the rollout gave nothing.

    Args:
        batch: verl's batch, after the actor computed its log-probabilities.
    """
    pairs = zip(batch.keys, batch.tags, strict=True)
    keys = [key for key, tag in pairs if not tag.get("is_padding", False)]
    data = tq.kv_batch_get(
        keys=keys, partition_id=batch.partition_id, select_fields=list(LOG_PROBS)
    )
    if "rollout_log_probs" not in data:
        return None
    rows = zip(*(data[name].unbind() for name in LOG_PROBS), strict=True)
    return difference(tuple(each.detach().cpu().numpy() for each in row) for row in rows)
