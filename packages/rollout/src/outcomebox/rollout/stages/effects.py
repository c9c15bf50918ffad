"""The effects of servers as a row keeps them: without whole databases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import orjson

LARGEST = 16_384
"""Bytes of JSON that one value of a server's effects may take in a row."""


def recorded_effects(effects: Mapping[str, Any]) -> dict[str, Any]:
    """What servers told, whole states and large values replaced by their sizes and digests.

    Args:
        effects: Server -> what its ``geteffects`` gave.

    Returns:
        The same, where a value whose name ends in ``_state``, or that takes more than
        :data:`LARGEST` bytes, is ``{"left_out": {"bytes": .., "sha256": ..}}``, over its JSON with
        sorted keys.
    """
    return {
        server: {name: _kept(name, value) for name, value in told.items()}
        if isinstance(told, dict)
        else told
        for server, told in effects.items()
    }


def _kept(name: str, value: Any) -> Any:
    if not isinstance(value, dict | list | str) or (
        isinstance(value, str) and len(value) <= LARGEST // 4
    ):
        return value
    data = _json(value)
    if len(data) <= LARGEST and not name.endswith("_state"):
        return value
    return {"left_out": {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}}


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except TypeError:  # a whole number of more than 64 bits, or half a character
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
