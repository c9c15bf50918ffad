"""What each try cost, and what its tokens were: all tries, all roles.

Cached tokens are part of a role's input, reasoning tokens part of its output: neither is added to
it again. A try is priced when every model that it asked is: with tokens that nobody counted, or a
model without a price, its cost is null, never 0. A try cost 0 only where no model was asked: its
policy says that it is simulated, and no role counted tokens.
"""

from __future__ import annotations

import json

import polars as pl

from outcomebox.eval.metrics.prices import Prices
from outcomebox.sandbox.errors import InputError

MILLION = 1_000_000
TOKENS = ("input", "cached", "output", "reasoning")


def exchanges(attempts: pl.DataFrame, prices: Prices | None) -> pl.DataFrame:
    """One row a try and role that asked a model.

    Args:
        attempts: One row a try (:data:`outcomebox.eval.results.ATTEMPTS`).
        prices: What tokens cost.

    Returns:
        ``place`` (the try's row), ``role``, ``model``, ``input``, ``cached``, ``output``,
        ``reasoning``, and ``amount``, null where it is not known. Where nobody tells the cached
        tokens, the whole input is at its full price.

    Raises:
        InputError: Tokens are below 0, cached ones more than the input, or reasoning ones more than
            the output.
    """
    rows = (
        attempts.select("usage")
        .with_row_index("place")
        .filter(pl.col("usage").list.len() > 0)
        .explode("usage")
        .unnest("usage")
    )
    _check(rows, attempts)
    if prices is None:
        return rows.with_columns(amount=pl.lit(None, dtype=pl.Float64))
    asked = rows.select("model", "role").unique(maintain_order=True)
    found = [prices.price(model, role) for model, role in asked.iter_rows()]
    priced = asked.with_columns(
        pl.Series(f"{name}_price", [price and getattr(price, name) for price in found], pl.Float64)
        for name in ("input", "cached", "output")
    )
    cached = pl.col("cached").fill_null(0)
    return (
        rows.join(priced, on=["model", "role"], how="left", nulls_equal=True, maintain_order="left")
        .with_columns(
            amount=(
                (pl.col("input") - cached) * pl.col("input_price")
                + cached * pl.col("cached_price")
                + pl.col("output") * pl.col("output_price")
            )
            / MILLION
        )
        .drop("input_price", "cached_price", "output_price")
    )


def spent(attempts: pl.DataFrame, rows: pl.DataFrame, prices: Prices | None) -> pl.DataFrame:
    """Tokens and cost of each try.

    Args:
        attempts: One row a try.
        rows: Its :func:`exchanges`.
        prices: What tokens cost; without, the cost that the source states stands.

    Returns:
        The attempts with ``tokens``, ``input_tokens``, ``cached_tokens``, ``output_tokens``,
        ``reasoning_tokens`` (over all roles) and ``amount``, each null where it is not known.
    """
    names = [*TOKENS, "amount"]
    # A sum is not known while one of its parts is not.
    sums = [
        pl.when(pl.col(name).is_null().any()).then(None).otherwise(pl.col(name).sum()).alias(name)
        for name in names
    ]
    by_try = rows.group_by("place").agg(sums)
    nothing = (pl.col("usage").list.len() == 0) & _simulated(attempts)
    joined = (
        attempts.with_row_index("place")
        .join(by_try, on="place", how="left", maintain_order="left")
        .with_columns(
            pl.when(nothing).then(0).otherwise(pl.col(name)).alias(name) for name in names
        )
    )
    return joined.with_columns(
        tokens=pl.col("input") + pl.col("output"),
        **{f"{name}_tokens": pl.col(name) for name in TOKENS},
        amount=pl.col("cost") if prices is None else pl.col("amount"),
    ).drop("place", *TOKENS)


def _simulated(attempts: pl.DataFrame) -> pl.Expr:
    """Whether the policy of a try says that it is simulated."""
    policies = attempts.get_column("policy").drop_nulls().unique()
    simulated = [told for told in policies if _says_simulated(told)]
    return pl.col("policy").is_in(simulated).fill_null(value=False)


def _says_simulated(policy: str) -> bool:
    try:
        told = json.loads(policy)
    except ValueError:  # a table may call it by a plain name
        return False
    return isinstance(told, dict) and told.get("simulated") is True


def _check(rows: pl.DataFrame, attempts: pl.DataFrame) -> None:
    faults = (
        (pl.min_horizontal(*TOKENS) < 0, "there are fewer than 0 tokens"),
        (pl.col("cached") > pl.col("input"), "more tokens are cached than there are in the input"),
        (pl.col("reasoning") > pl.col("output"), "more tokens are reasoning than were put out"),
    )
    for fault, message in faults:
        bad = rows.filter(fault).head(1)
        if bad.is_empty():
            continue
        told = bad.row(0, named=True)
        row = attempts.row(told["place"], named=True)
        raise InputError(
            f"{message}; mend the row: cached tokens are part of the input, reasoning ones of the "
            "output",
            task=f"{row['uid']} #{row['repetition']} try {row['try']}",
            field=f"usage.{told['role']}",
            value={name: told[name] for name in TOKENS},
        )
