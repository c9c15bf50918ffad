"""The arguments of a call: its parameters' values as JSON, typed by the tool's schema."""

import json
from collections.abc import Mapping
from typing import Any

from outcomebox.interpret.profiles.vllm.releases import Release
from outcomebox.interpret.profiles.vllm.schema_types import retyped, typed, types_of
from outcomebox.interpret.profiles.vllm.xml_parameters import parameters_in
from outcomebox.interpret.tools import Toolbox

_STRING = frozenset({"string"})


class Arguments:
    """How the arguments of one tool's calls are written."""

    def __init__(self, tools: Toolbox, name: str, release: Release) -> None:
        properties = tools.schema(name).get("properties")
        self._properties: Mapping[str, Any] = properties if isinstance(properties, Mapping) else {}
        self._release = release
        self._types = {
            key: types_of(schema)
            for key, schema in self._properties.items()
            if isinstance(schema, Mapping)
        }
        self._whole = {key for key in self._properties if self._types.get(key, _STRING) != _STRING}

    def value(self, key: str, text: str) -> str:
        """Return the JSON of a parameter whose value is written as `text`, markup's blanks off."""
        bare = text.strip() if self._release.strips else _unwrapped(text)
        types = self._types.get(key, _STRING)
        return json.dumps(bare if types == _STRING else typed(bare, types), ensure_ascii=False)

    def grows(self, key_json: str) -> bool:
        """Say whether a stream sends a parameter's value as it grows, not when it has its end.

        So it is for strings. The key is looked up as JSON writes it, which fails for some.
        """
        key = key_json[1:-1]
        return not self._properties or (key in self._properties and key not in self._whole)

    def object(self, body: str) -> str:
        """Return the JSON object of the parameters in a call's text that have an end."""
        values = {
            each.name: self.value(each.name, body[each.start : each.end])
            for each in parameters_in(body)
            if each.known is not None
        }
        return json_object(values)

    def retyped(self, wire: str) -> str:
        """Return arguments that came as JSON, with their values as the schema types them."""
        try:
            value = json.loads(wire)
        except ValueError:
            return wire
        if not isinstance(value, dict) or not self._properties:
            return wire
        before = json.dumps(value)
        schema = {"properties": self._properties}
        after = retyped(value, schema, exactly=self._release.types_exactly)
        return wire if json.dumps(after) == before else json.dumps(after, ensure_ascii=False)


def _unwrapped(text: str) -> str:
    """Take off the newline that the markup puts on each side."""
    return text.removeprefix("\n").removesuffix("\n")


def json_object(values: Mapping[str, str]) -> str:
    """Return a JSON object of values that are JSON already."""
    members = (f"{json.dumps(key, ensure_ascii=False)}: {value}" for key, value in values.items())
    return "{" + ", ".join(members) + "}"
