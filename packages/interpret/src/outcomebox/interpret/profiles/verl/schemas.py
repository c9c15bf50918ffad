"""Tools as verl 0.9 accepts them.

It checks every tool when it loads them, before the first turn, and wants a type on each property:
`$ref`, `const`, `anyOf` and an empty schema are refused, and the run does not start.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from outcomebox.interpret.tools import Toolbox


class Kinds(NamedTuple):
    """What verl keeps of the tools.

    Attributes:
        of: Tool -> parameter -> its type in small letters.
        refused: Why the tools are refused; None where they are not.
    """

    of: dict[str, dict[str, str]]
    refused: str | None


_KNOWN: "WeakKeyDictionary[Toolbox, Kinds]" = WeakKeyDictionary()


def kinds(tools: Toolbox) -> Kinds:
    """Return what verl keeps of these tools, made once for each toolbox."""
    known = _KNOWN.get(tools)
    if known is None:
        known = _KNOWN[tools] = _kinds(tools)
    return known


def _kinds(tools: Toolbox) -> Kinds:
    of: dict[str, dict[str, str]] = {}
    for name in tools.names:
        schema = tools.schema(name)
        fault = _fault(schema)
        if fault:
            return Kinds({}, f"verl refuses the tool {name!r}: {fault}")
        properties = schema.get("properties", {})
        of[name] = {key: str(each["type"]).strip().lower() for key, each in properties.items()}
    return Kinds(of, None)


def _fault(schema: Mapping[str, Any]) -> str | None:
    """Return what verl does not accept of a tool's parameters."""
    if not schema:
        return None
    if not isinstance(schema.get("type"), str):
        return "its parameters have no type"
    required = schema.get("required", [])
    if not _all_text(required):
        return "`required` is no list of names"
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return "its parameters have no properties"
    for key, each in properties.items():
        fault = _property_fault(each)
        if fault:
            return f"the property {key!r} {fault}"
    return None


def _property_fault(schema: Any) -> str | None:
    if not isinstance(schema, Mapping):
        return "has no schema"
    kind = schema.get("type")
    if not isinstance(kind, str) and not _all_text(kind):
        return "has no `type`"
    if not isinstance(schema.get("description"), str | None):
        return "has a description that is no text"
    if not isinstance(schema.get("enum"), list | None):
        return "has an enum that is no list"
    return None


def _all_text(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
