"""Values that verl's schema takes and verl itself trips over later, or never notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from outcomebox.train.config.compose import Composed, leaves, pick
from outcomebox.train.config.places import Places
from outcomebox.train.config.words import WORDS

_POSITIVE = (
    "actor_rollout_ref.actor.ppo_epochs",
    "actor_rollout_ref.actor.entropy_from_logits_chunk_size",
    "actor_rollout_ref.rollout.val_kwargs.n",
    "actor_rollout_ref.rollout.agent.num_workers",
    "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes",
    "reward.num_workers",
    "transfer_queue.backend.SimpleStorage.num_data_storage_units",
    "transfer_queue.backend.SimpleStorage.total_storage_size",
)
_SYNC = "actor_rollout_ref.actor.fsdp_config.use_no_sync_for_gradient_accumulation"
_NEEDS_CRITIC = {"gae"}
_UNUSED = {"remax"}


def check_values(composed: Composed, user: Sequence[str], places: Places) -> None:
    """See that every word is one that verl knows, and that types and signs are right.

    Args:
        composed: What verl would run with.
        user: Keys that the user set.
        places: Who set what.

    Raises:
        InputError: The first value that is wrong, with its mend.
    """
    resolved = composed.resolved
    _check_types(composed, user, places)
    _check_words(resolved, places)
    for key in _POSITIVE:
        value = pick(resolved, key)
        if value is not None and (not isinstance(value, int) or value < 1):
            raise places.wrong(key, "must be a whole number, at least 1", value)
    estimator = str(pick(resolved, "algorithm.adv_estimator"))
    if estimator in _NEEDS_CRITIC:
        raise places.wrong(
            "algorithm.adv_estimator",
            "needs a critic, which this trainer does not have; write grpo, rloo or another that "
            "compares the attempts of a group",
            estimator,
        )
    if estimator in _UNUSED:
        raise places.wrong(
            "algorithm.adv_estimator",
            "needs a greedy attempt beside each group, which episodes do not make; write grpo",
            estimator,
        )
    if pick(resolved, _SYNC):
        raise places.wrong(
            _SYNC,
            "keeps whole gradients of every micro-batch on each GPU, which large models do not "
            "survive; leave it out",
            True,
        )
    loss = "actor_rollout_ref.actor.policy_loss"
    if pick(resolved, f"{loss}.loss_mode") == "dro" and not pick(resolved, f"{loss}.dro_beta"):
        raise places.wrong(
            f"{loss}.dro_beta", "must be set for loss_mode=dro; give a number above 0"
        )
    mode = pick(resolved, "trainer.resume_mode")
    if mode == "resume_path":
        path = pick(resolved, "trainer.resume_from_path")
        if not isinstance(path, str) or "global_step_" not in path:
            raise places.wrong(
                "trainer.resume_from_path", "must name a folder global_step_N; name one", path
            )


def _check_types(composed: Composed, user: Sequence[str], places: Places) -> None:
    """What a user sets is of the kind that verl has there."""
    defaults = leaves(composed.defaults)
    given = leaves(composed.resolved)
    for key in user:
        if key not in defaults or defaults[key] is None or key not in given:
            continue
        default, value = defaults[key], given[key]
        if value is None or _alike(default, value):
            continue
        raise places.wrong(
            key, f"must be {_kind(default)}; verl's own default is {default!r}", value
        )


def _alike(default: Any, value: Any) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, int | float):
        return isinstance(value, int | float)
    if isinstance(default, list):
        return isinstance(value, list | str)  # trainer.logger may be one name
    return isinstance(value, type(default))


def _kind(value: Any) -> str:
    kinds: Mapping[type, str] = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "text",
        list: "a list",
        dict: "a mapping",
    }
    return kinds.get(type(value), type(value).__name__)


def _check_words(resolved: Mapping[str, Any], places: Places) -> None:
    for key, words in WORDS.items():
        value = pick(resolved, key)
        if value is None:
            continue
        for each in value if isinstance(value, list) else [value]:
            if each in words:
                continue
            near = get_close_matches(str(each), words, n=1, cutoff=0.75)
            known = ", ".join(words)
            hint = f"did you mean {near[0]}?" if near else f"write one of {known}"
            raise places.wrong(key, f"is no word that verl knows there; {hint}", each)
