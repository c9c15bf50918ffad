"""Calls written in ways that parsers disagree about, as real models write them now and then.

Each is a call that ``strict`` reads in one way; which of them a trainer and a server read alike is
what a parity check is to find out.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from outcomebox.rollout.policies.slips import Step

Quirk = Literal["draft", "indent", "null", "one"]
"""``draft``: the call is first written inside the reasoning. ``indent``: the lines of a string are
indented. ``null``: a string is the word null. ``one``: a boolean that is true is written as 1."""

_INDENT = "  "


def quirk(step: Step, schema: Mapping[str, Any], rng: random.Random) -> tuple[Quirk, Step]:
    """One of the quirks that a call can have, and the call with it.

    Args:
        step: The call.
        schema: JSON Schema of its arguments.
        rng: Where chance comes from.

    Returns:
        The quirk and the call as it is to be written; for a draft the call as it stands.
    """
    properties = schema.get("properties", {})
    texts = [
        name
        for name, value in step.arguments.items()
        if isinstance(value, str) and value and properties.get(name, {}).get("type") == "string"
    ]
    flags = [name for name, value in step.arguments.items() if value is True]
    kinds: list[Quirk] = ["draft"]
    if texts:
        kinds += ["indent", "null"]
    if flags:
        # Rare in real schemas, so it is taken wherever it can be.
        kinds = ["one"]
    kind = rng.choice(kinds)
    if kind == "draft":
        return kind, step
    name = rng.choice(flags if kind == "one" else texts)
    value: Any = step.arguments[name]
    if kind == "one":
        # Written as text, so that the output holds the digit and not the word true.
        value = "1"
    elif kind == "null":
        value = "null"
    else:
        value = "\n".join(_INDENT + line for line in value.split("\n"))
    return kind, replace(step, arguments={**step.arguments, name: value})
