"""pass@k and pass^k over k: what more attempts find, and what survives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from outcomebox.eval.report.plots.axes import Axis, Plane, percent
from outcomebox.eval.report.plots.svg import Picture, circle, group, line, polyline, series, words

_MANY = 10
_NAMED = 2


@dataclass(frozen=True, slots=True)
class Curve:
    """The two curves of a run.

    Attributes:
        name: The run's name.
        at: k -> pass@k: passes at least one of k.
        hat: k -> pass^k: passes all of k.
        colour: Its place among the colours.
    """

    name: str
    at: Mapping[int, float]
    hat: Mapping[int, float]
    colour: int


def curves_plot(name: str, curves: Sequence[Curve]) -> Picture:
    """The curves of some runs.

    Args:
        name: The picture's name.
        curves: One a run; each begins at k = 1 in its pass@1.
    """
    most = max((k for each in curves for k in (*each.at, *each.hat)), default=1)
    ticks = (
        list(range(1, most + 1))
        if most <= _MANY
        else [1, *range(5, most + 1, 5 if most <= 40 else 20)]
    )
    plane = Plane(
        Axis("k, attempts a task", 1, max(most, 2), ticks, "{:g}".format),
        percent("share of tasks, unbiased mean"),
        right=58,
    )
    body = list(plane.frame())
    for each in curves:
        parts = []
        for values, kind, what in (
            (each.at, "line", "pass@k"),
            (each.hat, "line dashed", "pass^k"),
        ):
            points = [plane.at(k, values[k]) for k in sorted(values)]
            parts.append(polyline(points, kind))
            parts += [
                circle(
                    *plane.at(k, values[k]),
                    2.5,
                    "mark",
                    f"{each.name}, {what} at k = {k}: {values[k]:.1%}",
                )
                for k in sorted(values)
            ]
            if points and len(curves) <= _NAMED:
                parts.append(words(points[-1][0] + 6, points[-1][1] + 4, what, kind="label"))
        body.append(group(series(each.colour), parts))
    if len(curves) > 1:
        body += _key(plane, curves)
    told = "; ".join(
        f"{each.name}: pass@1 {each.at.get(1, 0):.1%}"
        + "".join(f", pass@{k} {each.at[k]:.1%}" for k in sorted(each.at)[-1:] if k > 1)
        + "".join(f", pass^{k} {each.hat[k]:.1%}" for k in sorted(each.hat)[-1:] if k > 1)
        for each in curves
    )
    title = "pass@k (solid) and pass^k (dashed)"
    return Picture(name, title, f"{title}. {told}.", plane.width, plane.height, tuple(body))


def _key(plane: Plane, curves: Sequence[Curve]) -> list[str]:
    """The names of the runs, in a column beside the middle, where the curves leave room."""
    found = []
    for place, each in enumerate(curves[:_MANY]):
        y = plane.height - plane.bottom - 12 - 15 * (min(len(curves), _MANY) - 1 - place)
        x = plane.left + 10
        parts = [
            line(x, y - 4, x + 16, y - 4, "line"),
            words(x + 22, y, each.name[:24], kind="label"),
        ]
        found.append(group(series(each.colour), parts))
    return found
