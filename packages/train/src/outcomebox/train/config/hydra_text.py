"""Values as Hydra's command line reads them back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z_/][A-Za-z0-9_./:-]*")
_WORDS = frozenset({"true", "false", "null", "none", "nan", "inf", "yes", "no", "on", "off"})


def hydra_value(value: Any) -> str:
    """A plain value in the grammar of Hydra's overrides.

    Text is quoted wherever it could be read as anything else. In quotes a backslash counts only
    before a quote, and at the end: there it is doubled.

    Args:
        value: None, a truth value, a number, a text, or a list of them.

    Raises:
        TypeError: Something else.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        if _BARE.fullmatch(value) and value.lower() not in _WORDS:
            return value
        quoted = re.sub(r"(\\*)'", lambda found: found[1] * 2 + r"\'", value)
        quoted = re.sub(r"(\\+)$", lambda found: found[1] * 2, quoted)
        return f"'{quoted}'"
    if isinstance(value, Sequence):
        return "[" + ",".join(hydra_value(each) for each in value) + "]"
    raise TypeError(f"no value of a setting: {type(value).__name__}")
