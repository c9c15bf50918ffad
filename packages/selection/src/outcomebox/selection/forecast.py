"""What a pool will give, as the terminal tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

Plain = Mapping[str, Any]


def percent(share: float | None) -> str:
    """A share for people; a dash where there is none."""
    return "-" if share is None else f"{share:.1%}"


def share_span(span: Plain) -> str:
    """A share with its 95 % interval."""
    return f"{span['value']:.1%} ({span['low']:.1%} to {span['high']:.1%})"


def count_span(span: Plain) -> str:
    """A number with its 95 % interval."""
    digits = 0 if span["value"] >= 10 else 1
    return f"{span['value']:.{digits}f} ({span['low']:.0f} to {span['high']:.0f})"


def big(number: float) -> str:
    """A large number in three digits, such as `1.24 M`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.3g}"


def wasted(step: Plain) -> str:
    """What the wasted rollouts of a step take, in tokens and money where they are known."""
    parts = []
    if step["wasted_tokens"] is not None:
        span = step["wasted_tokens"]
        ends = f"{big(span['low'])} to {big(span['high'])}"
        parts.append(f"{big(span['value'])} tokens ({ends})")
    if step["wasted_cost"] is not None:
        span = step["wasted_cost"]
        parts.append(f"${span['value']:.2f} (${span['low']:.2f} to ${span['high']:.2f})")
    return ", ".join(parts)


def told_outlook(counts: Plain) -> tuple[RenderableType, ...]:
    """The outlook of a pool; nothing where there is no pool.

    Args:
        counts: what `figures` gave.
    """
    found = counts["outlook"]
    if found is None:
        return ()
    step = found["step"]
    spent = wasted(step)
    parts: list[RenderableType] = [
        Text.assemble(
            f"Mixed groups of {found['group_size']}: ",
            (share_span(found["mixed_share"]), "bold"),
            f" in the pool, {percent(found['mixed_share_unselected']['value'])} without selection.",
        ),
        Text.assemble(
            f"A step of {step['groups']} groups: ",
            (f"{count_span(step['useful_groups'])} useful", "bold"),
            f"; {count_span(step['wasted_rollouts'])} of {step['rollouts']} rollouts wasted",
            f", {spent}." if spent else ".",
        ),
        _decay(found),
    ]
    if (half := found["half_life"]) is not None:
        parts.append(
            Text(
                f"Half of it has left the retained bands after {half['shift']:g} log-odds, at a "
                f"pass rate of about {half['pass_rate']:.0%}: probe again before that."
            )
        )
    if found["edges"]:
        parts.append(_edges(found))
    elif found["edges"] is None:
        parts.append(
            Text(
                "Other edges are not compared: tasks were left early for those in force.", "yellow"
            )
        )
    return tuple(parts)


def _decay(found: Plain) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    table.add_column("if the policy improves")
    table.add_column("pass rate", justify="right")
    table.add_column("mixed groups", justify="right")
    table.add_column("tasks that leave", justify="right")
    for worn in found["decay"]:
        shift = worn["shift"]
        table.add_row(
            f"by {shift:g} log-odds" if shift else "not yet",
            percent(worn["pass_rate"]["value"]),
            share_span(worn["mixed_share"]),
            count_span(worn["left"]) if shift else "",
        )
    return Padding(table, (0, 0, 0, 2))


def _edges(found: Plain) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    table.add_column("edges", no_wrap=True)
    table.add_column("kept", justify="right")
    table.add_column("", no_wrap=True)
    for name in ("mixed groups", "useful a pass", "truly inside"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found["edges"]:
        known = one["mixed_share"] is not None
        table.add_row(
            " ".join(f"{edge:g}" for edge in one["edges"][1:-1]),
            str(one["kept"]),
            "in force" if one["in_force"] else f"+{one['gained']} -{one['lost']}",
            percent(one["mixed_share"]["value"]) if known else "-",
            f"{one['useful_groups']['value']:.0f}" if known else "-",
            percent(one["inside_share"]["value"]) if known else "-",
        )
    return Padding(table, (0, 0, 0, 2))


def told_audit(counts: Plain) -> tuple[RenderableType, ...]:
    """What system errors go with; nothing where they go with nothing.

    Args:
        counts: what `figures` gave.
    """
    found = counts["audit"]
    if found is None:
        return ()
    told = [
        Text(f"Warning: {warning} The clean runs are a biased sample.", style="bold red")
        for warning in found["warnings"]
    ]
    if found["decisions_at_stake"]:
        told.append(
            Text(
                f"Warning: {found['without_verdict']} attempts have no verdict, and the decision "
                f"about {found['decisions_at_stake']} tasks hangs on them.",
                style="bold red",
            )
        )
    return tuple(told)
