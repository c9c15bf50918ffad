"""A result as one HTML page that needs no network: bars by class, readings side by side."""

from collections.abc import Iterator
from html import escape
from itertools import zip_longest
from typing import Any

from outcomebox.interpret.replay.offers import signatures
from outcomebox.interpret.replay.printable import printable, visible

_MOST_SHOWN = 20_000
"""Characters of an output or a reading on the page; the JSON has all."""

_STYLE = """
:root { color-scheme: light dark; --line: #d5d9e0; --soft: #f5f6f8; --bar: #3b6fd4; --warn: #b7791f;
  --mark: #ffd8a8; --ink: #1c2430; --dim: #66707f; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --line: #3a4150; --soft: #20252e; --bar: #6d9bf1;
  --warn: #e0a84c; --mark: #7a4b12; --ink: #e6e9ee; --dim: #98a2b1; --paper: #161a21; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.25rem 4rem; color: var(--ink);
  background: var(--paper); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.25rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; } p { margin: .25rem 0; } .dim { color: var(--dim); }
.figures { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0; }
.figures div { border: 1px solid var(--line); border-radius: 8px; padding: .6rem .9rem;
  min-width: 9rem; }
.figures b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
table.classes { border-collapse: collapse; width: 100%; }
.classes td, .classes th { padding: .4rem .6rem; border-bottom: 1px solid var(--line);
  text-align: left; vertical-align: middle; }
.classes .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.classes .bar { width: 26%; } .bar i { display: block; height: .7rem; border-radius: 3px;
  background: var(--bar); min-width: 2px; } .shared .bar i { background: var(--warn); }
a { color: inherit; text-decoration-color: var(--bar); }
article { border: 1px solid var(--line); border-radius: 8px; margin: 1rem 0; overflow: hidden; }
article > header { background: var(--soft); padding: .6rem .9rem; }
article > div { padding: .6rem .9rem .9rem; }
pre { margin: .35rem 0; padding: .6rem .75rem; background: var(--soft); border-radius: 6px;
  white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.5 ui-monospace, monospace; }
mark { background: var(--mark); color: inherit; border-radius: 2px; padding: 0 1px; }
table.readings { width: 100%; border-collapse: collapse; table-layout: fixed; }
.readings th { text-align: left; padding: .3rem .5rem; width: 45%; }
.readings th:first-child { width: 10%; }
.readings td { padding: .3rem .5rem; border-top: 1px solid var(--line); vertical-align: top;
  overflow-wrap: anywhere; font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; }
.readings td:first-child { font: inherit; color: var(--dim); }
details summary { cursor: pointer; color: var(--dim); }
"""

_HEAD = (
    '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'\">\n"
)


def page(report: dict[str, Any]) -> str:
    """Return a report (see `report_json`) as an HTML page.

    Args:
        report: The report.
    """
    title = f"{report['left']} against {report['right']}"
    parts = [
        _HEAD,
        f"<title>Parity: {_text(title)}</title>\n<style>{_STYLE}</style>\n",
        f"<h1>{_text(title)}</h1>\n",
        '<p class="dim">The same recorded outputs, read by both; nothing was sampled.</p>\n',
        _figures(report),
        *(f'<p class="dim">{_text(note)}</p>\n' for note in report["notes"]),
    ]
    if report["classes"]:
        parts += ["<h2>Differences by cause</h2>\n", _classes(report)]
        parts += ["<h2>Examples</h2>\n"]
        parts += [
            _article(report, number, each) for number, each in enumerate(report["classes"], 1)
        ]
    else:
        parts.append("<p>Every turn is read alike.</p>\n")
    return "".join(parts)


def _figures(report: dict[str, Any]) -> str:
    figures = [
        (report["turns"], "turns"),
        (f"{report['differing']} ({_share(report['differing'], report['turns'])})", "turns differ"),
        (report["turns_changed"], "turns execute something else"),
        (f"{report['calls_changed']} of {report['calls']}", "calls changed"),
    ]
    cells = (f"<div><b>{_text(str(value))}</b>{_text(name)}</div>" for value, name in figures)
    return f'<div class="figures">{"".join(cells)}</div>\n'


def _classes(report: dict[str, Any]) -> str:
    most = max(each["turns"] for each in report["classes"])
    rows = []
    for number, each in enumerate(report["classes"], 1):
        width = 100 * each["turns"] / most
        kind = ' class="shared"' if each["shared"] else ""
        changed = each["calls_changed"] or "—"
        rows.append(
            f'<tr{kind}><td><a href="#class-{number}">{_text(each["title"])}</a>'
            f'<td class="bar"><i style="width:{width:.1f}%"></i>'
            f'<td class="number">{each["turns"]}'
            f'<td class="number">{_share(each["turns"], report["turns"])}'
            f'<td class="number">{changed}\n'
        )
    return (
        '<table class="classes"><tr><th>cause<th><th class="number">turns'
        '<th class="number">share<th class="number">turns with calls changed\n'
        + "".join(rows)
        + "</table>\n"
        + (
            '<p class="dim">Orange: both readers do it alike, and neither should.</p>\n'
            if any(each["shared"] for each in report["classes"])
            else ""
        )
    )


