"""What sglang 0.5 takes for the type of a parameter."""

from collections.abc import Mapping
from typing import Any

from outcomebox.interpret.tools import Toolbox

_STANDARD = frozenset({"null", "boolean", "object", "array", "number", "string", "integer"})

_ALIASES = {
    alias: standard
    for standard, aliases in {
        "string": "str text varchar char enum uuid date datetime time timestamp binary blob bytea "
        "bytes varbinary",
        "boolean": "bool",
        "integer": "bigint smallint tinyint",
        "number": "double decimal real numeric",
        "array": "arr tuple set",
        "object": "map",
    }.items()
    for alias in aliases.split()
}
"""Types of databases -> the type that the server writes into the request in their place."""

_HEADS = {
    "int": "integer",
    "uint": "integer",
    "long": "integer",
    "short": "integer",
    "unsigned": "integer",
    "num": "number",
    "float": "number",
    "list": "array",
    "dict": "object",
}
"""The same for types that go on with a number or a bracket: `int32`, `list[str]`."""

_AFTER_HEAD = frozenset("0123456789[<( \t")


class Kinds:
    """The types of one tool's parameters, each looked up once.

    Attributes:
        declared: The parameters.
    """

    def __init__(self, tools: Toolbox, name: str | None) -> None:
        schema = tools.schema(name) if name is not None else {}
        properties = _properties(schema)
        if not properties and "properties" not in schema:
            properties = schema
        self.declared: Mapping[str, Any] = properties
        self._known: dict[str, str] = {}

    def of(self, parameter: str) -> str | None:
        """Return the type of a parameter in small letters; None where the tool has none such."""
        if parameter not in self.declared:
            return None
        if parameter not in self._known:
            kind = _infer(self.declared[parameter])
            self._known[parameter] = "string" if kind is None else str(kind).strip().lower()
        return self._known[parameter]


def _properties(schema: Any) -> Mapping[str, Any]:
    """Return the properties of a schema, or those of its alternatives where it has none itself."""
    if not isinstance(schema, Mapping):
        return {}
    own = schema.get("properties")
    if isinstance(own, Mapping):
        return own
    merged: dict[str, Any] = {}
    for keyword in ("anyOf", "oneOf", "allOf"):
        for branch in _listed(schema, keyword):
            for name, each in _properties(branch).items():
                merged.setdefault(name, each)
    return merged


def _infer(schema: Any) -> Any:
    """Return the one type that a schema stands for; None where it says nothing."""
    if not isinstance(schema, Mapping):
        return None
    kind = schema.get("type")
    if isinstance(kind, str):
        return _standard(kind)
    if isinstance(kind, list) and kind:
        return next((each for each in map(_standard, kind) if each != "null"), "string")
    if "anyOf" in schema or "oneOf" in schema:
        kinds = list(
            filter(None, map(_infer, _listed(schema, "anyOf") or _listed(schema, "oneOf")))
        )
        if kinds:
            return _one_of(kinds)
    if isinstance(schema.get("enum"), list):
        return _of_values(schema["enum"])
    if isinstance(schema.get("allOf"), list):
        kinds = list(filter(None, map(_infer, schema["allOf"])))
        return next((each for each in kinds if each != "string"), "string")
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else None


def _listed(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def _one_of(kinds: list[Any]) -> Any:
    """Return the type that stands for alternatives."""
    different = list(dict.fromkeys(kinds))
    if len(different) == 2 and "null" in different:
        different.remove("null")
    if len(different) == 1:
        return different[0]
    return "string" if "string" in different else kinds[0]


def _of_values(values: list[Any]) -> str:
    """Return the type that all values have; `string` where they differ."""
    kinds = {_of_value(value) for value in values}
    return kinds.pop() if len(kinds) == 1 else "string"


def _of_value(value: Any) -> str:
    names = {
        bool: "boolean",
        int: "integer",
        float: "number",
        str: "string",
        list: "array",
        dict: "object",
    }
    return names.get(type(value), "null")


def _standard(kind: Any) -> Any:
    """Return the standard type that the server writes in place of another."""
    if not isinstance(kind, str) or kind in _STANDARD:
        return kind
    base = kind.split("(", 1)[0].strip().lower()
    if base in _STANDARD:
        return base
    if base in _ALIASES:
        return _ALIASES[base]
    for head, standard in _HEADS.items():
        if base == head or (base.startswith(head) and base[len(head)] in _AFTER_HEAD):
            return standard
    return kind
