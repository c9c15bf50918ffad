"""`bands.png`: how many tasks each band holds, how sure that is, and what the probe has spent.

Left, the tasks of each band and below them the tasks by their clean runs, kept and not kept. Right,
one line a task: posterior mean and 95 % interval over the bands. The same selection gives the same
bytes: no date, no software name, no setting of the user's matplotlib.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from outcomebox.selection.curate import Selection
from outcomebox.selection.decision import TaskDecision
from outcomebox.selection.forecast import percent, share_span
from outcomebox.selection.provenance import Provenance

# Blue and orange that colour-blind readers can tell apart (Okabe and Ito), and a grey.
KEPT = "#0072B2"
DROPPED = "#B8B8B8"
UNDECIDED = "#E69F00"
_COLOURS = {"kept": KEPT, "dropped": DROPPED, "undecided": UNDECIDED}
_PHRASE_LIMIT = 90
_FEW = 100


def bands_png(selection: Selection, provenance: Provenance) -> bytes:
    """Draws the chart.

    Args:
        selection: a finished selection.
        provenance: names the policy; a simulated one is named as such in the title.

    Returns:
        The PNG file.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        figure = Figure(figsize=(11, 6.4), dpi=120, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplot_mosaic(
            [["bands", "strip"], ["spent", "strip"]], width_ratios=(1, 1.35), height_ratios=(1.5, 1)
        )
        figure.suptitle(_title(provenance), fontsize=12)
        _bars(axes["bands"], selection)
        _spent(axes["spent"], selection)
        _strip(axes["strip"], selection)
        figure.legend(loc="outside lower left", ncols=3, frameon=False, fontsize=9)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _title(provenance: Provenance) -> str:
    phrase = provenance.policy_phrase
    if len(phrase) > _PHRASE_LIMIT:
        phrase = f"{phrase[:_PHRASE_LIMIT]}..."
    # A dollar sign would start mathematics.
    return f"Difficulty of the tasks for {phrase}".replace("$", r"\$")


def _bars(axes: Axes, selection: Selection) -> None:
    counts = selection.figures
    names = [f"{band.title}\n{band.text}" for band in selection.curation.bands.bands]
    kept = [band["kept"] for band in counts["bands"]]
    others = [band["not_kept"] for band in counts["bands"]]
    undecided = [0] * len(names)
    without = counts["without_band"]
    if without["kept"] or without["not_kept"]:
        early = counts["probing"]["left_early"]
        names.append("left early" if early == sum(without.values()) else "no band")
        kept.append(without["kept"])
        undecided.append(counts["undecided"])
        others.append(without["not_kept"] - counts["undecided"])
    places = range(len(names))
    start = [0] * len(names)
    for label, colour, values in (
        ("kept", KEPT, kept),
        ("not kept", DROPPED, others),
        ("undecided", UNDECIDED, undecided),
    ):
        if any(values):
            axes.barh(places, values, left=start, color=colour, label=label, height=0.7)
            start = [a + b for a, b in zip(start, values, strict=True)]
    for place, total in zip(places, start, strict=True):
        axes.text(total, place, f" {total}", va="center", fontsize=9)
    axes.set_yticks(places, names, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, max(start) * 1.12)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("tasks")
    axes.set_title(
        f"{counts['kept']} of {counts['tasks']} tasks kept: "
        f"{counts['train']} train, {counts['test']} test",
        fontsize=10,
    )
    axes.spines[["top", "right"]].set_visible(False)


def _spent(axes: Axes, selection: Selection) -> None:
    told = selection.figures["probing"]
    runs = [one["clean_runs"] for one in told["spent"]]
    start = [0] * len(runs)
    for names, colour in ((("kept",), KEPT), (("left_early", "not_kept"), DROPPED)):
        heights = [sum(one[name] for name in names) for one in told["spent"]]
        axes.bar(runs, heights, bottom=start, color=colour, width=0.8)
        start = [a + b for a, b in zip(start, heights, strict=True)]
    axes.set_xlim(-0.6, max([*runs, told["most"]]) + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("clean runs of a task")
    axes.set_ylabel("tasks")
    fewer = told["fewer"]
    more = "" if fewer is None else f", {fewer:.1%} fewer than {told['attempts']} a task"
    axes.set_title(f"probes spent: {told['clean_runs']} clean runs{more}", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def _strip(axes: Axes, selection: Selection) -> None:
    bands = selection.curation.bands
    for number, band in enumerate(bands.bands):
        shade = "#EDF3F8" if band.name in bands.retain else "#F7F7F7"
        axes.axvspan(band.low, band.high, color=shade, zorder=0)
        if number:
            axes.axvline(band.low, color="#C8C8C8", linewidth=0.8, zorder=1)
    shown = [d for d in selection.decisions if d.estimate is not None and not d.stopped]
    ranked = _ranked(shown)
    for status, colour in _COLOURS.items():
        _lines(axes, ranked, status, colour)
    axes.set_xlim(0, 1)
    axes.set_ylim(-1, max(len(shown), 1))
    axes.set_xticks([band.low for band in bands.bands] + [1.0])
    axes.set_yticks([])
    early = sum(decision.stopped for decision in selection.decisions)
    without = f"; {early} left early have no line" if early else ""
    axes.set_ylabel(f"{len(shown)} tasks, hardest below{without}")
    axes.set_xlabel("pass rate: posterior mean and 95 % interval")
    axes.set_title(_mixed_title(selection), fontsize=10)


def _mixed_title(selection: Selection) -> str:
    found = selection.outlook
    if found is None:
        return "no task is kept"
    return (
        f"mixed groups of {found['group_size']}: {share_span(found['mixed_share'])} in the pool,\n"
        f"{percent(found['mixed_share_unselected']['value'])} without selection"
    )


def _ranked(decisions: Sequence[TaskDecision]) -> list[tuple[int, TaskDecision]]:
    def rank(decision: TaskDecision) -> tuple[float, str]:
        return (decision.estimate.mean if decision.estimate else 0.0, decision.uid)

    return list(enumerate(sorted(decisions, key=rank)))


def _lines(
    axes: Axes, ranked: Sequence[tuple[int, TaskDecision]], status: str, colour: str
) -> None:
    chosen = [(place, d.estimate) for place, d in ranked if d.status == status and d.estimate]
    places = np.asarray([place for place, _ in chosen], np.float64)
    ends = np.asarray([estimate.interval for _, estimate in chosen]).reshape(-1, 2)
    # Lines closer than a few pixels would make a pattern of their own, so many tasks make an area.
    few = len(ranked) <= _FEW
    half = 0.125 if few else 0.5
    across = ends[:, [0, 1, 1, 0]]
    # Typed as a sequence, but taken as an array at once, several times as fast.
    boxes: Any = np.stack((across, places[:, None] + (-half, -half, half, half)), axis=-1)
    # One collection: a bar for each of thousands of tasks takes minutes.
    axes.add_collection(
        PolyCollection(
            boxes,
            facecolors=colour,
            linewidths=0,
            alpha=0.55 if few else 0.4,
            antialiaseds=few,
            zorder=2,
        ),
        autolim=False,
    )
    axes.scatter(
        [estimate.mean for _, estimate in chosen],
        places,
        color=colour,
        s=14 if few else 4,
        zorder=3,
    )