def _article(report: dict[str, Any], number: int, each: dict[str, Any]) -> str:
    bodies = []
    if each["shrunk"] is not None:
        name = "Smallest example" if each["shrunk"]["minimal"] else "Small example"
        bodies.append(_example(report, each, each["shrunk"], name))
        if each["example"] is not None:
            recorded = _example(report, each, each["example"], "As recorded")
            bodies.append(f"<details><summary>As recorded</summary>{recorded}</details>")
    elif each["example"] is not None:
        bodies.append(_example(report, each, each["example"], "Shortest recorded example"))
    return (
        f'<article id="class-{number}"><header><h3>{_text(each["title"])}</h3>'
        f'<p class="dim">{_text(each["advice"])} {each["turns"]} turns, '
        f"{_share(each['turns'], report['turns'])}.</p></header>"
        f"<div>{''.join(bodies)}</div></article>\n"
    )


def _example(report: dict[str, Any], each: dict[str, Any], found: dict[str, Any], name: str) -> str:
    finding = next(
        item
        for item in found["findings"]
        if (item["cause"], item["by"]) == (each["cause"], each["by"])
    )
    origin = ":".join(str(found[part]) for part in ("file", "line", "place") if found[part])
    facts = [f"prompt_state {found['prompt_state']}", f"finish_reason {found['finish_reason']}"]
    facts += [f"differs in {finding['where']}", *filter(None, [origin and f"from {origin}"])]
    if found.get("tools"):
        facts.append(f"tools {signatures(found['tools'])}")
    rows = "".join(
        f"<tr><td>{_text(label)}<td>{left}<td>{right}\n"
        for label, left, right in _side_by_side(found["left"], found["right"])
    )
    return (
        f'<p><b>{_text(name)}</b> <span class="dim">{_text(", ".join(facts))}</span></p>'
        f"<pre>{_spotted(found['output'], finding['span'])}</pre>"
        f'<table class="readings"><tr><th><th>{_text(report["left"])}<th>{_text(report["right"])}\n'
        f"{rows}</table>"
    )


def _spotted(text: str, span: list[int] | None) -> str:
    start, end = span or (0, 0)
    first = max(0, start - _MOST_SHOWN // 2) if len(text) > _MOST_SHOWN else 0
    last = min(len(text), first + _MOST_SHOWN)
    spot = visible(text[start : min(end, last)])
    return (
        ("..." if first else "")
        + _text(visible(text[first:start]))
        + (f"<mark>{_text(spot)}</mark>" if spot else "")
        + _text(visible(text[max(end, first) : last]))
        + ("..." if last < len(text) else "")
    )


def _side_by_side(left: dict[str, Any], right: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name in ("error", "reasoning", "content"):
        if left[name] or right[name]:
            one, other = (visible(side[name] or "—") for side in (left, right))
            yield (name, *marked(one, other))
    for index, calls in enumerate(zip_longest(left["calls"], right["calls"])):
        one, other = (_call(call) for call in calls)
        yield (f"call {index}", *marked(one, other))


def _call(call: dict[str, Any] | None) -> str:
    if call is None:
        return "—"
    refused = "" if call["executable"] else f"\n[{call['status']}, not executed]"
    return printable(f"{call['name']} {call['arguments']}{refused}")


def marked(left: str, right: str) -> tuple[str, str]:
    """Return two texts as HTML, what lies between their common beginning and end marked."""
    head = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        head += 1
    tail = 0
    for one, other in zip(reversed(left[head:]), reversed(right[head:]), strict=False):
        if one != other:
            break
        tail += 1
    # Whole words are marked, not what two of them happen to share.
    while head and _word(left, head - 1) and (_word(left, head) or _word(right, head)):
        head -= 1
    while (
        tail
        and _word(left, len(left) - tail)
        and (_word(left, len(left) - tail - 1) or _word(right, len(right) - tail - 1))
    ):
        tail -= 1
    return _middle(left, head, tail), _middle(right, head, tail)


def _word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isalnum()


def _middle(text: str, head: int, tail: int) -> str:
    end = len(text) - tail
    first = max(0, head - _MOST_SHOWN // 4)
    last = min(len(text), max(end, head) + _MOST_SHOWN // 4)
    inside = text[head:end]
    spot = f"<mark>{_text(inside[:_MOST_SHOWN])}</mark>" if inside else ""
    return (
        ("..." if first else "")
        + _text(text[first:head])
        + spot
        + _text(text[end:last])
        + ("..." if last < len(text) else "")
    )


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "—"
