"""The policies that come with the package, and how others are found.

An installed package offers more through the entry point group ``outcomebox.policies``: the value is
a callable that takes the options as keyword arguments of strings and returns a policy.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from outcomebox.rollout.policies.golden import GoldenPolicy
from outcomebox.rollout.policies.noop import NoopPolicy
from outcomebox.rollout.policies.openai import openai_policy
from outcomebox.rollout.policies.replay import replay_policy
from outcomebox.rollout.policies.simulated import simulated_policy
from outcomebox.rollout.policy import Policy
from outcomebox.sandbox import InputError

BUILT_IN: Mapping[str, Callable[..., Policy]] = {
    "golden": GoldenPolicy,
    "noop": NoopPolicy,
    "openai": openai_policy,
    "replay": replay_policy,
    "simulated": simulated_policy,
}
_GROUP = "outcomebox.policies"


def policy_names() -> list[str]:
    """All policies that can be made here, sorted."""
    return sorted({*BUILT_IN, *(point.name for point in entry_points(group=_GROUP))})


def make_policy(name: str, options: Mapping[str, str] | None = None) -> Policy:
    """A policy by name.

    Args:
        name: A built-in one, or one that an installed package offers.
        options: Its settings, as text.

    Raises:
        InputError: There is no such policy, or it does not take these options.
    """
    factory = BUILT_IN.get(name)
    if factory is None:
        for point in entry_points(group=_GROUP, name=name):
            factory = point.load()
            break
        else:
            raise InputError(
                f"no such policy; there are {', '.join(policy_names())}", field="policy", value=name
            )
    parameters = inspect.signature(factory).parameters
    for option in options or {}:
        if option not in parameters:
            takes = ", ".join(parameters) or "none"
            raise InputError(
                f"policy {name} has no option {option}; its options: {takes}",
                field="policy-option",
                value=option,
            )
    for parameter in parameters.values():
        if parameter.default is parameter.empty and parameter.name not in (options or {}):
            raise InputError(
                f"policy {name} needs the option {parameter.name}; give "
                f"--policy-option {parameter.name}=...",
                field="policy-option",
            )
    return factory(**(options or {}))
