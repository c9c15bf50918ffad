"""Probing a task only until the decision about it is certain.

The *exact* rule: stop when every way the remaining attempts can end leads to the same keep or drop.
The kept set is then the one that all attempts would have given, by construction. With the default
bands and eight attempts it means "stop at the first mixed prefix", because exactly 1..7 passes of
8 are kept; with other bands it means something else, so the rule is derived from the bands in
force. A stopped task has no band and no pass rate: its k/n depends on when it was stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from outcomebox.selection.bands import BAND_NAMES, DEFAULT_EDGES, DEFAULT_RETAIN
from outcomebox.selection.posterior import band_index, band_masses

Decision = Literal["keep", "drop"]


@lru_cache(maxsize=256)
def _kept_counts(
    attempts: int, edges: tuple[float, ...], retain: tuple[str, ...]
) -> tuple[bool, ...]:
    counts = np.arange(attempts + 1)
    winners = band_index(band_masses(counts, np.full(attempts + 1, attempts), edges))
    return tuple(BAND_NAMES[index] in retain for index in winners)


def settled(
    passes: int,
    failures: int,
    attempts: int,
    edges: Sequence[float] = DEFAULT_EDGES,
    retain: Sequence[str] = DEFAULT_RETAIN,
) -> Decision | None:
    """Says whether the remaining attempts can still change the decision about a task.

    Args:
        passes: clean runs that passed so far.
        failures: clean runs that failed so far.
        attempts: clean runs a full probe has.
        edges: band edges in force.
        retain: names of the bands in force that are kept.

    Returns:
        `keep` or `drop` when the decision is certain, None while it is open.

    Raises:
        ValueError: if a count is negative or there are more runs than attempts.
    """
    if passes < 0 or failures < 0 or passes + failures > attempts:
        raise ValueError(f"{passes} passes and {failures} failures do not fit {attempts} attempts")
    kept = _kept_counts(attempts, tuple(edges), tuple(retain))
    reachable = set(kept[passes : attempts - failures + 1])
    if len(reachable) > 1:
        return None
    return "keep" if True in reachable else "drop"
