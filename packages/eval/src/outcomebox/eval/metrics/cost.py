"""What a campaign cost: in all, for each success, for each dependable task.

Every try counts in the money, also one that was broken and made again; only the last clean try of
a key counts in the successes. Money for the probe and for training stands on lines of its own: it
is in no figure of the campaign.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from outcomebox.eval.metrics.estimate import Estimate
from outcomebox.eval.metrics.prices import Prices
from outcomebox.eval.metrics.spending import TOKENS, exchanges, spent
from outcomebox.eval.results import Results

STATED = "as the source states it"


@dataclass(frozen=True, slots=True)
class CostLine:
    """Money beside the campaign's.

    Attributes:
        name: What it was for, for example ``probe`` or ``training``.
        amount: How much; None where a part of it is not known.
        known: The part that is known.
        basis: The prices behind it.
        note: What is behind it.
    """

    name: str
    amount: float | None
    known: float | None
    basis: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What one model did in one role, over all tries.

    Attributes:
        role: ``policy``, ``user`` or ``judge``.
        model: Its name; None where the source does not tell.
        tries: Tries that asked it.
        input: Input tokens, cached ones among them; None where nobody counted them in some try.
        cached: Cached tokens; None likewise.
        output: Output tokens, reasoning ones among them; None likewise.
        reasoning: Reasoning tokens; None likewise.
        amount: What it cost; None where tokens or price are not known.
        priced: Tries of it whose cost is known.
    """

    role: str
    model: str | None
    tries: int
    input: int | None
    cached: int | None
    output: int | None
    reasoning: int | None
    amount: float | None
    priced: int


@dataclass(frozen=True, slots=True)
class CostFigures:
    """Cost of some tasks.

    Attributes:
        campaign: All tries, all roles; None while the cost of one is not known.
        per_attempt: Campaign / attempts with a result.
        per_success: Campaign / passed attempts; None where there is none.
        per_dependable: Campaign / tasks passed k/k; None where there is none.
        tries: Tries that were paid for.
        priced: Those whose cost is known.
        known: Their cost: a lower bound of the campaign's while not all are priced.
        errors: What of it went to tries without a verdict.
        superseded: What of it went to clean tries that a later one replaced.
        known_per_success: ``known`` / passed attempts, a lower bound likewise.
        known_per_dependable: ``known`` / tasks passed k/k, a lower bound likewise.
    """

    campaign: Estimate
    per_attempt: Estimate
    per_success: Estimate
    per_dependable: Estimate
    tries: int
    priced: int
    known: float | None
    errors: float | None
    superseded: float | None
    known_per_success: float | None
    known_per_dependable: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run cost.

    Attributes:
        basis: The prices behind the figures, :attr:`~.prices.Prices.label` or :data:`STATED`; None
            where nothing is known.
        currency: Three letters; None where the source does not tell.
        prices_sha256: Of the price file.
        figures: Of all tasks.
        models: Role by role, model by model.
        lines: What else was spent.
        notes: What has to stand beside the figures.
    """

    basis: str | None
    currency: str | None
    prices_sha256: str | None
    figures: CostFigures
    models: tuple[ModelCost, ...]
    lines: tuple[CostLine, ...]
    notes: tuple[str, ...]


def basis_of(tries: pl.DataFrame, prices: Prices | None) -> str | None:
    """What the cost of tries rests on: a price list, what their source states, or nothing.

    Args:
        tries: With their ``amount`` (:func:`~.spending.spent`).
        prices: The price list.
    """
    if prices is not None:
        return prices.label
    return STATED if tries.get_column("amount").count() else None


def cost_line(name: str, results: Results, prices: Prices | None) -> CostLine:
    """What another run cost, a probe for example, as a line of its own.

    Args:
        name: What it was for.
        results: The run; all of its tries count.
        prices: What tokens cost; without, the cost that the source states stands.
    """
    rows = exchanges(results.attempts, prices)
    tries = spent(results.attempts, rows, prices)
    amount = tries.get_column("amount")
    known = float(amount.sum()) if amount.count() else None
    whole = amount.null_count() == 0 and tries.height > 0
    note = f"{tries.height} tries" if whole else f"{amount.count()} of {tries.height} tries priced"
    return CostLine(name, known if whole else None, known, basis_of(tries, prices), note)


def listed_lines(prices: Prices | None) -> tuple[CostLine, ...]:
    """The lines that a price file lists."""
    if prices is None:
        return ()
    return tuple(
        CostLine(line.name, line.amount, line.amount, prices.label, line.note)
        for line in prices.lines
    )


def model_costs(rows: pl.DataFrame) -> tuple[ModelCost, ...]:
    """Cost and tokens by role and model, sorted by them.

    Args:
        rows: One a try and role (:func:`~.spending.exchanges`).
    """
    sums = [
        pl.when(pl.col(name).is_null().any()).then(None).otherwise(pl.col(name).sum()).alias(name)
        for name in (*TOKENS, "amount")
    ]
    found = (
        rows.group_by("role", "model")
        .agg(
            *sums,
            tries=pl.len().cast(pl.Int64),
            priced=pl.col("amount").count().cast(pl.Int64),
        )
        .sort("role", "model", nulls_last=True)
    )
    return tuple(ModelCost(**row) for row in found.iter_rows(named=True))


def notes_of(rows: pl.DataFrame, prices: Prices | None) -> tuple[str, ...]:
    """What has to be said about what is and is not priced.

    Args:
        rows: One a try and role.
        prices: What tokens cost.
    """
    if prices is None:
        return ()
    notes = []
    asked = rows.select("role", "model").unique().sort("role", "model", nulls_last=True)
    unknown = [
        f"{model or 'a model that is not named'} as {role}"
        for role, model in asked.iter_rows()
        if prices.price(model, role) is None
    ]
    if unknown:
        notes.append(f"No price for {', '.join(unknown)}: add it to the price file.")
    counted = rows.filter(pl.col("input").is_null() | pl.col("output").is_null()).height
    if counted:
        notes.append(f"In {counted} of {rows.height} exchanges nobody counted the tokens.")
    cached = rows.filter(pl.col("cached").is_null() & (pl.col("input") > 0)).height
    if cached:
        notes.append(
            f"In {cached} of {rows.height} exchanges cached tokens are not told: their whole input "
            "is at its full price."
        )
    return tuple(notes)
