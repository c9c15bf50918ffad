"""How uneven chance makes things: errors dealt to groups at random, given all totals.

The numbers by group then follow the multivariate hypergeometric law; its tails are taken by seeded
draws, p = (1 + as extreme) / (1 + draws), which is never 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from outcomebox.selection.posterior import Floats

Ints = NDArray[np.int64]

_RESAMPLES, _FEWEST_RESAMPLES, _WORK = 9_999, 999, 20_000_000
_CHUNK = 1_000_000


def holm(values: Sequence[float]) -> list[float]:
    """P-values corrected by Holm's method, in the order given."""
    order = np.argsort(values, kind="stable")
    corrected, worst = [1.0] * len(values), 0.0
    for rank, place in enumerate(order):
        worst = max(worst, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = worst
    return corrected


def dealt(sizes: Ints, errors: int, rng: np.random.Generator, draws: int) -> list[Ints]:
    """Deals errors to groups at random, given their sizes.

    Args:
        sizes: shape (groups,).
        errors: how many there are to deal.
        rng: where chance comes from.
        draws: how often.

    Returns:
        Parts of shape (some draws, groups), `draws` in all.
    """
    part = max(1, _CHUNK // max(1, sizes.size))
    return [
        rng.multivariate_hypergeometric(
            sizes, errors, size=min(part, draws - start), method="marginals"
        )
        for start in range(0, draws, part)
    ]


def spread(errors: ArrayLike, expected: ArrayLike) -> Floats:
    """How uneven errors by group are: the likelihood-ratio statistic, 2 sum O ln(O / E).

    Pearson's would let one error in a group that hardly expects any outweigh everything else.
    """
    parts = special.rel_entr(np.asarray(errors, np.float64), np.asarray(expected, np.float64))
    found: Floats = 2 * parts.sum(axis=-1)
    return found


def groups_p(
    errors: Ints, sizes: Ints, strata: Ints, rng: np.random.Generator, score: Floats | None = None
) -> tuple[float, float | None]:
    """How likely chance spreads errors over groups as unevenly, within strata.

    Args:
        errors: shape (groups,).
        sizes: shape (groups,).
        strata: shape (groups,), which stratum a group is in: errors are dealt within each.
        rng: where chance comes from.
        score: shape (groups,), NaN where there is none; then also how likely the errors' mean
            score is as far from what chance gives, on either side.

    Returns:
        Both p-values; the second None without scores.
    """
    draws = max(_FEWEST_RESAMPLES, min(_RESAMPLES, _WORK // max(1, sizes.size)))
    uneven, total = np.zeros(draws), np.zeros(draws)
    uneven_seen, total_seen, centre = 0.0, 0.0, 0.0
    known = None if score is None else np.nan_to_num(score)
    for stratum in np.unique(strata):
        here = strata == stratum
        n, e = sizes[here], int(errors[here].sum())
        expected = e * n / n.sum()
        uneven_seen += float(spread(errors[here], expected))
        parts = dealt(n, e, rng, draws)
        uneven += np.concatenate([spread(part, expected) for part in parts])
        if known is not None:
            total_seen += float(errors[here] @ known[here])
            centre += float(expected @ known[here])
            total += np.concatenate([part @ known[here] for part in parts])
    tie = 1e-9
    p = (1 + int((uneven >= uneven_seen - tie).sum())) / (1 + draws)
    if known is None:
        return p, None
    far = np.abs(total - centre) >= abs(total_seen - centre) - tie
    return p, (1 + int(far.sum())) / (1 + draws)
