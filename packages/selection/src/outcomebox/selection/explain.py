"""Everything known about one task: what `--explain UID` shows."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from outcomebox.selection.curate import Selection
from outcomebox.selection.decision import REASON_TEXTS, TaskDecision
from outcomebox.selection.errors import InputError, shown
from outcomebox.selection.gates import copy_text, solved_probability


def find_decision(selection: Selection, uid: str) -> TaskDecision:
    """Looks a task up.

    Args:
        selection: a finished selection.
        uid: the task's uid.

    Raises:
        InputError: if there is no such task, with the nearest uids.
    """
    known = {decision.uid: decision for decision in selection.decisions}
    if uid not in known:
        near = get_close_matches(uid, list(known), n=3)
        hint = f"Did you mean {', '.join(near)}" if near else f"There are {len(known)} other tasks"
        raise InputError("command line", "--explain", f"{shown(uid)} is no task here", hint)
    return known[uid]


def explain_json(selection: Selection, decision: TaskDecision) -> dict[str, Any]:
    """The explanation as plain JSON values; numbers that do not exist are null."""
    task, result, estimate = decision.task, decision.result, decision.estimate
    known = None if decision.stopped else estimate
    bands = selection.curation.bands.bands
    return {
        "uid": task.uid,
        "domain": task.domain,
        "family": task.family,
        "tags": list(task.tags),
        "hash": task.hash,
        "passes": result.passes,
        "clean_runs": result.clean_runs,
        "errored_runs": result.errored_runs,
        "system_errors": result.system_errors,
        "tries": result.tries,
        "superseded": result.superseded,
        "stopped": decision.stopped,
        "masses": known
        and {band.name: mass for band, mass in zip(bands, known.masses, strict=True)},
        "posterior_mean": known and known.mean,
        "interval": known and list(known.interval),
        "mixed_share": estimate and estimate.mixed_share,
        "band": decision.band and decision.band.name,
        "band_probability": decision.band_probability,
        "status": decision.status,
        "reason": decision.reason,
        "detail": decision.detail,
        "side": decision.side,
        "retained_probability": retained(selection, decision),
        "reference_model": _model_json(selection, decision),
        "near": None
        if decision.near is None
        else {"uid": decision.near.of, "text": decision.near.text, "state": decision.near.state},
    }


def retained(selection: Selection, decision: TaskDecision) -> float | None:
    """Posterior probability that the pass rate lies in a retained band; None without a rate."""
    if decision.estimate is None or decision.stopped:
        return None
    bands = selection.curation.bands
    pairs = zip(bands.bands, decision.estimate.masses, strict=True)
    return sum(mass for band, mass in pairs if band.name in bands.retain)


def _model_json(selection: Selection, decision: TaskDecision) -> dict[str, Any] | None:
    model, gate = decision.model, selection.curation.gates.reference_model
    if model is None:
        return None
    plain: dict[str, Any] = {"passes": model.passes, "clean_runs": model.clean_runs}
    if gate.rate is not None and model.clean_runs:
        plain |= {"rate": gate.rate, "probability": solved_probability(model, gate.rate)}
    return plain


def explain(selection: Selection, decision: TaskDecision) -> RenderableType:
    """The explanation for people."""
    task, result = decision.task, decision.result
    lines = [
        Text(task.uid, style="bold"),
        Text(f"domain {task.domain}, family {task.family}, tags {', '.join(task.tags) or 'none'}"),
        Text(
            f"{result.passes} passes in {result.clean_runs} clean runs; {result.tries} tries, "
            f"{result.system_errors} system errors"
        ),
        *_beside(selection, decision),
    ]
    return Group(*lines, *_estimate(selection, decision), _verdict(decision))


def _beside(selection: Selection, decision: TaskDecision) -> list[Text]:
    """What is known beside the policy's own episodes."""
    lines = []
    model = _model_json(selection, decision)
    if model is not None:
        more = ""
        if "probability" in model:
            more = f"; P(pass rate > {model['rate']:g}) is {model['probability']:.1%}"
        lines.append(
            Text(
                f"reference model: {model['passes']} passes in {model['clean_runs']} clean runs"
                + more
            )
        )
    if decision.near is not None:
        lines.append(Text(copy_text(decision.near)))
    return lines


def _estimate(selection: Selection, decision: TaskDecision) -> list[RenderableType]:
    estimate = decision.estimate
    if estimate is None:
        return []
    mixed = Text(
        f"chance that a group of {selection.curation.group_size} is mixed: "
        f"{estimate.mixed_share:.1%}"
    )
    if decision.stopped:
        return [Text("the probe was stopped early: no band and no rate"), mixed]
    table = Table(box=None, pad_edge=False)
    table.add_column("band")
    table.add_column("pass rate")
    table.add_column("probability", justify="right")
    for band, mass in zip(selection.curation.bands.bands, estimate.masses, strict=True):
        style = "bold" if band == decision.band else None
        table.add_row(band.title, f"{band.low:.2f} - {band.high:.2f}", f"{mass:.1%}", style=style)
    low, high = estimate.interval
    mean = Text(f"posterior mean {estimate.mean:.3f}, 95 % interval {low:.3f} to {high:.3f}")
    names = ", ".join(selection.curation.bands.retain)
    kept = Text(f"in a retained band ({names}): {retained(selection, decision) or 0.0:.1%}")
    return [table, mean, kept, mixed]


def _verdict(decision: TaskDecision) -> Text:
    if decision.reason is None:
        return Text(f"kept, on the {decision.side} side", style="green")
    detail = f" ({decision.detail})" if decision.detail else ""
    return Text(
        f"{decision.status}: {decision.reason}, {REASON_TEXTS[decision.reason]}{detail}",
        style="yellow",
    )
