"""What a success costs against how often there is one, and who is on the frontier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from outcomebox.eval.report.plots.axes import Axis, Plane, Ranged, around, nice_log, percent
from outcomebox.eval.report.plots.svg import Picture, circle, group, line, polyline, series

_ROOM = 1.35


@dataclass(frozen=True, slots=True)
class Priced:
    """One run.

    Attributes:
        name: Its name.
        cost: What a success costs; more than 0.
        rate: pass@1.
        frontier: Whether no run is both no dearer and at least as good.
        colour: Its place among the colours.
    """

    name: str
    cost: Ranged
    rate: Ranged
    frontier: bool
    colour: int


def cost_plot(name: str, runs: Sequence[Priced], *, currency: str) -> Picture:
    """A point a run; up and left is better. The frontier is joined.

    Args:
        name: The picture's name.
        runs: What is drawn; at least one.
        currency: Of the costs.
    """
    ends = [end for each in runs for end in each.cost if end is not None and end > 0]
    low, high = min(ends) / _ROOM, max(ends) * _ROOM
    rates = [end for each in runs for end in each.rate if end is not None]
    bottom, top = around(rates, whole=False)
    plane = Plane(
        Axis(
            f"cost per success in {currency}, equal steps are equal ratios",
            low,
            high,
            nice_log(low, high),
            "{:g}".format,
            log=True,
        ),
        percent("pass@1", low=bottom, high=top),
    )
    body = list(plane.frame())
    best = sorted((each.cost[0], each.rate[0]) for each in runs if each.frontier)
    steps: list[tuple[float, float]] = []
    before = 0.0
    for cost, rate in best:
        if steps:
            steps.append(plane.at(cost, before))
        steps.append(plane.at(cost, rate))
        before = rate
    if len(best) > 1:
        body.append(polyline(steps, "rule line dashed"))
    for each in runs:
        plane.take(*plane.at(each.cost[0], each.rate[0]))
        for rule in plane.ranges(each.cost, each.rate):
            plane.take_line(*rule)
    for each in runs:
        x, y = plane.at(each.cost[0], each.rate[0])
        parts = [line(*rule, "range") for rule in plane.ranges(each.cost, each.rate)]
        kind = "mark" if each.frontier else "hollow"
        parts.append(circle(x, y, 5, kind, f"{each.name}: {_words(each)}"))
        parts.append(plane.label(x, y, each.name))
        body.append(group(series(each.colour), parts))
    told = "; ".join(f"{each.name} {_words(each)}" for each in runs)
    title = "Cost against pass@1 (filled: the frontier)"
    return Picture(name, title, f"{title}. {told}.", plane.width, plane.height, tuple(body))


def _words(each: Priced) -> str:
    frontier = ", on the frontier" if each.frontier else ""
    return f"{each.cost[0]:.3g} per success, pass@1 {each.rate[0]:.1%}{frontier}"
