"""Differences with their intervals around none, one a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from outcomebox.eval.report.numbers import points
from outcomebox.eval.report.plots.axes import nice
from outcomebox.eval.report.plots.svg import Picture, circle, group, line, words

_ROW = 24.0
_LEFT, _RIGHT, _WIDTH = 130.0, 74.0, 430.0


@dataclass(frozen=True, slots=True)
class Delta:
    """One difference, as a share.

    Attributes:
        name: What of.
        value: The difference.
        low: Lower end of its interval; None where there is none.
        high: Upper end.
    """

    name: str
    value: float
    low: float | None
    high: float | None


def deltas_plot(name: str, deltas: Sequence[Delta], *, title: str) -> Picture:
    """A point and its interval a line.

    Args:
        name: The picture's name.
        deltas: The lines from the top.
        title: What the differences are.
    """
    ends = [end for each in deltas for end in (each.value, each.low, each.high) if end is not None]
    reach = max((abs(end) for end in ends), default=0.0)
    reach = max(1.1 * reach, 0.02)
    height = 10 + _ROW * len(deltas) + 40
    bottom = height - 40
    span = _WIDTH - _LEFT - _RIGHT

    def at(value: float) -> float:
        return _LEFT + span * (value + reach) / (2 * reach)

    body = [line(at(tick), 6, at(tick), bottom, "grid") for tick in nice(-reach, reach, 5)]
    body += [
        words(
            at(tick),
            bottom + 16,
            f"{100 * tick:+.3g}" if tick else "0",
            kind="dim",
            anchor="middle",
        )
        for tick in nice(-reach, reach, 5)
    ]
    body.append(line(at(0), 6, at(0), bottom, "axis"))
    body.append(
        words(_LEFT + span / 2, height - 6, "percentage points", kind="dim", anchor="middle")
    )
    for place, each in enumerate(deltas):
        y = 10 + _ROW * (place + 0.5)
        shown = each.name if len(each.name) <= 20 else each.name[:19] + "…"
        shown_points = points(each.value)
        parts = [words(_LEFT - 8, y + 4, shown, anchor="end")]
        if each.low is not None and each.high is not None:
            parts.append(line(at(each.low), y, at(each.high), y, "range"))
        kind = "gain" if (each.low or 0) > 0 else "loss" if (each.high or 0) < 0 else "same"
        parts.append(circle(at(each.value), y, 4.5, "mark", f"{each.name}: {shown_points} points"))
        parts.append(words(_WIDTH - _RIGHT + 10, y + 4, shown_points))
        body.append(group(kind, parts))
    told = "; ".join(f"{each.name} {points(each.value)}" for each in deltas)
    return Picture(name, title, f"{title}, in points. {told}.", _WIDTH, height, tuple(body))
