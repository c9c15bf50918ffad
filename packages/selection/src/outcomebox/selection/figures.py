"""The figures of a selection: one source for terminal, JSON, pictures and manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from outcomebox.selection.decision import UNDECIDED, UNPROBED
from outcomebox.selection.edges import kept_by
from outcomebox.selection.stopping import stop_rule

if TYPE_CHECKING:
    from outcomebox.selection.curate import Selection


def figures(selection: Selection) -> dict[str, Any]:
    """Counts tasks by band, reason and side, and tells what the pool will give.

    A selection keeps them (`Selection.figures`), since every output shows some of them.

    Args:
        selection: a finished selection.

    Returns:
        Plain JSON values. In `bands`, `kept` counts the pool and `not_kept` the other tasks whose
        estimate lies in the band, whatever kept them out. `predicted` sums what each task's own
        posterior says, `outlook` learns from all tasks together and has intervals. Shares and
        expectations have six digits; a share of nothing is None.
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
        "outlook": selection.outlook,
        "probing": probing(selection),
        "audit": _audit(selection),
    }


def probing(selection: Selection) -> dict[str, Any]:
    """What the probe has spent, against the same number of attempts at every task.

    Returns:
        Plain JSON values. `spent` counts tasks by clean runs, split as the pictures show them;
        `fewer` is the share of clean runs saved and null where no rule stopped tasks.
    """
    probe = selection.curation.probe
    rule = stop_rule(selection.curation)
    probed = [d for d in selection.decisions if d.result.tries]
    clean = sum(d.result.clean_runs for d in probed)
    fixed = probe.attempts * len(probed)
    most = max((d.result.clean_runs for d in probed), default=0)
    spent = [
        {"clean_runs": runs, "kept": 0, "left_early": 0, "not_kept": 0} for runs in range(most + 1)
    ]
    for decision in probed:
        kind = "kept" if decision.kept else "left_early" if decision.stopped else "not_kept"
        spent[decision.result.clean_runs][kind] += 1
    return {
        "stop": probe.stop,
        "attempts": probe.attempts,
        "most": probe.attempts if rule is None else rule.most,
        "clean_runs": clean,
        "left_early": sum(d.stopped for d in probed),
        "fewer": None if rule is None or not fixed else round(1 - clean / fixed, 6),
        "spent": spent,
    }


def _audit(selection: Selection) -> dict[str, Any] | None:
    """The audit, and how many decisions hang on attempts that have no verdict."""
    found = selection.audit
    if found is None:
        return None
    settings = selection.curation
    broken = [
        d
        for d in selection.decisions
        if d.result.errored_runs
        and not d.stopped
        and (d.kept or d.reason in {UNPROBED, UNDECIDED} or d.band is not None)
    ]
    passes = np.asarray([d.result.passes for d in broken])
    missing = np.asarray([d.result.errored_runs for d in broken])
    runs = np.asarray([d.result.clean_runs for d in broken]) + missing
    at_stake = 0
    if broken:
        ends = [
            kept_by(k, runs, settings.bands.edges, settings.bands.retain)
            for k in (passes, passes + missing)
        ]
        at_stake = int((ends[0] != ends[1]).sum())
    return {
        **found,
        "without_verdict": int(sum(d.result.errored_runs for d in selection.decisions)),
        "decisions_at_stake": at_stake,
    }


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)
