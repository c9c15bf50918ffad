"""Axes: where a value stands in a picture, and the ticks that say so."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from outcomebox.eval.report.plots.svg import line, upright, words

Show = Callable[[float], str]
Ranged = tuple[float, float | None, float | None]
"""A value with the ends of its interval."""
Rule = tuple[float, float, float, float]
_CHARACTER = 6.3
"""Width of a character of the pictures' text, about."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    Attributes:
        title: What it measures.
        low: Its least value.
        high: Its greatest value.
        ticks: The values that are marked.
        show: A tick in words.
        log: Whether equal steps are equal ratios.
    """

    title: str
    low: float
    high: float
    ticks: Sequence[float]
    show: Show
    log: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value stands, from 0 to 1."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def percent(title: str, *, low: float = 0.0, high: float = 1.0) -> Axis:
    """An axis of shares."""
    ticks = nice(low, high)
    return Axis(title, low, high, ticks, lambda value: f"{100 * value:.0f} %")


def numbers(title: str, low: float, high: float, show: Show = "{:g}".format) -> Axis:
    """An axis of plain numbers, its ends moved out to a tick."""
    ticks = nice(low, high)
    return Axis(title, min(low, ticks[0]), max(high, ticks[-1]), ticks, show)


def around(values: Sequence[float], *, whole: bool = True) -> tuple[float, float]:
    """Ends of an axis of shares that hold some values, with room: 0 to 1 unless all are close.

    Args:
        values: What is to be seen.
        whole: Whether an axis from 0 to 1 is right wherever the values take half of it.
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    if whole and high - low > 0.5:
        return 0.0, 1.0
    room = max(0.04, 0.15 * (high - low))
    step = 0.05 if high - low <= 0.3 else 0.1
    return (
        max(0.0, math.floor((low - room) / step) * step),
        min(1.0, math.ceil((high + room) / step) * step),
    )


def nice(low: float, high: float, most: int = 6) -> list[float]:
    """Round values from ``low`` to ``high``, at most about ``most`` of them."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def nice_log(low: float, high: float) -> list[float]:
    """Round values for an axis of ratios: 1, 2, 5, 10 and so on."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    found = [
        round(each * 10.0**power, 12) for power in range(first, last + 1) for each in (1, 2, 5)
    ]
    return [each for each in found if low <= each * 1.000001 and each <= high * 1.000001]


@dataclass
class Plane:
    """A plane with two axes, drawn into a picture.

    Attributes:
        x: The horizontal axis.
        y: The vertical axis.
        width: Of the whole picture.
        height: Of the whole picture.
        left: Room for the names of the vertical axis.
        right: Room right of the plane.
        top: Room above it.
        bottom: Room for the horizontal axis.
    """

    x: Axis
    y: Axis
    width: float = 430.0
    height: float = 330.0
    left: float = 64.0
    right: float = 16.0
    top: float = 14.0
    bottom: float = 46.0
    _taken: list[tuple[float, float, float, float]] = field(default_factory=list)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where two values stand."""
        across = self.width - self.left - self.right
        down = self.height - self.top - self.bottom
        return (
            self.left + across * self.x.share(x),
            self.height - self.bottom - down * self.y.share(y),
        )

    def frame(self) -> Iterator[str]:
        """The grid, the ticks and the names of the axes."""
        bottom, end = self.height - self.bottom, self.width - self.right
        for tick in self.y.ticks:
            _, y = self.at(self.x.low, tick)
            yield line(self.left, y, end, y, "grid")
            yield words(self.left - 7, y + 4, self.y.show(tick), kind="dim", anchor="end")
        for tick in self.x.ticks:
            x, _ = self.at(tick, self.y.low)
            yield line(x, bottom, x, bottom + 4, "axis")
            yield words(x, bottom + 17, self.x.show(tick), kind="dim", anchor="middle")
        yield line(self.left, bottom, end, bottom, "axis")
        yield words(
            (self.left + end) / 2, self.height - 8, self.x.title, kind="dim", anchor="middle"
        )
        yield upright(13, (self.top + bottom) / 2, self.y.title)

    def ranges(self, x: Ranged, y: Ranged) -> Iterator[Rule]:
        """The intervals of a point, as a level and an upright line."""
        if x[1] is not None and x[2] is not None:
            yield *self.at(x[1], y[0]), *self.at(x[2], y[0])
        if y[1] is not None and y[2] is not None:
            yield *self.at(x[0], y[1]), *self.at(x[0], y[2])

    def take(self, x: float, y: float, radius: float = 5.0) -> None:
        """Keep labels off a point, in the picture's own units."""
        self._taken.append((x - radius, y - radius, x + radius, y + radius))

    def take_line(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Keep labels off a line that is level or upright."""
        self._taken.append((min(x1, x2) - 2, min(y1, y2) - 2, max(x1, x2) + 2, max(y1, y2) + 2))

    def label(self, x: float, y: float, value: str, kind: str = "label") -> str:
        """A name beside a point, where it hides as little as can be; cut where it is long."""
        shown = value if len(value) <= 28 else value[:27] + "…"
        width = _CHARACTER * len(shown)
        places = (
            (x + 8, y + 4, "start"),
            (x - 8, y + 4, "end"),
            (x, y - 9, "middle"),
            (x, y + 18, "middle"),
            (x + 8, y - 8, "start"),
            (x + 8, y + 16, "start"),
            (x - 8, y - 8, "end"),
            (x - 8, y + 16, "end"),
        )
        boxes = [_box(left, base, anchor, width) for left, base, anchor in places]
        costs = [self._cost(box) for box in boxes]
        best = costs.index(min(costs))
        self._taken.append(boxes[best])
        left, base, anchor = places[best]
        return words(left, base, shown, kind=kind, anchor=anchor)

    def _cost(self, box: tuple[float, float, float, float]) -> float:
        left, top, right, bottom = box
        out = max(0.0, self.left - left) + max(0.0, right - self.width)
        out += max(0.0, -top) + max(0.0, bottom - (self.height - self.bottom))
        hidden = 0.0
        for other in self._taken:
            across = min(right, other[2]) - max(left, other[0])
            down = min(bottom, other[3]) - max(top, other[1])
            if across > 0 and down > 0:
                hidden += across * down
        return hidden + 100 * out


def _box(x: float, y: float, anchor: str, width: float) -> tuple[float, float, float, float]:
    left = {"start": x, "middle": x - width / 2, "end": x - width}[anchor]
    return left, y - 11, left + width, y + 3
