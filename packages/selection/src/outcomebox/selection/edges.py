"""Other band edges on the same probes: which tasks they would keep, and what those would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outcomebox.selection.bands import BAND_NAMES
from outcomebox.selection.posterior import Floats, band_index, band_masses
from outcomebox.selection.prediction import mixed_share

Mask = NDArray[np.bool_]


def kept_by(
    passes: ArrayLike,
    clean_runs: ArrayLike,
    edges: Sequence[float],
    retain: Sequence[str],
    min_clean_runs: int = 1,
) -> Mask:
    """The tasks whose band, between these edges, is retained.

    Args:
        passes: shape (tasks,).
        clean_runs: shape (tasks,).
        edges: six band edges.
        retain: names of the retained bands.
        min_clean_runs: clean runs that a task needs to have a band.

    Returns:
        Shape (tasks,).
    """
    runs = np.asarray(clean_runs)
    winners = band_index(band_masses(passes, runs, edges))
    retained = np.asarray([name in retain for name in BAND_NAMES])
    found: Mask = retained[winners] & (runs >= min_clean_runs)
    return found


@dataclass(frozen=True, slots=True)
class Choice:
    """What a set of edges keeps, one value a draw; None where it keeps nothing.

    Attributes:
        mixed: shape (draws,), share of mixed groups in its pool.
        useful: shape (draws,), mixed groups when every task of its pool is tried by one group.
        inside: shape (draws,), share of its pool whose true rate is in one of its retained bands.
    """

    mixed: Floats
    useful: Floats
    inside: Floats


def choice(
    rates: Floats, kept: Mask, edges: Sequence[float], retain: Sequence[str], group_size: int
) -> Choice | None:
    """Looks at the pool that a set of edges would make.

    Args:
        rates: shape (draws, tasks), of all probed tasks.
        kept: shape (tasks,), those of the pool.
        edges: the six edges.
        retain: names of the retained bands.
        group_size: attempts in a group.
    """
    if not kept.any():
        return None
    pool = rates[:, kept]
    share = mixed_share(pool, group_size)
    band = np.searchsorted(np.asarray(edges[1:-1]), pool, side="right")
    retained = np.asarray([name in retain for name in BAND_NAMES])
    return Choice(share, share * pool.shape[1], retained[band].mean(axis=-1))
