"""The counts of a selection: one source for terminal, JSON and manifest."""

from __future__ import annotations

from typing import Any

from outcomebox.selection.curate import Selection


def figures(selection: Selection) -> dict[str, Any]:
    """Counts tasks by band, reason and side, and predicts mixed groups.

    Args:
        selection: a finished selection.

    Returns:
        Plain JSON values. In `bands`, `kept` counts the pool and `not_kept` the other tasks whose
        estimate lies in the band, whatever kept them out. Shares and expectations have six digits;
        a share of nothing is None.
    """
    decisions = selection.decisions
    bands = []
    for band in selection.curation.bands.bands:
        inside = [d for d in decisions if d.band is not None and d.band.name == band.name]
        kept = sum(d.kept for d in inside)
        bands.append(
            {
                "name": band.name,
                "low": band.low,
                "high": band.high,
                "retained": band.name in selection.curation.bands.retain,
                "kept": kept,
                "not_kept": len(inside) - kept,
            }
        )
    results = [d.result for d in decisions]
    return {
        "tasks": len(decisions),
        "kept": len(selection.kept),
        "train": len(selection.side("train")),
        "test": len(selection.side("test")),
        "undecided": sum(d.status == "undecided" for d in decisions),
        "dropped": sum(d.status == "dropped" for d in decisions),
        "reasons": selection.reasons(),
        "bands": bands,
        "without_band": {
            "kept": sum(d.band is None and d.kept for d in decisions),
            "not_kept": sum(d.band is None and not d.kept for d in decisions),
        },
        "runs": {
            "clean": sum(r.clean_runs for r in results),
            "errored": sum(r.errored_runs for r in results),
            "system_errors": sum(r.system_errors for r in results),
            "superseded": sum(r.superseded for r in results),
            "tries": sum(r.tries for r in results),
        },
        "predicted": {
            "group_size": selection.curation.group_size,
            "mixed_share": _rounded(selection.mixed_share()),
            "mixed_share_unselected": _rounded(selection.mixed_share_unselected()),
            "expected_useful_groups": round(selection.expected_groups(), 6),
        },
    }


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)
