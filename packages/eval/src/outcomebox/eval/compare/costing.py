"""What two runs cost, under one list of prices."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from outcomebox.eval.compare.model import CostDifference, Difference
from outcomebox.eval.compare.paired import Floats, smallest_shown
from outcomebox.eval.metrics.cost import basis_of
from outcomebox.eval.metrics.intervals import ONE_TASK, Resampler, percentiles, strata_of, tail_of
from outcomebox.eval.metrics.prices import Prices, same_snapshot
from outcomebox.eval.metrics.resampled import Bootstrap
from outcomebox.eval.metrics.spending import exchanges, spent
from outcomebox.eval.results import Results


def compare_cost(
    runs: tuple[Results, Results],
    names: tuple[str, str],
    pairs: pl.DataFrame,
    prices: Prices | None,
    how: Bootstrap,
) -> CostDifference | None:
    """Compare what two runs cost over the tasks that are pairs.

    Args:
        runs: The run that is compared with, and the one that is compared.
        names: What they are called.
        pairs: The tasks that are in the figures, sorted by uid.
        prices: What tokens cost; without it the costs stand that the sources state.
        how: How the interval is made.

    Returns:
        The difference; None where nothing is known of what either run cost.

    Raises:
        InputError: The runs were priced under different lists.
    """
    tries = [
        spent(run.attempts, exchanges(run.attempts, prices), prices).filter(
            pl.col("uid").is_in(pairs.get_column("uid").implode())
        )
        for run in runs
    ]
    bases = [basis_of(each, prices) for each in tries]
    same_snapshot(dict(zip(names, bases, strict=True)))
    known = [each.get_column("amount") for each in tries]
    if not any(amount.count() for amount in known):
        return None
    money = [_by_task(each, pairs) for each in tries]
    passed = [
        pairs.get_column(f"{side}_passed").to_numpy().astype(np.float64) for side in ("base", "new")
    ]
    campaigns = [None if each is None else float(each.sum()) for each in money]
    return CostDifference(
        basis=bases[0] or bases[1],
        currency=None if prices is None else prices.currency,
        base=campaigns[0],
        new=campaigns[1],
        per_success=_per_success(money, passed, pairs, how),
    )


def _by_task(tries: pl.DataFrame, pairs: pl.DataFrame) -> Floats | None:
    """What each task cost in all its tries; None while one of these is not priced."""
    if tries.get_column("amount").null_count():
        return None
    sums = tries.group_by("uid").agg(pl.col("amount").sum())
    joined = pairs.select("uid").join(sums, on="uid", how="left", maintain_order="left")
    return joined.get_column("amount").fill_null(0.0).to_numpy()


def _per_success(
    money: list[Floats | None], passed: list[Floats], pairs: pl.DataFrame, how: Bootstrap
) -> Difference:
    """The difference of cost a success: two ratios of sums, over the same draws of tasks."""
    means = [
        float(amount.sum() / successes.sum()) if amount is not None and successes.any() else None
        for amount, successes in zip(money, passed, strict=True)
    ]
    strata = strata_of(pairs.get_column("domain").to_list())
    plain: dict[str, Any] = {
        "base": means[0],
        "new": means[1],
        "value": None if means[0] is None or means[1] is None else means[1] - means[0],
        "n": pairs.height,
        "of": pairs.height,
        "estimand": "population of tasks",
        "method": f"bootstrap of tasks within domains, {how.resamples} draws, seed {how.seed}",
    }
    nothing: dict[str, Any] = {"low": None, "high": None, "se": None, "smallest": None}
    if money[0] is None or money[1] is None:
        return Difference(**plain, **nothing, note="the cost of some tries is not known")
    if plain["value"] is None:
        return Difference(**plain, **nothing, note="without a success there is no cost of one")
    if pairs.height < 2:
        return Difference(**plain, **nothing, note=ONE_TASK)
    columns = np.stack([money[0], passed[0], money[1], passed[1]])
    blocks = Resampler(strata, how.seed, how.resamples).blocks()
    totals = np.concatenate([columns @ weights for weights in blocks], axis=1)
    if not totals[[1, 3]].all():
        return Difference(**plain, **nothing, note="in some draws of tasks there is no success")
    draws = totals[2] / totals[3] - totals[0] / totals[1]
    low, high = percentiles(draws[None], tail_of(pairs.height, len(strata), how.level))
    se = float(draws.std())
    return Difference(
        **plain,
        low=float(low[0]),
        high=float(high[0]),
        se=se,
        smallest=smallest_shown(se, how.level) if se else None,
    )
