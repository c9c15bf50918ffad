"""`bands.csv`: one line a task, with everything that decided about it."""

from __future__ import annotations

import csv
import io

from outcomebox.selection.bands import BAND_NAMES
from outcomebox.selection.curate import Selection
from outcomebox.selection.decision import TaskDecision

COLUMNS = (
    "uid",
    "domain",
    "family",
    "passes",
    "clean_runs",
    "system_errors",
    "tries",
    "band",
    *(f"mass_{name}" for name in BAND_NAMES),
    "posterior_mean",
    "interval_low",
    "interval_high",
    "mixed_share",
    "stopped",
    "kept",
    "side",
    "reason",
    "detail",
)


def _row(decision: TaskDecision) -> list[str]:
    task, result, estimate = decision.task, decision.result, decision.estimate
    numbers: list[float] | None = None
    if estimate is not None and not decision.stopped:
        numbers = [*estimate.masses, estimate.mean, *estimate.interval]
    return [
        task.uid,
        task.domain,
        task.family,
        str(result.passes),
        str(result.clean_runs),
        str(result.system_errors),
        str(result.tries),
        decision.band.name if decision.band else "",
        *([""] * (len(BAND_NAMES) + 3) if numbers is None else [f"{x:.6f}" for x in numbers]),
        "" if estimate is None else f"{estimate.mixed_share:.6f}",
        str(decision.stopped).lower(),
        str(decision.kept).lower(),
        decision.side or "",
        decision.reason or "",
        decision.detail or "",
    ]


def bands_csv(selection: Selection) -> str:
    """Writes the table.

    Args:
        selection: a finished selection.

    Returns:
        CSV text, lines sorted by uid and ended by LF; a number that does not exist is empty. A
        stopped task has no masses, mean and interval: its rate depends on when it was stopped.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_row(decision) for decision in selection.decisions)
    return buffer.getvalue()
