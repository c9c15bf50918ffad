"""Fills a step's batch with whole groups, in place of verl's own sampler.

verl's sampler trains on groups that lost attempts, unless all of them are lost; it asks for two
groups in place of one without contrast and throws away what is too many; and it never gives up.
This one reads the same store, and keeps :mod:`outcomebox.train.groups.ledger`.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import transfer_queue as tq  # pants: no-infer-dep
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer  # pants: no-infer-dep

from outcomebox.train.errors import BatchUnfilled, TrainError
from outcomebox.train.groups.faults import PARTITION, faults_of, keys_of
from outcomebox.train.groups.judging import UNREPORTED, Attempt, Group, Kind, judge
from outcomebox.train.groups.ledger import Ledger, StepGroups, phases
from outcomebox.train.settings import WorkerSettings
from outcomebox.train.verl.reward import DETAILS

TRAIN = "train"
"""verl's partition of trajectories to train on; the other one is for validation."""

logger = logging.getLogger(__name__)


class WholeGroups(ReplayBuffer):  # type: ignore[misc]  # verl has no types
    """verl's replay buffer for synchronous training, with our rules.

    Args:
        settings: The run's settings: sizes and bounds.
        drop_uniform: Whether groups without contrast are dropped.
        refill_fn: Submits a number of fresh prompts.
        poll_interval: Seconds between two looks at the store.
        **others: What verl's class wants besides.

    Attributes:
        step_groups: The books of the newest step; None before the first.
        validation_faults: Validation attempts without a verdict by phase, since it was cleared.
    """

    def __init__(
        self,
        *,
        settings: WorkerSettings,
        drop_uniform: bool,
        refill_fn: Callable[[int], Any],
        poll_interval: float = 2.0,
        **others: Any,
    ) -> None:
        super().__init__(refill_fn=refill_fn, poll_interval=poll_interval, **others)
        self.settings = settings
        self.drop_uniform = drop_uniform
        self.step_groups: StepGroups | None = None
        self.validation_faults: Counter[str] = Counter()

    def sample(
        self, global_steps: int, partition_id: str, batch_size: int
    ) -> tuple[Any, dict[str, float]]:
        """Wait until a batch is filled.

        Args:
            global_steps: The step, for messages.
            partition_id: verl's partition.
            batch_size: Groups of the batch.

        Returns:
            verl's batch, which holds all attempts of ``batch_size`` whole groups, and figures
            under verl's own names.

        Raises:
            BatchUnfilled: The bounds do not allow to go on.
            TrainError: What stands in the store cannot be.
        """
        if partition_id != TRAIN:
            return self._sample_validation(global_steps, partition_id, batch_size)
        ledger = Ledger(
            batch_size,
            max_rounds=self.settings.refill.max_rounds,
            max_dropped=self.settings.refill.max_wasted_groups,
            drop_uniform=self.drop_uniform,
        )
        told = time.time()
        heard = time.monotonic()
        while True:
            self._sync_metadata_from_transfer_queue()
            ended = self.finished_keys[TRAIN] | self.failure_keys[TRAIN]
            ledger.see(ended | self.pending_keys[TRAIN] | self.running_keys[TRAIN])
            news = ended - ledger.kept_uids
            dropped = [group for group in self._judged(news) if not ledger.settle(group)]
            for group in dropped:
                logger.info("step %d: %s", global_steps, _dropped(group))
            self._clear(TRAIN, [each.uid for each in dropped])
            if news:
                heard = time.monotonic()
            if more := ledger.refill():
                self.refill_fn(more)
            elif ledger.full:
                break
            elif not news:
                if time.monotonic() - heard > self.settings.refill.max_silence_s:
                    raise self._silent()
                told = self._wait_for_next_poll(TRAIN, told)
        groups = self.step_groups = ledger.close()
        batch = self._materialize_batch(
            TRAIN, [each.uid for each in groups.kept], dict(self.partitions[TRAIN])
        )
        uniform = sum(each.kind.is_uniform for each in groups.dropped)
        return batch, {
            "training/filter_groups/evicted_samples": uniform,
            "training/rollout_failure/evicted_samples": len(groups.dropped) - uniform,
        }

    def _silent(self) -> BatchUnfilled:
        """No group has ended for too long: nobody will end those that are under way."""
        return BatchUnfilled(
            {"under_way": len(self.pending_keys[TRAIN] | self.running_keys[TRAIN])},
            f"no group has ended for {self.settings.refill.max_silence_s} s; see whether agent "
            "loops and rollout servers live, and resume, or raise groups.max_silence",
        )

    def _judged(self, uids: Iterable[str]) -> list[Group]:
        """Judge groups whose attempts have all ended, in the order of their names."""
        wanted = sorted(uids)
        keys: dict[str, list[str]] = {uid: [] for uid in wanted}
        for key in self.partitions[TRAIN]:
            uid = key.split("_")[0]
            if uid in keys:
                keys[uid].append(key)
        notes = self.partitions[PARTITION]
        return [
            judge(
                uid,
                size=self.settings.group_size,
                attempts=_attempts(keys[uid]),
                faults=faults_of(uid, notes),
                failed=uid in self.failure_keys[TRAIN],
            )
            for uid in wanted
        ]

    def _clear(self, partition_id: str, uids: list[str]) -> None:
        """Take groups, their attempts and the notes about them out of the store."""
        self._clear_groups(partition_id, set(uids))
        notes = keys_of(uids, self.partitions[PARTITION])
        if notes:
            tq.kv_clear(partition_id=PARTITION, keys=notes)

    def _sample_validation(
        self, global_steps: int, partition_id: str, batch_size: int
    ) -> tuple[Any, dict[str, float]]:
        """As verl does it: every attempt with a verdict counts; those without are counted apart."""
        batch, figures = super().sample(global_steps, partition_id, batch_size)
        notes = self.partitions[PARTITION]
        self.validation_faults.update(str(note["phase"]) for note in notes.values())
        if notes:
            tq.kv_clear(partition_id=PARTITION, keys=list(notes))
        if not batch.keys:
            raise BatchUnfilled(
                {f"system_error in {name}": n for name, n in self.validation_faults.items()},
                "no validation attempt has a verdict; mend what failed and resume",
            )
        return batch, figures


