"""A conversation in a terminal, of any width, with or without colour.

All text of a run is made printable first (control characters, halves of characters and marks of
direction become pictures or escapes) and is never read as markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from outcomebox.interpret.replay.printable import printable
from outcomebox.rollout.showing.facts import facts_of
from outcomebox.rollout.showing.placing import Json
from outcomebox.rollout.showing.words import OUTCOMES

STYLES: Mapping[str, str] = {
    "passed": "bold green",
    "failed": "bold red",
    "system_error": "bold magenta",
}
SIGNS: Mapping[str, str] = {"passed": "✓", "failed": "✗", "system_error": "!"}
_OPS = {"insert": ("+", "green"), "update": ("~", "cyan"), "delete": ("-", "red")}
_WIDE = 120
_LINES = 12
_CHARACTERS = 1_000


def safe(value: object, style: str = "") -> Text:
    """Any text, printable and unread."""
    return Text(printable(str(value)), style=style)


def show_episode(view: Json, console: Console, *, full: bool = False) -> None:
    """Print an episode.

    Args:
        view: See :func:`~outcomebox.rollout.showing.view.view_of`.
        console: Where to.
        full: Whether long texts, system messages and raw output are printed whole.
    """
    shown = _Shown(full, beside=console.width >= _WIDE)
    console.print(_title(view))
    console.print(Padding(Group(*_verdict(view)), (0, 0, 0, 2)))
    console.print(Padding(_facts(view), (0, 0, 0, 2)))
    console.print(Rule(style="dim"))
    for step in view["steps"]:
        console.print(Group(*shown.step(step)))
    rest = list(shown.rest(view))
    if rest:
        console.print(Rule(style="dim"))
        console.print(Group(*rest))


def _title(view: Json) -> Text:
    style = STYLES.get(view["outcome"], "bold")
    attempt = f" try {view['try']}" if view["try"] else ""
    return Text.assemble(
        (f"{SIGNS.get(view['outcome'], '?')} {OUTCOMES.get(view['outcome'], '?')}", style),
        "  ",
        safe(view["uid"], "bold"),
        f" #{view['repetition']}{attempt}",
        (f"  {printable(str(view['finish_reason']))}" if view["finish_reason"] else "", "dim"),
        ("  simulated policy: no model" if view["simulated"] else "", "yellow"),
    )


def _verdict(view: Json) -> Iterator[RenderableType]:
    error = view["error"]
    if error is not None:
        yield safe(
            f"No verdict: {error['title']} (phase {error['phase']}). Infrastructure failed; this "
            "is not a failure of the agent.",
            "magenta",
        )
        yield safe(f"{error['type']}: {error['message']}")
        yield safe(f"▸ {error['look']}", "dim")
    for reason in view["reasons"]:
        yield Text.assemble((f"{reason['title']}: ", "red"), safe(reason["message"] or ""))
        hint = f"{reason['look']} {_by(reason['calls'])}".strip()
        if hint:
            yield safe(f"▸ {hint}", "dim")
    if view["outcome"] == "passed":
        changed = view["changed"]
        rows = f"{changed} row{'s' * (changed != 1)} changed" if changed else "nothing changed"
        yield Text(f"The end state is as the task asks: {rows}.", "green")


def _by(calls: Sequence[Json]) -> str:
    if not calls:
        return ""
    named = ", ".join(f"call {call['index']} {call['name']}" for call in calls)
    return f"Written by {named}."


def _facts(view: Json) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts_of(view):
        grid.add_row(name, safe(value))
    return grid


class _Shown:
    """Parts of a conversation; what is long is cut unless all is asked for."""

    def __init__(self, full: bool, beside: bool) -> None:
        self._full = full
        self._beside = beside

    def step(self, step: Json) -> Iterator[RenderableType]:
        took = f"  {seconds(step.get('seconds'))}"
        if step["role"] == "system":
            length = f"{len(step['text']):,}".replace(",", " ")
            yield Text.assemble(("system", "bold"), (f"  {length} characters, --full", "dim"))
            if self._full:
                yield self._text(step["text"])
            return
        name = {"assistant": "agent"}.get(step["role"], step["role"])
        style = {"assistant": "bold cyan", "user": "bold blue"}.get(step["role"], "bold")
        yield Text.assemble(
            safe(name, style),
            (took, "dim"),
            (f"  {printable(str(step['finish_reason']))}", "yellow")
            if step.get("finish_reason") not in (None, "stop", "tool_calls")
            else "",
        )
        if step.get("reasoning"):
            yield self._text(step["reasoning"].strip(), "dim italic")
        if step["text"].strip():
            yield self._text(step["text"].strip())
        for each in step.get("diagnostics", ()):
            yield self._text(str(each), "yellow")
        for call in step.get("calls", ()):
            yield from self._call(call)
        if self._full and step.get("raw"):
            yield Padding(Text("as the model wrote it", "dim"), (0, 0, 0, 2))
            yield self._text(step["raw"], "dim")

    def _call(self, call: Json) -> Iterator[RenderableType]:
        head = Text.assemble(
            ("call " if call["index"] is None else f"call {call['index']} ", "dim"),
            safe(call["name"] or "(no name)", "bold"),
            "(",
            safe(", ".join(f"{name}={_value(v)}" for name, v in call["arguments"].items())),
            ")",
        )
        if call["status"] != "ok":
            head.append_text(safe(f"  {call['status']}: {call['why']}", "yellow"))
        parts: list[RenderableType] = [head]
        if not call["executable"]:
            parts.append(safe(f"not executed: {call['why']}", "red"))
        answer = call.get("answer")
        if answer is None:
            parts.append(Text("no answer was recorded", "dim"))
        else:
            style = "red" if answer["is_error"] else ""
            sign = "error " if answer["is_error"] else ""
            parts.append(Text(f"{sign}answer  {seconds(answer.get('seconds'))}", style or "dim"))
            parts.append(self._text(answer["text"], style, indent=0))
        made = [_change(change) for change in call["changes"]]
        if made and self._beside:
            grid = Table.grid(padding=(0, 2), expand=True)
            grid.add_column(ratio=3, overflow="fold")
            grid.add_column(ratio=2, overflow="fold")
            grid.add_row(Group(*parts), Group(*made))
            yield Padding(grid, (0, 0, 0, 2))
        else:
            yield Padding(Group(*parts, *made), (0, 0, 0, 2))

    def _text(self, text: str, style: str = "", indent: int = 2) -> RenderableType:
        cut = text
        if not self._full:
            cut = "\n".join(text.split("\n")[:_LINES])[:_CHARACTERS]
        shown = safe(cut, style)
        if len(cut) < len(text):
            shown.append(f" … {len(text) - len(cut)} characters more, --full", "dim")
        return Padding(shown, (0, 0, 0, indent))

    def rest(self, view: Json) -> Iterator[RenderableType]:
        """What belongs to no call."""
        if view["changes"]:
            yield Text("Changes that no call is known to have made", "bold")
            yield from (_change(change) for change in view["changes"])
        for name in view["schema_changes"]:
            yield safe(f"schema changed: {name}", "red")
        for server, told in (view["effects"] or {}).items():
            yield safe(f"{server} told at the end", "bold")
            fields = told.items() if isinstance(told, dict) else [("", told)]
            for name, value in fields:
                listed = value if name == "diff" and isinstance(value, list) else [value]
                yield safe(f"  {name}{'' if listed else ': no difference'}", "dim")
                for each in listed:
                    yield self._text(_value(each), indent=4)
        for warning in view["warnings"]:
            yield safe(f"warning: {warning}", "yellow")


def _change(change: Json) -> RenderableType:
    sign, style = _OPS.get(change["op"], ("?", ""))
    key = ", ".join(f"{name}={_value(value)}" for name, value in (change["key"] or {}).items())
    head = Text.assemble((f"{sign} ", style), safe(f"{change['table']} {key}", "bold"))
    if len(change["calls"]) > 1:
        head.append_text(safe(f" {_by(change['calls'])}", "dim"))
    cells = Table.grid(padding=(0, 1))
    cells.add_column(style="dim", overflow="fold")
    cells.add_column(overflow="fold")
    for cell in change["cells"]:
        sides = [(_value(cell[side]), side) for side in ("old", "new") if side in cell]
        colours = {"old": "red", "new": "green"} if len(sides) == 2 else {"old": "", "new": ""}
        shown = Text(" → ").join(safe(value, colours[side]) for value, side in sides)
        cells.add_row(safe(cell["column"]), shown)
    return Group(head, Padding(cells, (0, 0, 0, 2)))


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def seconds(value: float | None) -> str:
    """A time, as short as it is plain; nothing where it is not known."""
    if value is None:
        return ""
    if value >= 1:
        return f"{value:.1f} s" if value < 100 else f"{value:.0f} s"
    return f"{value * 1000:.0f} ms" if value >= 0.001 else "<1 ms"
