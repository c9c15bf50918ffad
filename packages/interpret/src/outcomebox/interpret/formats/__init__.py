"""Formats: which strings are markup, one small declarative module each."""

from functools import cache
from importlib import import_module

from outcomebox.interpret.formats.base import Format

_MODULES = {
    "qwen3_xml": "qwen3_xml",
    "qwen3_coder": "qwen3_xml",
    "hermes": "hermes",
    "deepseek_r1": "deepseek_r1",
    "glm": "glm",
    "kimi_k2": "kimi_k2",
    "llama3_json": "llama3_json",
    "mistral": "mistral",
}
"""Every name that a format is known by -> its module beside this one."""

FORMAT_NAMES = tuple(_MODULES)
"""Every name that a format is known by."""


@cache
def format_named(name: str) -> Format:
    """Return the format of that name.

    Raises:
        ValueError: The name is unknown; the message lists the known ones.
    """
    if name not in _MODULES:
        known = ", ".join(sorted(_MODULES))
        raise ValueError(f"format {name!r} is unknown; use one of: {known}")
    module = import_module(f"outcomebox.interpret.formats.{_MODULES[name]}")
    found: Format = module.FORMAT
    return found
