"""Text and data of a run made safe to stand in a page, whatever is in them."""

from __future__ import annotations

import json
import math
from html import escape
from typing import Any

from outcomebox.interpret.replay.printable import printable


def text(value: object) -> str:
    """A value as HTML text, also inside quotes."""
    return escape(printable(str(value)), quote=True)


def data(value: Any) -> str:
    """A value as JSON that can stand in a script element, and in a script.

    All of it is ASCII, lone surrogates and line separators being escaped, and there is no ``<``,
    ``>`` or ``&``: nothing in it can end the element or start another.
    """
    try:
        written = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:  # a model wrote NaN, which is no JSON
        written = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
    return written.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
