"""Presets: settings that are whole but for the paths, one YAML file each."""

from __future__ import annotations

from difflib import get_close_matches
from importlib.resources import files
from typing import Any

import yaml

from outcomebox.sandbox import InputError

PRESETS = ("q38-27b-24xh100", "8xh100", "1xgpu", "cpu")
"""Their names, the largest first."""


def preset_text(name: str) -> str:
    """A preset's file.

    Raises:
        InputError: There is none of that name.
    """
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"write one of {', '.join(PRESETS)}"
        raise InputError(f"there is no such preset; {hint}", field="preset", value=name)
    folder = files("outcomebox.train.config") / "preset_files"
    return (folder / f"{name}.yaml").read_text(encoding="utf-8")


def preset(name: str) -> dict[str, Any]:
    """A preset's settings, as plain values.

    Raises:
        InputError: There is none of that name.
    """
    found: dict[str, Any] = yaml.safe_load(preset_text(name))
    return found


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """One mapping over another, section by section; whatever is no section is replaced whole.

    Args:
        below: What holds where nothing is said.
        above: What is said.
    """
    return {**below, **{name: _over(below.get(name), value) for name, value in above.items()}}


def _over(under: Any, value: Any) -> Any:
    both = isinstance(under, dict) and isinstance(value, dict)
    return merged(under, value) if both else value
