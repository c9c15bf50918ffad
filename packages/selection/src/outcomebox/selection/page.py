"""`bands.html`: the selection as one page that needs nothing but itself.

It shows what `bands.png` shows and the rest of the figures: what the pool will give, how it wears
off, what other edges would keep, what system errors go with, and every task. The same selection
gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from outcomebox.selection.curate import Selection
from outcomebox.selection.decision import REASON_TEXTS, TaskDecision
from outcomebox.selection.forecast import big, count_span, percent, share_span, wasted
from outcomebox.selection.provenance import Provenance

MOST_TASKS = 5_000
"""Tasks that the page shows; `bands.csv` has them all."""
_TEMPLATE = "page.html.jinja"


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a histogram: its label, its total and its parts, as shares of the longest."""

    label: str
    note: str
    total: int
    parts: tuple[tuple[str, float], ...]


def bands_html(selection: Selection, provenance: Provenance) -> bytes:
    """Writes the page.

    Args:
        selection: a finished selection.
        provenance: names the policy; a simulated one is named as such in the title.

    Returns:
        The HTML file.
    """
    # A name that is missing in the template is a fault of ours, not an empty cell.
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "percent": percent,
        "share_span": share_span,
        "count_span": count_span,
        "big": big,
        "wasted": wasted,
    }
    text = files(__package__).joinpath(_TEMPLATE).read_text(encoding="utf-8")
    counts = selection.figures
    shown = _by_rate(selection.decisions)[:MOST_TASKS]
    page = environment.from_string(text).render(
        title=f"Difficulty of the tasks for {provenance.policy_phrase}",
        counts=counts,
        outlook=counts["outlook"],
        probing=counts["probing"],
        audit=counts["audit"],
        notes=selection.notes,
        reasons=[(name, n, REASON_TEXTS[name]) for name, n in counts["reasons"].items()],
        bands=_band_bars(counts),
        spent=_spent_bars(counts["probing"]),
        edges=[
            (band.low, band.high, band.name in selection.curation.bands.retain)
            for band in selection.curation.bands.bands
        ],
        lines=[d for d in shown if d.estimate is not None and not d.stopped],
        tasks=shown,
        left_out=len(selection.decisions) - len(shown),
        curve=_curve(counts["outlook"]),
    )
    return page.encode()


def _by_rate(decisions: Sequence[TaskDecision]) -> list[TaskDecision]:
    """Hardest first; tasks without a rate last."""
    return sorted(
        decisions,
        key=lambda d: (
            d.stopped or d.estimate is None,
            d.estimate.mean if d.estimate else 0,
            d.uid,
        ),
    )


def _bars(rows: Sequence[tuple[str, str, Sequence[tuple[str, int]]]]) -> list[Bar]:
    totals = [sum(n for _, n in parts) for *_, parts in rows]
    most = max([*totals, 1])
    return [
        Bar(label, note, total, tuple((kind, n / most) for kind, n in parts if n))
        for (label, note, parts), total in zip(rows, totals, strict=True)
    ]


def _band_bars(counts: dict[str, Any]) -> list[Bar]:
    rows = [
        (
            band["name"].replace("_", " "),
            f"{band['low']:.2f} - {band['high']:.2f}",
            [("kept", band["kept"]), ("not", band["not_kept"])],
        )
        for band in counts["bands"]
    ]
    without = counts["without_band"]
    if both := without["kept"] + without["not_kept"]:
        early = both == counts["probing"]["left_early"]
        rows.append(
            (
                "left early" if early else "no band",
                "",
                [("kept", without["kept"]), ("not", without["not_kept"])],
            )
        )
    return _bars(rows)


def _spent_bars(probing: dict[str, Any]) -> list[Bar]:
    rows = [
        (
            str(one["clean_runs"]),
            "",
            [("kept", one["kept"]), ("early", one["left_early"]), ("not", one["not_kept"])],
        )
        for one in probing["spent"]
    ]
    first = next((i for i, row in enumerate(rows) if any(n for _, n in row[2])), 0)
    return _bars(rows[first:])


def _curve(outlook: dict[str, Any] | None) -> list[tuple[float, dict[str, float]]]:
    """The share of mixed groups by shift, for the small picture of how a pool wears off."""
    if outlook is None:
        return []
    return sorted((worn["shift"], worn["mixed_share"]) for worn in outlook["decay"])
