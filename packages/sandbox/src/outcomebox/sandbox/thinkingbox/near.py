"""What someone may have meant who wrote a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SHOWN = 5


def near(name: str, names: Iterable[str]) -> str:
    """Part of a message: the names most like one, or else the first few that there are."""
    known = list(names)
    close = difflib.get_close_matches(name, known, n=_SHOWN, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    if not known:
        return "there are none"
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return f"there are {', '.join(known[:_SHOWN])}{more}"
