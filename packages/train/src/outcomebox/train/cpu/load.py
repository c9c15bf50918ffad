"""Puts all that a CPU needs in place, in one process of verl."""

from __future__ import annotations


def register() -> None:
    """Register platform and rollout backend, and mend what verl leaves no place for.

    It can be called any number of times.
    """
    # One after the other: verl's own modules ask for the platform while they are imported.
    from outcomebox.train.cpu import platform, processgroup, sharedmemory  # noqa: F401, PLC0415

    processgroup.fix()
    sharedmemory.fix()
    from outcomebox.train.cpu.rollout import register as rollout  # noqa: PLC0415

    rollout.register()
