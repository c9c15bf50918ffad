"""Seeds: every episode has one of its own, the same in every run with one run seed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable


def episode_seed(run_seed: int, uid: str, repetition: int) -> int:
    """Seed of one attempt: 63 bits of SHA-256 over run seed, uid and repetition.

    Independent of order, concurrency and of how many tries it took.
    """
    digest = hashlib.sha256(f"{run_seed}\0{uid}\0{repetition}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def seeder(run_seed: int) -> Callable[[str, int], int]:
    """:func:`episode_seed` of one run."""
    return lambda uid, repetition: episode_seed(run_seed, uid, repetition)
