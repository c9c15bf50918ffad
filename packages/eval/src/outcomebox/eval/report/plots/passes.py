"""How many tasks passed how often: the shape behind a mean."""

from __future__ import annotations

from collections.abc import Mapping

from outcomebox.eval.report.plots.axes import Axis, Plane, numbers
from outcomebox.eval.report.plots.svg import Picture, rect, words

_LABELLED = 24


def passes_plot(name: str, counts: Mapping[int, int], *, k: int) -> Picture:
    """A bar a number of passes.

    Args:
        name: The picture's name.
        counts: Passes of ``k`` -> tasks.
        k: Clean attempts of each of these tasks.
    """
    most = max(counts.values(), default=0)
    step = 1 if k <= 10 else 5 if k <= 50 else 20
    ticks = sorted({*range(0, k + 1, step), k})
    plane = Plane(
        Axis(f"attempts passed, of {k}", -0.5, k + 0.5, ticks, "{:g}".format),
        numbers("tasks", 0, max(most, 1)),
    )
    body = list(plane.frame())
    for passed in range(k + 1):
        tasks = counts.get(passed, 0)
        left, top = plane.at(passed - 0.4, tasks)
        right, bottom = plane.at(passed + 0.4, 0)
        kind = "mark gain" if passed == k else "mark loss" if passed == 0 else "mark"
        title = f"{tasks} tasks passed {passed} of {k}"
        body.append(rect((left, top), (right, bottom), kind, title))
        if tasks and k <= _LABELLED:
            body.append(words((left + right) / 2, top - 4, tasks, kind="dim", anchor="middle"))
    told = ", ".join(f"{passed}/{k}: {counts[passed]}" for passed in sorted(counts))
    title = "Tasks by attempts passed"
    return Picture(name, title, f"{title}. {told}.", plane.width, plane.height, tuple(body))
