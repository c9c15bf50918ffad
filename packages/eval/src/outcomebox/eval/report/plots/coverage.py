"""Coverage against repeatability: what is passed at least once, and what every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from outcomebox.eval.report.plots.axes import Plane, Ranged, around, percent
from outcomebox.eval.report.plots.svg import Picture, circle, group, line, series


@dataclass(frozen=True, slots=True)
class Both:
    """One run, or one group of its tasks.

    Attributes:
        name: Its name.
        all_k: Share of tasks that passed every attempt.
        any_k: Share of tasks that passed at least once.
        colour: Its place among the colours.
    """

    name: str
    all_k: Ranged
    any_k: Ranged
    colour: int


def coverage_plot(name: str, points: Sequence[Both], *, k: int) -> Picture:
    """A point a run or group; up is more coverage, right is more repeatability.

    Args:
        name: The picture's name.
        points: What is drawn.
        k: Attempts a task.
    """
    seen = [end for each in points for end in each.all_k if end is not None]
    up = [end for each in points for end in each.any_k if end is not None]
    plane = Plane(
        percent(f"repeatability: tasks passed {k}/{k}", **_ends(seen)),
        percent(f"coverage: tasks passed at least once in {k}", **_ends(up)),
    )
    body = list(plane.frame())
    low, high = max(plane.x.low, plane.y.low), min(plane.x.high, plane.y.high)
    if high > low:
        body.append(line(*plane.at(low, low), *plane.at(high, high), "rule"))
    for each in points:
        plane.take(*plane.at(each.all_k[0], each.any_k[0]))
    for each in points:
        for rule in plane.ranges(each.all_k, each.any_k):
            plane.take_line(*rule)
    for each in points:
        x, y = plane.at(each.all_k[0], each.any_k[0])
        parts = [line(*rule, "range") for rule in plane.ranges(each.all_k, each.any_k)]
        parts.append(circle(x, y, 5, "mark", f"{each.name}: {_words(each)}"))
        parts.append(plane.label(x, y, each.name))
        body.append(group(series(each.colour), parts))
    told = "; ".join(f"{each.name} {_words(each)}" for each in points)
    title = "Coverage against repeatability"
    return Picture(name, title, f"{title}. {told}.", plane.width, plane.height, tuple(body))


def _ends(values: Sequence[float]) -> dict[str, float]:
    low, high = around(values)
    return {"low": low, "high": high}


def _words(each: Both) -> str:
    return f"every time {100 * each.all_k[0]:.1f} %, at least once {100 * each.any_k[0]:.1f} %"
