"""What a run of recorded episodes under another profile is shown as."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from outcomebox.eval.replay_reparse import Reparsed, ReparseSettings

_OUTCOMES = ("passed", "failed", "system_error")
_MOST = 20
_MOST_SHOWN = 60
"""Characters of a value that are shown."""


def summary(done: Reparsed, settings: ReparseSettings) -> dict[str, Any]:
    """The run as plain JSON values."""
    profiles = sorted({row["recorded"]["profile"] for row in done.rows})
    changes = done.changes()
    return {
        "recorded_profiles": profiles,
        "profile": settings.profile,
        "plain_schemas": settings.plain_schemas,
        "episodes": len(done.rows),
        "tools_refused": sum(row["tools_refused"] for row in done.rows),
        "ran_out": sum(row["ran_out"] for row in done.rows),
        "calls_differ": sum(row["first_difference"] is not None for row in done.rows),
        "verdicts": [
            {"recorded": before, "now": now, "episodes": changes[before, now]}
            for before in _OUTCOMES[:2]
            for now in _OUTCOMES
            if changes[before, now]
        ],
        "changed": [
            {
                name: row[name]
                for name in ("uid", "repetition", "verdict", "first_difference", "finish_reason")
            }
            for row in done.rows
            if row["verdict"] not in {row["recorded"]["verdict"], "system_error"}
        ],
        "wall_s": round(done.wall_s, 3),
        "out": settings.out.as_posix(),
    }


def show(found: dict[str, Any]) -> None:
    """Print the summary: a table of verdicts, then the episodes whose verdict changed."""
    console = Console(highlight=False)
    title = (
        f"{found['episodes']} recorded episodes ({', '.join(found['recorded_profiles'])}) "
        f"read as {found['profile']}: in {found['calls_differ']} other calls are executed"
    )
    table = Table("recorded verdict", title=title)
    for name in _OUTCOMES:
        table.add_column(f"now {name.replace('_', ' ')}", justify="right")
    counts = {(each["recorded"], each["now"]): each["episodes"] for each in found["verdicts"]}
    for before in _OUTCOMES[:2]:
        table.add_row(before, *(str(counts.get((before, now), 0)) for now in _OUTCOMES))
    console.print(table)
    for row in found["changed"][:_MOST]:
        first = row["first_difference"]
        why = "" if first is None else f": turn {first['turn']} {_calls(first)}"
        console.print(
            f"  {row['uid']} #{row['repetition']} is now {row['verdict']}{why}",
            markup=False,
            soft_wrap=True,
        )
    if len(found["changed"]) > _MOST:
        console.print(f"  ... and {len(found['changed']) - _MOST} more")


def notes(found: dict[str, Any]) -> list[str]:
    """What to know of the figures."""
    told = []
    if found["tools_refused"]:
        told.append(
            f"in {found['tools_refused']} episodes {found['profile']} refuses the tools as they "
            "are, so that it reads nothing; --plain-schemas tells it plain types"
        )
    if found["ran_out"]:
        told.append(
            f"{found['ran_out']} episodes went on when no recorded output was left, and were ended"
        )
    return told


def _calls(first: dict[str, Any]) -> str:
    before, now = first["recorded"], first["now"]
    if [call["name"] for call in before] == [call["name"] for call in now]:
        one, other = next(
            (one, other) for one, other in zip(before, now, strict=True) if one != other
        )
        names = {**one["arguments"], **other["arguments"]}
        differing = [name for name in names if _value(one, name) != _value(other, name)]
        told = (f"{n} was {_value(one, n)}, is {_value(other, n)}" for n in differing)
        return f"{one['name']}: {'; '.join(told)}"
    sides = (", ".join(call["name"] for call in side) or "nothing" for side in (before, now))
    return "executed {}, now {}".format(*sides)


def _value(call: dict[str, Any], name: str) -> str:
    if name not in call["arguments"]:
        return "missing"
    text = json.dumps(call["arguments"][name], ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
