"""The report's pictures: where things stand, and that no figure makes a broken one."""

from __future__ import annotations

import math
import re
from collections import Counter
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.eval.report.plots import (
    Both,
    Curve,
    Delta,
    Pair,
    Picture,
    Priced,
    cost_plot,
    coverage_plot,
    curves_plot,
    deltas_plot,
    paired_plot,
    passes_plot,
)
from outcomebox.eval.report.plots.axes import Plane, around, nice, nice_log, numbers, percent

SVG = "{http://www.w3.org/2000/svg}"
NAMES = st.text(max_size=40)
SHARES = st.floats(0, 1)


def ranged(value: float) -> tuple[float, float, float]:
    """A share with an interval around it."""
    return value, value * 0.9, min(1.0, value * 1.1)


def parsed(picture: Picture) -> ET.Element:
    """The picture as XML; every number in it is finite and inside of it or nearly so."""
    root = ET.fromstring(picture.file())  # noqa: S314 -- made here
    inside = max(picture.width, picture.height) + 50
    for element in root.iter():
        for name in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height"):
            if name in element.attrib:
                number = float(element.attrib[name])
                assert math.isfinite(number)
                assert -50 <= number <= inside
    assert picture.inline().endswith("\n".join((*picture.body, "</svg>")))
    return root


def circles(root: ET.Element) -> list[tuple[float, float]]:
    """Where its points stand."""
    return [
        (float(each.attrib["cx"]), float(each.attrib["cy"])) for each in root.iter(f"{SVG}circle")
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NAMES, SHARES, SHARES), min_size=1, max_size=12))
def test_coverage_takes_any_shares(found: list[tuple[str, float, float]]) -> None:
    points = [
        Both(name, ranged(min(a, b)), ranged(max(a, b)), place)
        for place, (name, a, b) in enumerate(found)
    ]
    root = parsed(coverage_plot("c", points, k=8))
    assert len(circles(root)) == len(points)


def test_coverage_is_up_and_repeatability_is_right() -> None:
    low, high = (
        Both("low", (0.1, None, None), (0.5, None, None), 0),
        Both("high", (0.4, None, None), (0.9, None, None), 1),
    )
    (x1, y1), (x2, y2) = circles(parsed(coverage_plot("c", [low, high], k=20)))
    assert x2 > x1
    assert y2 < y1
    words = coverage_plot("c", [low, high], k=20).words
    assert "low every time 10.0 %, at least once 50.0 %" in words


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(NAMES, st.floats(1e-4, 1e4), SHARES, st.booleans()), min_size=1, max_size=12)
)
def test_cost_takes_any_costs(found: list[tuple[str, float, float, bool]]) -> None:
    runs = [
        Priced(name, (cost, cost * 0.8, cost * 1.3), ranged(rate), best, place)
        for place, (name, cost, rate, best) in enumerate(found)
    ]
    picture = cost_plot("cost", runs, currency="USD")
    assert len(circles(parsed(picture))) == len(runs)
    assert picture.words.count("on the frontier") >= sum(run.frontier for run in runs)


def test_equal_ratios_of_cost_are_equal_steps() -> None:
    runs = [
        Priced(f"{cost}", (cost, None, None), (0.5, None, None), False, 0) for cost in (0.1, 1, 10)
    ]
    (a, _), (b, _), (c, _) = circles(parsed(cost_plot("cost", runs, currency="USD")))
    assert b - a == pytest.approx(c - b, abs=0.05)


def test_curves_meet_in_pass_at_1_and_end_apart() -> None:
    curve = Curve("run", {1: 0.5, 2: 0.7, 4: 0.8}, {1: 0.5, 2: 0.3, 4: 0.2}, 0)
    places = circles(parsed(curves_plot("curves", [curve])))
    assert places[0] == places[3]
    assert places[2][1] < places[0][1] < places[5][1]
    two = curves_plot("curves", [curve, Curve("other", curve.at, curve.hat, 1)])
    assert "other: pass@1 50.0%, pass@4 80.0%, pass^4 20.0%" in two.words
    parsed(two)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 20), max_size=60))
def test_a_bar_is_as_high_as_there_are_tasks(passed: list[int]) -> None:
    counts = Counter(passed)
    root = parsed(passes_plot("passes", counts, k=20))
    heights = [float(each.attrib["height"]) for each in root.iter(f"{SVG}rect")]
    assert len(heights) == 21
    if passed:
        most = max(counts, key=lambda k: counts[k])
        for k in range(21):
            share = counts[k] / counts[most]
            assert heights[k] == pytest.approx(share * heights[most], abs=0.02)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NAMES, SHARES, SHARES), max_size=40))
def test_each_task_is_counted_once(found: list[tuple[str, float, float]]) -> None:
    pairs = [Pair(*each) for each in found]
    picture = paired_plot("p", pairs, base="a", new="b")
    assert len(circles(parsed(picture))) == len({(each.base, each.new) for each in pairs})
    numbers_ = [int(each) for each in re.findall(r"(\d+) (?:tasks|lower|as before)", picture.words)]
    assert sum(numbers_) == len(pairs)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NAMES, st.floats(-1, 1)), max_size=12))
def test_differences_stand_on_their_side(found: list[tuple[str, float]]) -> None:
    deltas = [Delta(name, value, value - 0.01, value + 0.01) for name, value in found]
    picture = deltas_plot("d", deltas, title="t")
    root = parsed(picture)
    axis = next(
        float(each.attrib["x1"])
        for each in root.iter(f"{SVG}line")
        if each.attrib["class"] == "axis"
    )
    for delta, (x, _) in zip(deltas, circles(root), strict=True):
        assert (x - axis) * delta.value >= -0.01


@settings(max_examples=100, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_round_and_inside(low: float, span: float) -> None:
    ticks = nice(low, low + span)
    assert 1 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))
    room = 1e-6 * max(abs(low), span)
    assert all(low - room <= tick <= low + span + room for tick in ticks)


def test_axes_by_hand() -> None:
    assert nice(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert nice(0, 20) == [0, 5, 10, 15, 20]
    assert nice(3, 3) == [3]
    assert nice_log(0.08, 6) == [0.1, 0.2, 0.5, 1, 2, 5]
    assert around([0.1, 0.9]) == (0.0, 1.0)
    assert around([0.5, 0.6]) == pytest.approx((0.45, 0.65))
    assert around([]) == (0.0, 1.0)
    assert numbers("n", 0, 27).high >= 27


def test_a_label_keeps_off_a_point_and_off_another_label() -> None:
    plane = Plane(percent("x"), percent("y"))
    plane.take(200, 100)
    places = [plane.label(200, 100, "a name") for _ in range(4)]
    assert len({re.search('x="([^"]*)" y="([^"]*)"', each)[0] for each in places}) == 4  # type: ignore[index]
    assert "…" in plane.label(10, 10, "n" * 60)
