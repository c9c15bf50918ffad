"""The offered tools: other forms brought to OpenAI's, and schemas reduced to plain types."""

from collections.abc import Mapping
from typing import Any

from outcomebox.interpret.coercion.schemas import properties_of

_PARAMETERS = ("inputSchema", "input_schema", "parameters_schema")
"""What tools that are not in OpenAI's form call the schema of their arguments."""

_KEPT = ("description", "enum", "items", "properties", "required")


def openai_tool(tool: Any) -> Any:
    """Return a tool in OpenAI's form; tools as MCP lists them are rewritten, others are kept."""
    if isinstance(tool, Mapping) and "function" not in tool and "parameters" not in tool:
        for name in _PARAMETERS:
            if name in tool:
                function = {"name": tool.get("name"), "description": tool.get("description") or ""}
                return {"type": "function", "function": {**function, "parameters": tool[name]}}
    return tool


def plain_tool(tool: Any) -> Any:
    """Return a tool whose parameters have one plain type each, as strict readers want them.

    A union is reduced to its first type that is not null, a `$ref` to what it names; what has no
    type is a string. Such schemas say less: they are for comparing readers of which one refuses
    the tools as they are.
    """
    function = tool.get("function", tool) if isinstance(tool, Mapping) else None
    if not isinstance(function, Mapping):
        return tool
    schema = function.get("parameters")
    schema = schema if isinstance(schema, Mapping) else {}
    properties = properties_of(schema) or {}
    plain: dict[str, Any] = {
        "type": "object",
        "properties": {name: _plain(each, schema) for name, each in properties.items()},
    }
    if isinstance(schema.get("required"), list):
        plain["required"] = schema["required"]
    return {
        "type": "function",
        "function": {
            "name": function.get("name"),
            "description": function.get("description") or "",
            "parameters": plain,
        },
    }


def signatures(tools: Any) -> str:
    """Return tools as people write them: `f(a: boolean, b)`; a schema without type has none."""
    return ", ".join(map(_signature, tools))


def _signature(tool: Any) -> str:
    function = tool.get("function", tool)
    schema = function.get("parameters")
    properties = properties_of(schema if isinstance(schema, Mapping) else {}) or {}
    told = []
    for name, each in properties.items():
        kind = each.get("type") if isinstance(each, Mapping) else None
        if isinstance(kind, list):
            kind = "|".join(map(str, kind))
        told.append(f"{name}: {kind}" if isinstance(kind, str) else str(name))
    return f"{function.get('name')}({', '.join(told)})"


def _plain(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    found = _resolved(schema, root)
    kept = {name: found[name] for name in _KEPT if name in found}
    if isinstance(schema, Mapping) and isinstance(schema.get("description"), str):
        kept["description"] = schema["description"]
    return {"type": _type(found), **kept}


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references and unions down to a schema with a type; bounded, for cycles."""
    for _ in range(16):
        if not isinstance(schema, Mapping):
            return {}
        if isinstance(schema.get("$ref"), str):
            schema = _referred(schema["$ref"], root)
            continue
        union = schema.get("anyOf") or schema.get("oneOf")
        if "type" in schema or not isinstance(union, list):
            return schema
        schema = next(
            (each for each in union if isinstance(each, Mapping) and each.get("type") != "null"),
            {},
        )
    return {}


def _referred(reference: str, root: Mapping[str, Any]) -> Any:
    found: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")  # noqa: PLW2901 - a JSON pointer's step
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), None)
    return kind if isinstance(kind, str) else "string"
