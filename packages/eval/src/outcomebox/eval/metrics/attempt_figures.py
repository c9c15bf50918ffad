"""The figures about the attempts of a group of tasks: how they went, failed, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from outcomebox.eval.metrics.columns import MEANS, WHO
from outcomebox.eval.metrics.cost import CostFigures
from outcomebox.eval.metrics.estimate import Estimate, refused
from outcomebox.eval.metrics.model import End, Failures, Mean, Part
from outcomebox.eval.metrics.sheet import Sheet
from outcomebox.eval.metrics.signature import BLAMED, SIGNATURES
from outcomebox.eval.metrics.silent import INSIDE


def means(sheet: Sheet) -> tuple[Mean, ...]:
    """Turns, tool calls, tokens and time, each with how many attempts tell it."""
    return tuple(_mean(sheet, name) for name in MEANS)


def _mean(sheet: Sheet, name: str) -> Mean:
    values = sheet.measured(name)
    told = values[~np.isnan(values)]
    estimate = sheet.ratios.estimate(name, told.size, values.size)
    if not told.size:
        return Mean(name, replace(estimate, note=None), None, None, None)
    p95 = float(np.quantile(told, 0.95, method="inverted_cdf"))
    return Mean(name, estimate, float(np.median(told)), p95, float(told.sum()))


def ends(sheet: Sheet) -> tuple[End, ...]:
    """Finish reasons, the most frequent first."""
    found = [
        End(name or None, sheet.total(f"end.passed.{name}"), sheet.total(f"end.failed.{name}"))
        for name in sheet.names("end.passed.")
    ]
    return tuple(
        sorted(
            (end for end in found if end.passed + end.failed),
            key=lambda end: (-end.passed - end.failed, end.reason or ""),
        )
    )


def failures(sheet: Sheet, failed: int) -> Failures:
    """What failed and how.

    Args:
        sheet: The tasks.
        failed: Their failed attempts.
    """

    def parts(kind: str, names: Sequence[str], told: int, of: int) -> tuple[Part, ...]:
        return tuple(
            Part(
                name,
                sheet.total(f"{kind}.{name}"),
                replace(sheet.ratios.estimate(f"{kind}.{name}", told, of), note=None),
            )
            for name in names
        )

    signed = sheet.total("signature.told")
    (silent,) = parts("silent", ("yes",), sheet.total("silent.told"), failed)
    return Failures(
        failed=failed,
        signatures=parts("signature", SIGNATURES, signed, failed),
        without_signature=failed - signed,
        silent=replace(silent, name="silent"),
        inside=parts("inside", tuple(INSIDE), sheet.total("inside.told"), silent.count),
        blame=parts("blame", BLAMED, failed, failed),
        broken=tuple((who, sheet.total(f"broken.{who}")) for who in WHO),
    )


def cost(sheet: Sheet, passed: int, dependable: int | None) -> CostFigures:
    """What the tasks cost, over all tries.

    Args:
        sheet: The tasks.
        passed: Their attempts that passed.
        dependable: Those that passed k/k; None where that is not told.
    """
    tries, priced = sheet.total("cost.tries"), sheet.total("cost.priced")

    def estimate(name: str) -> Estimate:
        found = sheet.ratios.estimate(name, priced, tries)
        if not priced:
            return refused(found, "no cost is known")
        if priced < tries:
            return refused(found, f"the cost of {tries - priced} of {tries} tries is not known")
        return found

    def part(name: str) -> float | None:
        return float(sheet.column(f"cost.{name}").sum()) if priced else None

    known = part("known")
    per_dependable = estimate("per_dependable")
    if sheet.biased:
        per_dependable = refused(per_dependable, sheet.biased)
    return CostFigures(
        campaign=estimate("campaign"),
        per_attempt=estimate("per_attempt"),
        per_success=estimate("per_success"),
        per_dependable=per_dependable,
        tries=tries,
        priced=priced,
        known=known,
        errors=part("errors"),
        superseded=part("superseded"),
        known_per_success=known / passed if known is not None and passed else None,
        known_per_dependable=known / dependable if known is not None and dependable else None,
    )
