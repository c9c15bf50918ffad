"""Profiles: whose reading of a format is wanted.

Parsers disagree about the same output. A profile is one of their readings, with its release;
`strict` is our own.
"""

from functools import cache
from importlib import import_module

from outcomebox.interpret.formats.base import Format
from outcomebox.interpret.profiles.base import Profile, Reading

_MODULES = {
    "strict": "strict.profile",
    "vllm-0.24": "profiles.vllm",
    "vllm-0.24-stream": "profiles.vllm",
    "vllm-0.32": "profiles.vllm",
    "vllm-0.32-stream": "profiles.vllm",
    "sglang-0.5": "profiles.sglang",
    "sglang-0.5-stream": "profiles.sglang",
    "verl-0.9": "profiles.verl",
}
"""Name of a profile -> the module of this package whose `PROFILES` holds it."""

PROFILE_NAMES = tuple(_MODULES)
"""The names of all profiles."""


@cache
def profile_named(name: str) -> Profile:
    """Return the profile of that name.

    Raises:
        ValueError: The name is unknown; the message lists the known ones.
    """
    if name not in _MODULES:
        known = ", ".join(sorted(_MODULES))
        raise ValueError(f"profile {name!r} is unknown; use one of: {known}")
    module = import_module(f"outcomebox.interpret.{_MODULES[name]}")
    profiles: dict[str, Profile] = module.PROFILES
    return profiles[name]


def reading_of(profile: Profile, format: Format) -> Reading:  # noqa: A002 - the users' word
    """Return how a profile reads a format.

    Raises:
        ValueError: It has no reading of that format; the message lists those it has.
    """
    try:
        return profile.readings[format.name]
    except KeyError:
        known = ", ".join(sorted(profile.readings))
        raise ValueError(
            f"profile {profile.name!r} has no reading of format {format.name!r}; it reads: {known}"
        ) from None
