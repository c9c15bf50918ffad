"""What a JSON Schema says about a value, one keyword at a time. Reads schemas of any shape."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from outcomebox.interpret.coercion.jsontypes import type_of

_TYPES = {"string", "integer", "number", "boolean", "object", "array", "null"}
_CHOOSING = {"enum", "const", "anyOf", "oneOf", "allOf", "$ref", "nullable"}


class Own(NamedTuple):
    """What a schema says itself, its references and alternatives aside.

    Attributes:
        types: The types it allows; empty where it names none.
        values: The values it allows; None where it names none.
    """

    types: frozenset[str]
    values: list[Any] | None

    def wanted(self) -> str:
        """Return what is allowed, in words."""
        if self.values is not None:
            return "one of " + ", ".join(repr(value) for value in self.values)
        return "of type " + " or ".join(sorted(self.types))


def own_of(schema: Mapping[str, Any]) -> Own | None:
    """Return what a schema says itself, or None where it names neither type nor value.

    A schema that lists properties or items without a type means an object or an array.
    """
    values: list[Any] | None = None
    if "const" in schema:
        values = [schema["const"]]
    elif isinstance(schema.get("enum"), list):
        values = schema["enum"]
    named = schema.get("type")
    listed = named if isinstance(named, list) else [named]
    types = frozenset(each for each in listed if isinstance(each, str) and each in _TYPES)
    if not types and values is None:
        if isinstance(schema.get("properties"), Mapping):
            types = frozenset({"object"})
        elif "items" in schema or "prefixItems" in schema:
            types = frozenset({"array"})
        else:
            return None
    if not types and values is not None:
        types = frozenset(type_of(value) for value in values)
    return Own(types, values)


def allows_only_text(schema: Mapping[str, Any]) -> bool:
    """Say whether any text fits and nothing else is named, so that there is nothing to read."""
    return not schema or (schema.get("type") == "string" and _CHOOSING.isdisjoint(schema))


def branches(schema: Mapping[str, Any]) -> list[list[Any]]:
    """Return the lists of alternatives of which one must hold."""
    found = (schema.get(keyword) for keyword in ("anyOf", "oneOf"))
    return [options for options in found if isinstance(options, list) and options]


def child(schema: Mapping[str, Any], key: str | int) -> Any:
    """Return the schema of an object's property or an array's item; None where it has none."""
    if isinstance(key, str):
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and key in properties:
            return properties[key]
        return schema.get("additionalProperties")
    items = schema.get("items")
    prefix = items if isinstance(items, list) else schema.get("prefixItems")
    if isinstance(prefix, list) and key < len(prefix):
        return prefix[key]
    return schema.get("additionalItems") if isinstance(items, list) else items


def conjuncts(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[list[Any], list[str]]:
    """Return the other schemas that hold beside this one, and the references that lead nowhere."""
    parts = schema.get("allOf")
    found = list(parts) if isinstance(parts, list) else []
    if "$ref" not in schema:
        return found, []
    target = resolve(schema["$ref"], root)
    if target is None:
        return found, [str(schema["$ref"])]
    return [*found, target], []


def properties_of(root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the properties that an object's schema declares, or None where it declares none.

    Those of schemas that it refers to or combines are among them; the first of a name counts.
    """
    found: dict[str, Any] = {}
    declares = False
    queue: list[Any] = [root]
    seen: set[int] = set()
    while queue:
        schema = queue.pop(0)
        if not isinstance(schema, Mapping) or id(schema) in seen:
            continue
        seen.add(id(schema))
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            declares = True
            found = {**properties, **found}
        queue += conjuncts(schema, root)[0]
    return found if declares else None


def resolve(reference: Any, root: Mapping[str, Any]) -> Any:
    """Return what a local reference (`#/$defs/Name`) points to, or None where it leads nowhere."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    pointer = reference[1:]
    if "%" in pointer:
        from urllib.parse import unquote  # noqa: PLC0415 - slow to import and hardly ever needed

        pointer = unquote(pointer)
    target: Any = root
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(target, Mapping) and key in target:
            target = target[key]
        elif isinstance(target, list) and key.isdecimal() and int(key[:9]) < len(target):
            target = target[int(key)]
        else:
            return None
    return target
