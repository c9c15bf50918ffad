"""The page around the report: style, script, and a policy that lets it load nothing else.

The policy names the page's own style and script by their hashes. With transcripts beside the page
it may also load scripts that lie there; nothing else, and nothing from a network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from outcomebox.eval.report.plots.svg import COLOURS, DARK, STYLE
from outcomebox.reward.pages.parts import text

_SCRIPTS = ("core.js", "transcript.js", "report.js")
HEAT = 10
"""Steps of the heat map's colours above none."""


def page(title: str, parts: Iterable[str], data: Any, *, beside: bool) -> str:
    """A whole page.

    Args:
        title: Its title, as plain text.
        parts: Its body, as HTML.
        data: What its script reads: plain JSON values.
        beside: Whether there are side files.
    """
    body = "\n".join(part for part in parts if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{security(beside=beside)}">\n'
        f"<title>{text(title)}</title>\n<style>{style()}</style>\n</head>\n<body>\n{body}\n"
        f'<script type="application/json" id="data">{embedded(data)}</script>\n'
        f"<script>{script()}</script>\n</body>\n</html>\n"
    )


def security(*, beside: bool) -> str:
    """What the page may load and run."""
    side = " 'self' file:" if beside else ""
    return (
        f"default-src 'none'; script-src 'sha256-{_hash(script())}'{side}; "
        f"style-src 'sha256-{_hash(style())}'; base-uri 'none'; form-action 'none'"
    )


@cache
def script() -> str:
    """The page's script."""
    here = files("outcomebox.eval.report")
    parts = "\n".join((here / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


@cache
def style() -> str:
    """The page's style; paper is always light."""
    sheet = (files("outcomebox.eval.report") / "report.css").read_text(encoding="utf-8")
    heat = "\n".join(
        f".h{step} {{ background: color-mix(in srgb, var(--bar) {round(step * 62 / HEAT)}%, "
        "var(--paper)); }"
        for step in range(HEAT + 1)
    )
    return (
        f"\n:root {{ color-scheme: light dark; {COLOURS} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}\n"
        f"@media print {{ :root {{ color-scheme: light; }} }}\n{sheet}{STYLE}{heat}\n"
    )


def embedded(value: Any) -> str:
    """A value as JSON that can stand in a script element: nothing in it can end the element."""
    written = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
    return written.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _hash(part: str) -> str:
    return base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
