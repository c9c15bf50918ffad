"""How often a group of g attempts at one task holds both a pass and a failure.

Group-relative training (GRPO) learns from mixed groups alone: where all attempts of a group end
alike, every advantage is zero and the group's rollouts are wasted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from outcomebox.selection.posterior import Floats, jeffreys


def mixed_chance(passes: ArrayLike, clean_runs: ArrayLike, group_size: int) -> Floats:
    """Posterior predictive chance that a group is mixed.

    With p ~ Beta(a, b), all g pass with probability E[p^g] = B(a+g, b)/B(a, b) and all fail with
    E[(1-p)^g] = B(a, b+g)/B(a, b); a group is mixed otherwise.

    Args:
        passes: shape (tasks,).
        clean_runs: shape (tasks,).
        group_size: attempts in a group, at least 1.

    Returns:
        Shape (tasks,), each in [0, 1]; 0 for groups of one.

    Raises:
        ValueError: if `group_size` is below 1.
    """
    if group_size < 1:
        raise ValueError(f"a group has at least one attempt, not {group_size}")
    a, b = jeffreys(passes, clean_runs)
    whole = special.betaln(a, b)
    all_pass = np.exp(special.betaln(a + group_size, b) - whole)
    all_fail = np.exp(special.betaln(a, b + group_size) - whole)
    chance: Floats = np.clip(1 - all_pass - all_fail, 0.0, 1.0)
    return chance


def expected_useful_groups(chances: ArrayLike) -> float:
    """Mixed groups to expect when every task of a pool is tried by one group.

    Args:
        chances: shape (tasks,), what `mixed_chance` gave.

    Returns:
        Their sum; divide by the number of tasks for the share of useful groups.
    """
    return float(np.sum(np.asarray(chances, dtype=np.float64)))
