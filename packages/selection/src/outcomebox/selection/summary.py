"""What the terminal shows, and the same as one JSON object."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from outcomebox.selection.curate import Selection
from outcomebox.selection.decision import REASON_TEXTS
from outcomebox.selection.forecast import told_audit, told_outlook
from outcomebox.selection.provenance import Provenance

_BAR = 28


def summary_json(
    selection: Selection, provenance: Provenance, written: Sequence[Path] = ()
) -> dict[str, Any]:
    """The summary for programs.

    Args:
        selection: a finished selection.
        provenance: where its inputs came from.
        written: files that were written.

    Returns:
        Plain JSON values; `not_kept` names every task that was not kept under its one reason.
    """
    names: dict[str, list[str]] = {reason: [] for reason in selection.reasons()}
    for decision in selection.decisions:
        if decision.reason is not None:
            names[decision.reason].append(decision.uid)
    return {
        "policy": provenance.policy,
        "simulated": provenance.simulated,
        "episodes": {
            "digest": provenance.episodes,
            "rows": provenance.rows,
            "torn_lines": provenance.torn_lines,
            "repeated": provenance.repeated,
            "other_policies": dict(provenance.others),
        },
        "figures": selection.figures,
        "not_kept": names,
        "notes": _notes(selection, provenance),
        "written": [path.as_posix() for path in written],
    }


def summary(
    selection: Selection,
    provenance: Provenance,
    written: Sequence[Path] = (),
    next_step: str | None = None,
) -> RenderableType:
    """The summary for people, to be printed on a rich console.

    Args:
        selection: a finished selection.
        provenance: where its inputs came from.
        written: files that were written.
        next_step: what to run next, shown last.
    """
    counts = selection.figures
    parts: list[RenderableType] = [
        _title(counts, provenance),
        _band_table(counts),
        _outcome(counts),
        *(_reason_table(counts) if counts["reasons"] else ()),
        *_probing(counts),
        *told_outlook(counts),
        *told_audit(counts),
    ]
    parts += [Text(f"Note: {note}", style="yellow") for note in _notes(selection, provenance)]
    if written:
        names = ", ".join(path.name for path in written)
        parts.append(Text(f"Wrote {names} to {written[0].parent}"))
    if next_step:
        parts.append(Text.assemble(("Next: ", "bold"), next_step))
    return Group(*parts)


def _title(counts: dict[str, Any], provenance: Provenance) -> Text:
    runs = counts["runs"]
    return Text.assemble(
        (f"{counts['tasks']} tasks", "bold"),
        f" by their difficulty for {provenance.policy_phrase}: ",
        f"{runs['clean']} clean runs",
        (f", {runs['system_errors']} system errors", "red") if runs["system_errors"] else "",
    )


def _bar(kept: int, others: int, most: int, scale: int = _BAR) -> Text:
    """A bar of at most `scale` cells; one cell at least for a count above 0."""

    def cells(count: int) -> int:
        return max(1, round(count * scale / most)) if count else 0

    return Text.assemble(("█" * cells(kept), "blue"), ("░" * cells(others), "bright_black"))


def _band_table(counts: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("band")
    table.add_column("pass rate")
    table.add_column("tasks", justify="right")
    table.add_column("kept", justify="right")
    table.add_column("█ kept  ░ not kept", no_wrap=True)
    rows = [
        (
            band["name"].replace("_", " "),
            f"{band['low']:.2f} - {band['high']:.2f}",
            band["kept"],
            band["not_kept"],
        )
        for band in counts["bands"]
    ]
    without = counts["without_band"]
    if both := without["kept"] + without["not_kept"]:
        name = "left early" if both == counts["probing"]["left_early"] else "no band"
        rows.append((name, "", without["kept"], without["not_kept"]))
    most = max(1, *(kept + others for *_, kept, others in rows))
    for name, span, kept, others in rows:
        table.add_row(name, span, str(kept + others), str(kept), _bar(kept, others, most))
    return table


def _outcome(counts: dict[str, Any]) -> Text:
    return Text.assemble(
        (f"Kept {counts['kept']} of {counts['tasks']}", "bold"),
        f": {counts['train']} train, {counts['test']} test. "
        f"Dropped {counts['dropped']}, undecided {counts['undecided']}.",
    )


def _reason_table(counts: dict[str, Any]) -> tuple[Table]:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    table.add_column(style="bright_black")
    for reason, count in counts["reasons"].items():
        table.add_row(str(count), reason, REASON_TEXTS[reason])
    return (table,)


def _probing(counts: dict[str, Any]) -> tuple[Text, ...]:
    told = counts["probing"]
    if told["fewer"] is None:
        return ()
    fewer = told["fewer"]
    against = f"{abs(fewer):.1%} {'fewer' if fewer >= 0 else 'more'} than {told['attempts']} a task"
    return (
        Text.assemble(
            f"Probed until the decision was {_SURE[told['stop']]}: ",
            f"{told['clean_runs']} clean runs, ",
            (against, "bold"),
            f"; {told['left_early']} tasks were left early.",
        ),
    )


_SURE = {"exact": "certain", "bayes": "likely enough"}


def _notes(selection: Selection, provenance: Provenance) -> list[str]:
    notes = list(selection.notes)
    if provenance.torn_lines:
        notes.append(f"{provenance.torn_lines} unfinished last line(s) were left out.")
    if provenance.repeated:
        what = "row stood" if provenance.repeated == 1 else "rows stood"
        notes.append(f"{provenance.repeated} {what} there twice, the same; each counts once.")
    if provenance.others:
        names = ", ".join(name for name, _ in provenance.others)
        rows = sum(rows for _, rows in provenance.others)
        notes.append(f"{rows} rows of other policies ({names}) decide nothing.")
    return notes
