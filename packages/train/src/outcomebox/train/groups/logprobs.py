"""How far the rollout's log-probabilities are from the actor's, token by token.

Both are of the same ids under the same weights, computed by two programs. What is far apart tells
that the two do not compute the same model: weights not synced, another prompt, another position.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from outcomebox.train.errors import TrainError


@dataclass(frozen=True, slots=True)
class Difference:
    """Absolute differences of log-probabilities, in nats, over the tokens that the model wrote.

    Attributes:
        highest: The largest.
        mean: Their mean.
        tokens: How many there are.
    """

    highest: float
    mean: float
    tokens: int


def difference(rows: Iterable[tuple[ArrayLike, ArrayLike, ArrayLike]]) -> Difference | None:
    """The differences of a batch.

    Args:
        rows: For each trajectory the rollout's log-probabilities, the actor's, and the mask of
            tokens that the model wrote, each of shape (tokens of the response,).

    Returns:
        None if no token was written.

    Raises:
        TrainError: The shapes differ, or a difference is not a number.
    """
    found = []
    for rollout, actor, mask in rows:
        ours, theirs = np.asarray(rollout, dtype=float), np.asarray(actor, dtype=float)
        written = np.asarray(mask).astype(bool)
        if not ours.shape == theirs.shape == written.shape:
            raise TrainError(
                f"log-probabilities of the rollout {ours.shape}, of the actor {theirs.shape} and "
                f"the mask {written.shape} are not of one length"
            )
        found.append(np.abs(ours - theirs)[written])
    apart = np.concatenate(found) if found else np.zeros(0)
    if not apart.size:
        return None
    if not np.isfinite(apart).all():
        raise TrainError("a log-probability of the rollout or of the actor is not a finite number")
    return Difference(float(apart.max()), float(apart.mean()), int(apart.size))
