"""The frame of a page: style, script, and a policy that lets it load nothing and run nothing else.

Without the script a page is whole and readable; with it, tables sort and filter.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

from outcomebox.reward.pages.parts import text

_STYLE = """
:root { color-scheme: light dark; --line: #d5d9e0; --soft: #f5f6f8; --bar: #3b6fd4; --warn: #b7791f;
  --bad: #b3372f; --ink: #1c2430; --dim: #66707f; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --line: #3a4150; --soft: #20252e; --bar: #6d9bf1;
  --warn: #e0a84c; --bad: #ef8078; --ink: #e6e9ee; --dim: #98a2b1; --paper: #161a21; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 2rem 1.25rem 4rem; color: var(--ink);
  background: var(--paper); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.25rem 0 .5rem; }
p { margin: .25rem 0; } .dim { color: var(--dim); } .bad { color: var(--bad); }
.figures { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0; }
.figures div { border: 1px solid var(--line); border-radius: 8px; padding: .6rem .9rem;
  min-width: 8rem; }
.figures b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; }
td, th { padding: .4rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid var(--bar); }
th[aria-sort] button::after { content: " ↑"; } th[aria-sort=descending] button::after {
  content: " ↓"; }
td ul { margin: 0; padding-left: 1.1rem; } code { font: 13px/1.5 ui-monospace, monospace; }
.mend { color: var(--bar); }
.filter { display: flex; flex-wrap: wrap; gap: .6rem; margin: .5rem 0; }
.filter input, .filter select { font: inherit; color: inherit; background: var(--soft);
  border: 1px solid var(--line); border-radius: 6px; padding: .3rem .5rem; }
svg { display: block; margin-top: .4rem; } .track { fill: var(--line); } .fill { fill: var(--bar); }
.partly { fill: var(--warn); }
"""

# A button in a table's head sorts by its column; fields in a filter hide rows of the table that it
# names: a text field by what the row says, a list by what the row is marked with.
_SCRIPT = """
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, place = head.cellIndex, table = head.closest("table");
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0], value = row => {
      const cell = row.cells[place], number = cell.dataset.value;
      return number === undefined ? cell.textContent : Number(number);
    };
    const rows = [...body.rows].map(row => [value(row), row]);
    rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    body.append(...rows.map(([, row]) => row));
  });
}
for (const filter of document.querySelectorAll(".filter")) {
  const fields = [...filter.querySelectorAll("input, select")];
  const rows = [...document.getElementById(filter.dataset.table).tBodies[0].rows];
  const shown = filter.querySelector("output");
  const apply = () => {
    let count = 0;
    for (const row of rows) {
      row.hidden = !fields.every(field => !field.value || (field.tagName === "SELECT"
        ? row.dataset[field.name] === field.value
        : row.textContent.toLowerCase().includes(field.value.toLowerCase())));
      count += !row.hidden;
    }
    shown.textContent = `${count} of ${rows.length}`;
  };
  for (const field of fields) field.addEventListener("input", apply);
  filter.hidden = false;
  apply();
}
"""

_HASH = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()

_HEAD = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    f"style-src 'unsafe-inline'; script-src 'sha256-{_HASH}'\">\n"
)


def page(title: str, parts: Iterable[str]) -> str:
    """A whole page.

    Args:
        title: Its title and first heading, as plain text.
        parts: What it holds, as HTML.
    """
    body = "\n".join(part for part in parts if part)
    return (
        f"{_HEAD}<title>{text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{text(title)}</h1>\n{body}\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )
