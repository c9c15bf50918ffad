"""A result on the terminal: the classes as a table, then each example with both readings."""

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from outcomebox.interpret.replay.errors import shorten
from outcomebox.interpret.replay.offers import signatures
from outcomebox.interpret.replay.printable import printable, visible

_MOST_SHOWN = 700
"""Characters of an output that are shown; more of it is in the JSON and the page."""

_AROUND = 250
"""Characters kept on each side of the spot in a longer output."""

MISSING = "—"


def show(report: dict[str, Any]) -> RenderableType:
    """Return a report (see `report_json`) as something to print.

    Args:
        report: The report.
    """
    parts: list[RenderableType] = [_summary(report)]
    if report["classes"]:
        parts.append(_table(report))
    for each in report["classes"]:
        found = each["shrunk"] or each["example"]
        if found is not None:
            parts.append(_example(report, each, found))
    return Group(*parts)


def _summary(report: dict[str, Any]) -> Text:
    turns, differing = report["turns"], report["differing"]
    text = Text.assemble(
        (f"{report['left']} against {report['right']}", "bold"),
        f": {turns} turns, {differing} differ ({_share(differing, turns)}); "
        f"{report['turns_changed']} of them execute something else, "
        f"{report['calls_changed']} of {report['calls']} calls",
    )
    if not differing:
        text.append(" - no difference", "green")
    return text


def _table(report: dict[str, Any]) -> Table:
    table = Table("difference", pad_edge=False)
    for name in ("turns", "share", "calls changed in"):
        table.add_column(name, justify="right")
    shared = False
    for each in report["classes"]:
        if each["shared"] and not shared:
            table.add_section()
            shared = True
        table.add_row(
            Text(each["title"], "" if not each["shared"] else "yellow"),
            str(each["turns"]),
            _share(each["turns"], report["turns"]),
            str(each["calls_changed"]) if each["calls_changed"] else MISSING,
        )
    return table


def _example(report: dict[str, Any], each: dict[str, Any], found: dict[str, Any]) -> Panel:
    finding = next(
        finding
        for finding in found["findings"]
        if (finding["cause"], finding["by"]) == (each["cause"], each["by"])
    )
    readings = Table.grid(padding=(0, 2), expand=True)
    readings.add_column(ratio=1)
    readings.add_column(ratio=1)
    readings.add_row(Text(report["left"], "bold"), Text(report["right"], "bold"))
    for left, right in _side_by_side(found["left"], found["right"]):
        style = "" if left == right else "red"
        readings.add_row(Text(left, style), Text(right, style))
    tools = f", tools {signatures(found['tools'])}" if found.get("tools") else ""
    body = Group(
        Text(each["title"], "bold"),
        Text(),
        _spotted(found["output"], finding["span"]),
        Text(
            printable(
                f"prompt_state {found['prompt_state']}, finish_reason {found['finish_reason']}, "
                f"differs in {finding['where']}{tools}"
            ),
            "dim",
        ),
        readings,
    )
    return Panel(body, title=Text(_origin(each, found)), title_align="left")


def _origin(each: dict[str, Any], found: dict[str, Any]) -> str:
    place = ":".join(str(found[name]) for name in ("file", "line", "place") if found[name])
    if each["shrunk"] is None:
        return place
    minimal = "smallest" if found["minimal"] else "small (the tries ran out)"
    return f"{minimal}, from {place}" if place else minimal


def _spotted(text: str, span: list[int] | None) -> Text:
    """Return the output with the spot marked, and what is far from it left out."""
    start, end = span or (0, 0)
    first, last = 0, len(text)
    if len(text) > _MOST_SHOWN:
        first, last = max(0, start - _AROUND), min(len(text), max(end, start) + _AROUND)
        last = min(last, first + _MOST_SHOWN)
    shown = Text("..." if first else "", "dim")
    shown.append(visible(text[first : max(first, start)]))
    shown.append(visible(text[max(first, start) : min(last, end)]), "bold reverse")
    shown.append(visible(text[min(last, max(first, end)) : last]))
    shown.append("..." if last < len(text) else "", "dim")
    return shown


def _side_by_side(left: dict[str, Any], right: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("error", "reasoning", "content"):
        if left[name] or right[name]:
            yield _line(name, left[name]), _line(name, right[name])
    for index in range(max(len(left["calls"]), len(right["calls"]))):
        yield _call(left["calls"], index), _call(right["calls"], index)


def _line(name: str, value: str | None) -> str:
    return f"{name} {shorten(printable(repr(value)), _MOST_SHOWN) if value else MISSING}"


def _call(calls: list[dict[str, Any]], index: int) -> str:
    if index >= len(calls):
        return f"call {MISSING}"
    call = calls[index]
    refused = "" if call["executable"] else f" [{call['status']}, not executed]"
    return printable(f"call {call['name']} {shorten(call['arguments'], _MOST_SHOWN)}{refused}")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else MISSING
