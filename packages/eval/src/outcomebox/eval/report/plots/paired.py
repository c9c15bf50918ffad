"""Two runs on the same tasks: each task's rate before and after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from outcomebox.eval.report.plots.axes import Plane, percent
from outcomebox.eval.report.plots.svg import Picture, circle, line


@dataclass(frozen=True, slots=True)
class Pair:
    """A task in both runs.

    Attributes:
        uid: The task.
        base: Its share of clean runs passed in the base run.
        new: The same in the new run.
    """

    uid: str
    base: float
    new: float


def paired_plot(name: str, pairs: Sequence[Pair], *, base: str, new: str) -> Picture:
    """A circle a pair of rates, its area by how many tasks have it; above the line is better.

    Args:
        name: The picture's name.
        pairs: The tasks.
        base: Name of the base run.
        new: Name of the new run.
    """
    plane = Plane(
        percent(f"rate in {base}", low=-0.06, high=1.06),
        percent(f"rate in {new}", low=-0.06, high=1.06),
        width=400,
        height=380,
    )
    body = list(plane.frame())
    body.append(line(*plane.at(0, 0), *plane.at(1, 1), "rule"))
    held: dict[tuple[float, float], list[str]] = defaultdict(list)
    for each in pairs:
        held[each.base, each.new].append(each.uid)
    most = max(map(len, held.values()), default=1)
    for (before, after), uids in sorted(held.items(), key=lambda item: -len(item[1])):
        kind = "gain" if after > before else "loss" if after < before else "same"
        radius = 3 + 11 * (len(uids) / most) ** 0.5 if most > 1 else 4
        more = "" if len(uids) <= 3 else f" and {len(uids) - 3} more"
        told = f"{before:.0%} to {after:.0%}: {', '.join(uids[:3])}{more}"
        body.append(circle(*plane.at(before, after), radius, f"mark {kind} bubble", told))
    up = sum(each.new > each.base for each in pairs)
    down = sum(each.new < each.base for each in pairs)
    title = f"Each task's rate: {new} against {base}"
    words = f"{title}. {up} tasks higher, {down} lower, {len(pairs) - up - down} as before."
    return Picture(name, title, words, plane.width, plane.height, tuple(body))
