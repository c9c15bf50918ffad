"""YAML as people expect it: no dates, no sexagesimal numbers, only true and false are booleans.

YAML 1.1 turns ``2026-03-02`` into a date, ``12:30`` into 750 and ``no`` into False, which is wrong
in a file of database values. This loader keeps the resolvers of the YAML 1.2 core schema, refuses
duplicate keys, and remembers nothing between files.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from outcomebox.sandbox.errors import InputError


class _Loader(yaml.CSafeLoader):
    """A safe loader with the implicit types of YAML 1.2's core schema."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 -- the library's own

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """A dict whose keys are strings and each stand once."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is not text; quote it", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice; keep one", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), list(_first)
    )


def _int(loader: _Loader, node: Any) -> int:
    return int(loader.construct_scalar(node))  # decimal even with leading zeros, as in YAML 1.2


_Loader.add_constructor("tag:yaml.org,2002:int", _int)


def load_yaml(file: Path) -> Any:
    """The one document of a YAML file.

    Raises:
        InputError: The file cannot be read or is not YAML; the message has the line.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text: {error}; save it as UTF-8", file=file) from error
    try:
        return yaml.load(text, _Loader)  # noqa: S506 -- a safe loader with fewer types
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
        raise InputError(f"not valid YAML: {at}{error.problem or error}", file=file) from error
    except yaml.YAMLError as error:
        raise InputError(f"not valid YAML: {error}", file=file) from error
