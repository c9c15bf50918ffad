"""What a user sets of verl's own keys after ``--``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from outcomebox.sandbox import InputError
from outcomebox.train.config.overrides import Override

COMMAND_LINE = "command line, after --"

_GROUPS = "model_engine"
_IGNORED = {
    "custom_reward_function": "reward.custom_reward_function",
    "reward_model": "reward.reward_model",
    "sandbox_fusion": "reward.sandbox_fusion",
}
"""Sections that verl's schema still has and its V1 trainer does not read -> those it reads."""


def user_keys(given: Sequence[str], own: Sequence[Override]) -> tuple[str, ...]:
    """The keys that a user sets, each of which may be.

    Args:
        given: Overrides as written, such as ``actor_rollout_ref.actor.ppo_epochs=2``.
        own: What the launcher sets.

    Raises:
        InputError: One is no override, takes something away, tries several values, chooses another
            engine, stands where verl does not look, or is the launcher's to set.
    """
    bound = {each.key: each for each in own if each.bound}
    return tuple(_key(text, bound) for text in given)


def _key(text: str, bound: Mapping[str, Override]) -> str:
    if find_spec("hydra") is None:
        raise InputError("needs Hydra: pip install hydra-core", field="--")
    from hydra.core.override_parser.overrides_parser import OverridesParser  # noqa: PLC0415 -- slow
    from hydra.errors import HydraException  # noqa: PLC0415 -- as above

    try:
        found = OverridesParser.create().parse_override(text)
    except HydraException as error:
        told = " ".join(str(error).split())
        raise InputError(
            f"is no override ({told}); write key=value", file=COMMAND_LINE, field=text
        ) from None
    key = found.key_or_group
    if found.is_delete():
        raise InputError(
            "takes away what the launcher or verl needs; set it to a value instead",
            file=COMMAND_LINE,
            field=text,
        )
    if found.is_sweep_override():
        raise InputError(
            "names several values, and a run has one; give one value, or start a run for each",
            file=COMMAND_LINE,
            field=text,
        )
    section = key.split(".", 1)[0]
    if key == _GROUPS or "@" in key or "/" in key or found.package is not None:
        raise InputError(
            "chooses another engine, and the launcher writes settings for FSDP; leave it out",
            file=COMMAND_LINE,
            field=key,
        )
    if section == "hydra":
        raise InputError(
            "is for Hydra, which the launcher steers itself; leave it out",
            file=COMMAND_LINE,
            field=key,
        )
    if section in _IGNORED:
        raise InputError(
            f"is ignored by verl's V1 trainer; write {_IGNORED[section]}{key[len(section) :]}",
            file=COMMAND_LINE,
            field=key,
        )
    for name in (key, *(each for each in bound if each.startswith(f"{key}."))):
        if name in bound:
            raise _owned(key, bound[name])
    return key


def _owned(key: str, override: Override) -> InputError:
    if override.field:
        mend = f"is written by outcomebox-train; set {override.field} in the settings file instead"
    else:
        mend = "is written by outcomebox-train and ties verl to its episodes; leave it out"
    return InputError(mend, file=COMMAND_LINE, field=key)
