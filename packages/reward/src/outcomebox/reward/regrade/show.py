"""A report on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from outcomebox.reward.pages.parts import printable

_MOST_MOVED = 20
_MOST_REASONS = 2
_OUTCOMES = ("passed", "failed", "system_error")


def show(report: Mapping[str, Any], console: Console) -> None:
    """Print a report.

    Args:
        report: As :meth:`Report.to_json` gives it.
        console: Where to.
    """
    total = f"{report['rows']} rows of {report['run']}, {report['regraded']} graded again"
    _say(f"{total}; {len(report['moved'])} verdicts moved", console)
    if report["regraded"]:
        console.print(_crossed(report))
    for entry in report["moved"][:_MOST_MOVED]:
        for line in _moved(entry):
            _say(line, console)
    _more(report["moved"], "moved", console)
    otherwise = len(report["explained_otherwise"])
    if otherwise:
        console.print(
            f"{otherwise} have the same verdict for other reasons, {report['same_reasons']} fail "
            "for the same ones"
        )
    changed = [each for each in report["tasks"] if each["before"] != each["after"]]
    if changed:
        console.print(_tasks(changed[:_MOST_MOVED]))
        _more(changed, "tasks", console)
    for each in report["left"]:
        _say(f"not graded again: {each['rows']} ({each['cause']}): {each['meaning']}", console)
        first = each["examples"][0]
        place = f"{first['uid']} #{first['repetition']} (line {first['line']})"
        _say(f"  such as {place}: {first['message']}", console)
    for note in report["notes"]:
        _say(f"Note: {note}", console)


def _say(line: str, console: Console) -> None:
    # What a model or an endpoint said may stand in it, and must not steer a terminal.
    console.print(printable(line), markup=False, soft_wrap=True)


def _crossed(report: Mapping[str, Any]) -> Table:
    counts = {(each["was"], each["now"]): each["rows"] for each in report["verdicts"]}
    table = Table("recorded verdict")
    for now in _OUTCOMES:
        table.add_column(f"now {now.replace('_', ' ')}", justify="right")
    for was in _OUTCOMES:
        if any((was, now) in counts for now in _OUTCOMES):
            cells = [str(counts.get((was, now), 0)) for now in _OUTCOMES]
            table.add_row(was.replace("_", " "), *cells)
    return table


def _moved(entry: Mapping[str, Any]) -> Iterator[str]:
    why = ", ".join(entry["why"]) or "nothing that a row records"
    yield (
        f"{entry['uid']} #{entry['repetition']}: {entry['was']['outcome']} -> "
        f"{entry['now']['outcome']} (changed since: {why})"
    )
    for name in ("was", "now"):
        verdict = entry[name]
        error = verdict.get("error")
        lines = [each["message"] for each in verdict["reasons"]]
        lines += [f"{error['type']}: {error['message']}"] if error else []
        for line in lines[:_MOST_REASONS]:
            yield f"  {name}: {line}"
        if len(lines) > _MOST_REASONS:
            yield f"  {name}: and {len(lines) - _MOST_REASONS} more"


def _tasks(tasks: list[Mapping[str, Any]]) -> Table:
    table = Table("task")
    table.add_column("passed before", justify="right")
    table.add_column("passed now", justify="right")
    for each in tasks:
        counts = [f"{each[name][0]} of {each[name][1]}" for name in ("before", "after")]
        table.add_row(escape(each["uid"]), *counts)
    return table


def _more(entries: list[Any], what: str, console: Console) -> None:
    if len(entries) > _MOST_MOVED:
        console.print(f"... and {len(entries) - _MOST_MOVED} more {what}: see --json or --html")
