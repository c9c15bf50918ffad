"""A picture as SVG: numbers and plain text in, markup out.

Pictures take their colours from names that a page defines for light and for dark
(:data:`COLOURS`), so that one picture serves both; :meth:`Picture.file` brings them along.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from outcomebox.reward.pages.parts import text

SERIES = 8
"""Colours for runs and groups; more of them begin again."""

COLOURS = """\
--ink: #1c2430; --dim: #5b6573; --line: #d5d9e0; --soft: #f5f6f8; --paper: #fff; --bar: #2f62c4;
--good: #1a7340; --bad: #b3372f; --odd: #7a3fb0; --warn: #8a5a00; --s0: #2f62c4; --s1: #c2571a;
--s2: #1a7340; --s3: #9a3fa8; --s4: #0e7a84; --s5: #a3271f; --s6: #6b6f1a; --s7: #5b6573;"""
DARK = """\
--ink: #e6e9ee; --dim: #a3adbb; --line: #3a4150; --soft: #20252e; --paper: #161a21; --bar: #7ba5f5;
--good: #6fcf97; --bad: #f28b82; --odd: #c79bf2; --warn: #e0a84c; --s0: #7ba5f5; --s1: #f0a06a;
--s2: #6fcf97; --s3: #d592e0; --s4: #5cc6cf; --s5: #f28b82; --s6: #c9cd6a; --s7: #a3adbb;"""

_SERIES_STYLE = " ".join(f".s{n} {{ --series: var(--s{n}); }}" for n in range(SERIES))
STYLE = f"""\
.plot {{ font: 12px system-ui, sans-serif; }} .plot text {{ fill: var(--ink); }}
.plot .dim {{ fill: var(--dim); }} .plot .axis {{ stroke: var(--dim); }}
.plot .grid {{ stroke: var(--line); }} .plot .rule {{ stroke: var(--dim); stroke-dasharray: 4 4; }}
.plot .mark {{ fill: var(--series, var(--bar)); }}
.plot .hollow {{ fill: var(--paper); stroke: var(--series, var(--bar)); stroke-width: 2; }}
.plot .line {{ fill: none; stroke: var(--series, var(--bar)); stroke-width: 2; }}
.plot .dashed {{ stroke-dasharray: 6 4; }} .plot .range {{ stroke: var(--series, var(--bar));
stroke-width: 1.5; opacity: .55; }} .plot .band {{ fill: var(--series, var(--bar)); opacity: .14; }}
.plot .gain {{ --series: var(--good); }} .plot .loss {{ --series: var(--bad); }}
.plot .same {{ --series: var(--s7); }} .plot .label {{ fill: var(--series, var(--ink)); }}
{_SERIES_STYLE}
"""
"""What the classes of a picture look like; part of a page's style."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture.

    Attributes:
        name: A short name; that of its file.
        title: What it shows, in a line.
        words: The same for those who cannot see it: what the figures are.
        width: In its own units.
        height: In its own units.
        body: Its elements.
    """

    name: str
    title: str
    words: str
    width: float
    height: float
    body: tuple[str, ...]

    def inline(self) -> str:
        """For a page that has :data:`STYLE` and the colours."""
        return self._svg("", "")

    def file(self) -> str:
        """A file of its own, for light and dark surroundings alike."""
        style = (
            f"<style>\nsvg {{ {COLOURS} background: var(--paper); }}\n"
            f"@media (prefers-color-scheme: dark) {{ svg {{ {DARK} }} }}\n{STYLE}</style>\n"
        )
        size = f' xmlns="http://www.w3.org/2000/svg" width="{_n(self.width)}" '
        return self._svg(f'{size}height="{_n(self.height)}"', style) + "\n"

    def _svg(self, more: str, style: str) -> str:
        elements = "\n".join(self.body)
        return (
            f'<svg class="plot" viewBox="0 0 {_n(self.width)} {_n(self.height)}" role="img"{more}>'
            f"\n<title>{text(self.title)}</title>\n<desc>{text(self.words)}</desc>\n"
            f"{style}{elements}\n</svg>"
        )


def _n(value: float) -> str:
    """A coordinate: two decimals are a hundredth of a pixel."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"/>'


def rect(
    corner: tuple[float, float], other: tuple[float, float], kind: str, title: str = ""
) -> str:
    """A bar from its upper left to its lower right corner."""
    (x, y), (right, bottom) = corner, other
    return (
        f'<rect class="{kind}" x="{_n(x)}" y="{_n(y)}" width="{_n(max(right - x, 0))}" '
        f'height="{_n(max(bottom - y, 0))}">{_title(title)}</rect>'
    )


def circle(x: float, y: float, radius: float, kind: str, title: str = "") -> str:
    """A point; ``title`` is shown where a pointer rests on it."""
    place = f'cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"'
    return f'<circle class="{kind}" {place}>{_title(title)}</circle>'


def polyline(points: Iterable[tuple[float, float]], kind: str) -> str:
    """A line through points."""
    return f'<polyline class="{kind}" points="{_points(points)}"/>'


def polygon(points: Iterable[tuple[float, float]], kind: str) -> str:
    """A filled area."""
    return f'<polygon class="{kind}" points="{_points(points)}"/>'


def words(x: float, y: float, value: object, *, kind: str = "", anchor: str = "start") -> str:
    """Text; ``anchor`` is start, middle or end."""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}">{text(value)}</text>'


def upright(x: float, y: float, value: object) -> str:
    """Text that reads upwards, centred; the name of a vertical axis."""
    return (
        f'<text class="dim" transform="translate({_n(x)} {_n(y)}) rotate(-90)" '
        f'text-anchor="middle">{text(value)}</text>'
    )


def group(kind: str, elements: Iterable[str]) -> str:
    """Elements that share a colour."""
    return f'<g class="{kind}">' + "".join(elements) + "</g>"


def series(place: int) -> str:
    """The class of the colour of the run or group at a place."""
    return f"s{place % SERIES}"


def _title(title: str) -> str:
    return f"<title>{text(title)}</title>" if title else ""


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
