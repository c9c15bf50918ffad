"""Figures in words: shares, money, counts, and their intervals."""

from __future__ import annotations

from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["share", "money", "number", "count", "seconds", "ratio"]
"""What a figure is: a share of 1, money, a mean, a whole number, a time, a ratio of two shares."""

NONE = "—"
"""Stands for what is not defined: never a 0."""
_HUNDRED = 100.0
_THOUSAND = 1000.0


def shown(value: float | None, unit: Unit, *, digits: int = 1) -> str:
    """A figure with its unit.

    Args:
        value: The figure; None where it is not defined.
        unit: What it is.
        digits: Decimals of a share in per cent.
    """
    if value is None:
        return NONE
    if unit in ("share", "ratio"):
        return share(value, digits)
    if unit == "money":
        return money(value)
    if unit == "seconds":
        return f"{plain(value)} s"
    return f"{value:,.0f}" if unit == "count" else plain(value)


def share(value: float, digits: int = 1) -> str:
    """A share in per cent; one that is not all or nothing is not rounded to that."""
    text = f"{_HUNDRED * value:.{digits}f}"
    if value < 1 and float(text) == _HUNDRED:
        return "<100 %"
    if value > 0 and float(text) == 0:
        return ">0 %"
    return f"{text} %"


def money(value: float) -> str:
    """Money without its currency: to a cent, below 1 to a tenth of one, tiny sums to two digits."""
    if 0 < value < 0.01:
        return f"{value:.2g}"
    return f"{value:.3f}" if value < 1 else f"{value:,.2f}"


def plain(value: float) -> str:
    """A mean: three digits that count, whole from a hundred on."""
    if abs(value) >= _HUNDRED or value == 0:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"


def interval(low: float | None, high: float | None, unit: Unit, *, digits: int = 1) -> str:
    """An interval, its unit said once; empty where there is none."""
    if low is None and high is None:
        return ""
    if low is None:
        return f"up to {_end(high, unit, digits)}"
    if high is None:
        return f"from {_end(low, unit, digits)}"
    ends = [_end(end, unit, digits) for end in (low, high)]
    for mark in (" %", " s"):
        if all(end.endswith(mark) for end in ends):
            return f"{ends[0].removesuffix(mark)}–{ends[1]}"  # noqa: RUF001 -- a range
    return "–".join(ends)  # noqa: RUF001 -- a range


def points(value: float | None, digits: int = 1) -> str:
    """A difference of shares in points, with its sign; none of nothing."""
    if value is None:
        return NONE
    text = f"{_HUNDRED * value:+.{digits}f}"
    return text if float(text) else f"{0:.{digits}f}"


def _end(value: float | None, unit: Unit, digits: int) -> str:
    if value is not None and unit in ("share", "ratio"):
        return f"{_HUNDRED * value:.{digits}f} %"
    return shown(value, unit, digits=digits)
