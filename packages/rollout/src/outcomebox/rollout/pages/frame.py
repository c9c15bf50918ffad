"""The page around the data: its markup, its style, its script, and what it may load.

The policy in its head lets it run its own script and the scripts beside it, and nothing else: no
network, no other code, no form.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

from outcomebox.rollout.pages.escaping import text
from outcomebox.rollout.pages.index import Index

_SCRIPTS = ("core.js", "list.js", "episode.js", "main.js")


@cache
def script() -> str:
    """The page's script."""
    here = files("outcomebox.rollout.pages")
    parts = "\n".join((here / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


@cache
def style() -> str:
    """The page's style."""
    return (files("outcomebox.rollout.pages") / "page.css").read_text(encoding="utf-8")


def security(*, beside: bool) -> str:
    """What the page may load.

    Args:
        beside: Whether conversations stand in script files beside the page.
    """
    own = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    sources = f"'sha256-{own}'" + (" 'self' file:" if beside else "")
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )


def head(title: str, *, beside: bool) -> str:
    """The page up to its body."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{security(beside=beside)}">\n'
        f"<title>{text(title)}</title>\n<style>\n{style()}</style>\n</head>\n"
    )


def body(title: str, index: Index) -> Iterator[str]:
    """The page's body up to its data: summary, filters, and the places that the script fills.

    Args:
        title: The first heading, as plain text.
        index: What the run holds.
    """
    yield (
        '<body>\n<a class="skip" href="#main">To the episodes</a>\n<header id="summary">\n'
        f"<h1>{text(title)}</h1>\n"
    )
    yield f'<p class="dim">{text(index.sentence())}</p>\n'
    if index.simulated:
        yield f'<p class="banner" role="note">{text(index.warning())}</p>\n'
    yield from _figures(index)
    yield (
        '<nav class="views" aria-label="Views"><a href="#" data-view="episodes">Episodes</a>'
        '<a href="#/tasks" data-view="tasks">Tasks by repetition</a></nav>\n</header>\n'
        '<noscript><p class="banner">The list and the conversations are drawn by the page\'s own '
        "script; this browser runs none.</p></noscript>\n"
        '<main id="main">\n<p id="lost" class="banner" hidden>There is no such episode here; this '
        "is the list.</p>\n"
    )
    yield _LIST
    yield _TASKS
    yield (
        '<section id="view-episode" aria-label="Episode" hidden>\n<div id="episode-head"></div>\n'
        '<div id="episode-body"></div>\n</section>\n</main>\n'
        "<footer><p><kbd>/</kbd> search <kbd>j</kbd> <kbd>k</kbd> next and previous "
        "<kbd>Esc</kbd> back to the list. The address of an episode can be sent to somebody who "
        "has the page.</p></footer>\n"
    )


_SELECTS = (
    ("domain", "domain"),
    ("family", "family"),
    ("finish", "end"),
    ("phase", "error phase"),
    ("tool", "tool used"),
)

_LIST = (
    '<section id="view-episodes" aria-label="Episodes">\n<div class="filter" role="search">\n'
    '<label>search<input name="text" type="search" '
    'placeholder="task, request, reason or error"></label>\n'
    + "".join(
        f'<label>{words}<select name="{name}"><option value="">all</option></select></label>\n'
        for name, words in _SELECTS
    )
    + '<label>tries<select name="tries"><option value="results">results only</option>'
    '<option value="all">all tries</option></select></label>\n'
    '<button type="button" id="clear">Clear</button>\n'
    '<output id="shown" aria-live="polite"></output>\n</div>\n'
    '<table id="list"><caption hidden>Episodes</caption><thead><tr></tr></thead><tbody></tbody>'
    '</table>\n<p id="none" class="dim" hidden>No episode is like that.</p>\n'
    '<div id="list-more"></div>\n</section>\n'
)
_TASKS = (
    '<section id="view-tasks" aria-label="Tasks by repetition" hidden>\n'
    '<div class="filter"><label>order<select id="grid-order"><option value="hard">fewest passes '
    'first</option><option value="uid">by name</option><option value="broken">most system errors '
    "first</option></select></label></div>\n"
    '<table id="grid"><caption hidden>Outcomes of each task by repetition</caption><thead><tr>'
    '<th scope="col">task</th><th scope="col" class="number">passed of clean</th>'
    '<th scope="col">repetitions, from 0</th></tr></thead><tbody></tbody></table>\n'
    '<div id="grid-more"></div>\n</section>\n'
)


def _figures(index: Index) -> Iterable[str]:
    counts = index.outcomes
    clean = counts["passed"] + counts["failed"]
    yield '<div class="figures">\n'
    for outcome, words in (("", "attempts"), ("passed", "passed"), ("failed", "failed")):
        number = sum(counts.values()) if not outcome else counts[outcome]
        yield _button(outcome, number, words)
    if counts["system_error"]:
        yield _button("system_error", counts["system_error"], "system errors, no verdict")
    share = f"{100 * counts['passed'] / clean:.1f} %" if clean else "—"
    if share == "100.0 %" and counts["failed"]:
        share = "<100 %"
    for value, words in (
        (share, "passed of clean"),
        (f"{len(index.tasks):,}".replace(",", "\u202f"), "tasks"),
    ):
        yield f"<div><b>{text(value)}</b>{text(words)}</div>\n"
    yield "</div>\n"
    if clean:
        width = 100 * counts["passed"] / clean
        yield (
            f'<div class="share" role="img" aria-label="{counts["passed"]} of {clean} clean '
            f'attempts passed"><i class="passed" style="width:{width:.2f}%"></i>'
            f'<i class="failed" style="width:{100 - width:.2f}%"></i></div>\n'
        )


def _button(outcome: str, number: int, words: str) -> str:
    shown = f"{number:,}".replace(",", "\u202f")
    return (
        f'<button type="button" class="{outcome}" data-outcome="{outcome}" aria-pressed="false">'
        f"<b>{shown}</b>{words}</button>\n"
    )
