"""Reads and writes YAML so that text stays text.

Reading follows the core idea of YAML 1.2: no dates, no base-60 numbers, only `true` and `false` are
booleans, and a key that stands twice is an error. Writing quotes every text that some YAML reader
takes for something else (`1e3`, `no`, `2026-03-02`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from outcomebox.selection.errors import InputError

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_QUOTED = re.compile(r"[ !#-\[\]-~]*")
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")
_WORDS = frozenset(("y", "yes", "n", "no", "on", "off", "true", "false", "null"))


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the 1.2 core rules."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, (str, int, float)):
                if key in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key!r} stands twice", key_node.start_mark
                    )
                seen.add(key)
        return super().construct_mapping(node, deep)


_REPLACED = ("bool", "int", "float", "timestamp")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in pairs if tag.rpartition(":")[2] not in _REPLACED]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"[-+]?[0-9]+\Z"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z"),
    list("-+.0123456789"),
)


def _construct_int(_loader: _Loader, node: yaml.ScalarNode) -> int:
    return int(node.value)  # PyYAML's own reads a leading 0 as octal


def _construct_float(_loader: _Loader, node: yaml.ScalarNode) -> float:
    return float(node.value)


_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper that quotes every text that is not plainly a word."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _WORDS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _represent_text)


def read_text(path: Path) -> str:
    """Reads a text file.

    Args:
        path: the file, UTF-8.

    Raises:
        InputError: if it cannot be read or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            str(path), "", f"cannot be read ({error.strerror})", "Check the path"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(str(path), "", f"is not UTF-8 ({error})", "Save it as UTF-8") from error


def read_yaml(path: Path) -> Any:
    """Reads a YAML file.

    Args:
        path: the file, UTF-8.

    Returns:
        Plain Python values; None for an empty file.

    Raises:
        InputError: if it cannot be read or is not YAML, with line and column.
    """
    text = read_text(path)
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 -- a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise InputError(where, "", f"is not YAML ({error.problem})", "Mend the line") from error
    except yaml.YAMLError as error:
        raise InputError(str(path), "", f"is not YAML ({error})", "Mend the file") from error


def yaml_text(value: Any) -> str:
    """Writes plain values as YAML, keys in the order given, small lists on one line.

    Args:
        value: mappings, lists, texts, numbers, booleans and None.

    Returns:
        The text, ended by one newline.
    """
    return _dump(value, flow=None)


def yaml_line(value: Mapping[str, Any]) -> str:
    """Writes a mapping as YAML on one line, `{a: 1, b: [2, 3]}`, without a newline."""
    # PyYAML takes half a millisecond for a line; a pool has thousands, of plain words and numbers.
    parts = [(_short_name(name), _short(part)) for name, part in value.items()]
    if parts and all(all(pair) for pair in parts):
        return f"{{{', '.join(': '.join(pair) for pair in parts)}}}"
    return _dump(value, flow=True).rstrip("\n")


@lru_cache(maxsize=1024)
def _short_name(name: str) -> str:
    """`_short` of a name, of which there are few."""
    return _short(name)


def _short(value: Any) -> str:
    """What PyYAML writes for a value that needs no thought; nothing for any other."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if _DECIMAL.fullmatch(text) else ""
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
            return value
        return f'"{value}"' if _QUOTED.fullmatch(value) else ""
    return ""


def _dump(value: Any, *, flow: bool | None) -> str:
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=float("inf"),
        default_flow_style=flow,
    )
    return text
