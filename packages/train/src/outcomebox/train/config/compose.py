"""verl's own schema, composed without importing verl: no torch, no GPU, under a second.

The schema is YAML in verl's package, and Hydra does with it what ``python -m
verl.trainer.main_ppo`` would do: a key that is none is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from outcomebox.sandbox import InputError
from outcomebox.train.config.command_line import COMMAND_LINE
from outcomebox.train.config.verlsource import VerlSource

ENTRY = "ppo_trainer"
"""Name of verl's top-level configuration."""


@dataclass(frozen=True)
class Composed:
    """What verl would run with.

    Attributes:
        verl: verl's version.
        resolved: Every setting, interpolations filled in.
        defaults: The same without any override.
    """

    verl: str
    resolved: dict[str, Any]
    defaults: dict[str, Any]


def compose(overrides: Sequence[str], source: VerlSource, *, said: Sequence[str] = ()) -> Composed:
    """Compose verl's configuration.

    Args:
        overrides: All overrides, as Hydra's command line has them.
        source: Where verl is.
        said: Those of them that a user wrote, for messages.

    Raises:
        InputError: A key or value does not fit its schema.
    """
    try:
        from hydra import compose as hydra_compose  # noqa: PLC0415 -- not for every command
        from hydra import initialize_config_dir  # noqa: PLC0415
        from hydra.errors import HydraException  # noqa: PLC0415
        from omegaconf import OmegaConf  # noqa: PLC0415
        from omegaconf.errors import OmegaConfBaseException  # noqa: PLC0415
    except ImportError:
        raise InputError(
            "is not installed; pip install outcomebox-train", field="hydra-core"
        ) from None
    with initialize_config_dir(str(source.schema), version_base=None):
        # What verl itself leaves open ("???") is filled in by the launcher.
        plain = hydra_compose(ENTRY, overrides=["actor_rollout_ref.rollout.name=vllm"])
        defaults = OmegaConf.to_container(plain, resolve=True)
        try:
            made = hydra_compose(ENTRY, overrides=list(overrides))
            resolved = OmegaConf.to_container(made, resolve=True)
        except (HydraException, OmegaConfBaseException) as error:
            raise _refused(error, defaults, said, source.version) from None
    return Composed(source.version, _mapping(resolved), _mapping(defaults))


def _refused(error: Exception, defaults: Any, said: Sequence[str], version: str) -> InputError:
    told = " ".join(str(error).split())
    match = re.search(r"Could not override '([^']*)'", told)
    key = match[1] if match else ""
    who = [text for text in said if key and text.lstrip("+~").startswith(key)]
    place = COMMAND_LINE if who else f"verl {version}"
    if not key:
        return InputError(f"verl's schema refuses it ({told}); mend the value", file=place)
    near = get_close_matches(key, leaves(defaults), n=1)
    hint = f"did you mean {near[0]}?" if near else "see verl's documentation for its keys"
    return InputError(f"is no key of verl {version}; {hint}", file=place, field=key)


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"verl's configuration is no mapping but {type(value).__name__}")
    return {str(name): each for name, each in value.items()}


def leaves(values: Any, prefix: str = "") -> dict[str, Any]:
    """Every setting by its dotted name; empty mappings count as one."""
    if not isinstance(values, dict) or not values:
        return {prefix: values}
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= leaves(value, f"{prefix}.{name}" if prefix else str(name))
    return found


def pick(values: Any, key: str) -> Any:
    """A setting by its dotted name; None where it is not there."""
    for part in key.split("."):
        if not isinstance(values, dict):
            return None
        values = values.get(part)
    return values
