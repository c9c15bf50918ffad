"""Other band edges on the same probes: which tasks they would keep, and what those would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outcomebox.selection.bands import BAND_NAMES, make_bands
from outcomebox.selection.posterior import Floats, band_index, band_masses
from outcomebox.selection.prediction import mixed_share

Mask = NDArray[np.bool_]


def parse_edges(text: str) -> list[float]:
    """Band edges as a flag gives them: all six, or the four between 0 and 1.

    Raises:
        ValueError: it is no list of numbers, or of another length.
    """
    numbers = [float(part) for part in text.split(",")]
    if len(numbers) == len(BAND_NAMES) - 1:
        numbers = [0.0, *numbers, 1.0]
    make_bands(numbers)
    return numbers


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
    """What a set of edges keeps, one value a draw.

    Attributes:
        mixed: shape (draws,), share of mixed groups in its pool.
        inside: shape (draws,), share of its pool whose true rate is in one of its retained bands.
    """

    mixed: Floats
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

    Returns:
        None where it keeps nothing.
    """
    if not kept.any():
        return None
    pool = rates[:, kept]
    band = np.searchsorted(np.asarray(edges[1:-1]), pool, side="right")
    retained = np.asarray([name in retain for name in BAND_NAMES])
    return Choice(mixed_share(pool, group_size), retained[band].mean(axis=-1))