def _attempts(keys: list[str]) -> list[Attempt]:
    """The attempts of a group; one that began its prompt anew has several trajectories."""
    last: dict[int, tuple[int, str]] = {}
    for key in keys:
        session, number = (int(each) for each in key.rsplit("_", 2)[1:])
        last[session] = max(last.get(session, (-1, "")), (number, key))
    chosen = [key for _, key in last.values()]
    if not chosen:
        return []
    data = tq.kv_batch_get(
        keys=chosen, partition_id=TRAIN, select_fields=["rm_scores", "extra_fields"]
    )
    found = []
    for attempt, key, scores, extra in zip(
        last, chosen, data["rm_scores"], data["extra_fields"], strict=True
    ):
        plain = getattr(extra, "data", extra)
        figures = plain.get(DETAILS) if isinstance(plain, dict) else None
        if figures is None:
            raise TrainError(f"trajectory {key} has no figures of outcomebox's agent loop")
        score = float(scores.sum())
        if score != (figures["outcome"] == "passed"):
            raise TrainError(
                f"trajectory {key} has the reward {score}, and its verdict is {figures['outcome']}"
            )
        found.append(Attempt(attempt, score, figures))
    return found


def _dropped(group: Group) -> str:
    """A line for the log about a group that is thrown away."""
    if group.kind is not Kind.SYSTEM_ERROR:
        return f"group of {group.task} dropped: {group.kind}"
    said = next((each.message for each in group.faults if each.message), UNREPORTED)
    return f"group of {group.task} dropped: system error in {', '.join(phases(group))}: {said}"
