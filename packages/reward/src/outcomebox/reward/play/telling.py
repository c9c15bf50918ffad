"""Tools, changes and verdicts in a terminal's words."""

from __future__ import annotations

import json
from collections.abc import Sequence

from outcomebox.reward.showing import show, show_key, show_row
from outcomebox.reward.verdict import Verdict
from outcomebox.sandbox import Change, ToolSpec

_SIGNS = {"insert": "+", "update": "~", "delete": "-"}


def told_tools(tools: Sequence[ToolSpec]) -> str:
    """All tools, a line each: ``*`` marks those that may write."""
    lines = ["Tools (* may write):"]
    for tool in tools:
        first = tool.description.strip().partition("\n")[0]
        lines.append(f"{'*' if tool.writes else ' '} {tool.name}({_arguments(tool)})  {first}")
    return "\n".join(lines)


def told_tool(tool: ToolSpec) -> str:
    """One tool with the schema of its arguments."""
    schema = json.dumps(tool.input_schema, ensure_ascii=False, indent=2)
    return f"{tool.name}\n{tool.description.strip()}\n{schema}"


def told_change(change: Change) -> str:
    """A change in one line."""
    sign, key = _SIGNS[change.op], show_key(change.key)
    start = f"{sign} {change.table}{key}"
    if change.op == "insert":
        return f"{start} {show_row(change.new or {})}"
    if change.old is None or change.new is None:
        return f"{start} {show_row(change.old or {})}"
    cells = [
        f"{column}: {show(change.old.get(column))} -> {show(change.new.get(column))}"
        for column in change.columns
    ]
    return f"{start} {', '.join(cells)}"


def told_verdict(verdict: Verdict) -> str:
    """The verdict, and why."""
    lines = [f"Verdict: {verdict.outcome}"]
    if verdict.error is not None:
        error = verdict.error
        lines.append(f"  {error['phase']}: {error['type']}: {error['message']}")
    return "\n".join([*lines, *(f"  {reason.message}" for reason in verdict.reasons)])


def _arguments(tool: ToolSpec) -> str:
    required = tool.input_schema.get("required") or ()
    names = tool.input_schema.get("properties") or {}
    return ", ".join(name if name in required else f"[{name}]" for name in names)
