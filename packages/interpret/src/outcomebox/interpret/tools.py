"""The tools on offer, looked up by name."""

from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.interpret.coercion.schemas import properties_of
from outcomebox.interpret.turn import Tool


class Toolbox:
    """The parameters' schemas of every offered tool, made ready once for many outputs.

    Raises:
        ValueError: A tool has no name, or two have the same; the message says which.

    Attributes:
        known: Whether it is known which tools are offered.
    """

    def __init__(self, tools: Sequence[Tool] | None) -> None:
        self.known = tools is not None
        self._schemas: dict[str, Mapping[str, Any]] = {}
        self._properties: dict[str, Mapping[str, Any] | None] = {}
        for index, tool in enumerate(tools or ()):
            name, schema = _name_and_schema(index, tool)
            if name in self._schemas:
                raise ValueError(f"tools[{index}]: the name {name!r} is offered twice; rename one")
            self._schemas[name] = schema

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the offered tools, in order."""
        return tuple(self._schemas)

    @property
    def none_offered(self) -> bool:
        """Whether it is known that no tool is offered, so that a server's request has none."""
        return self.known and not self._schemas

    def offered(self, name: str) -> bool | None:
        """Say whether a tool of that name is offered; None where the tools are not known."""
        return name in self._schemas if self.known else None

    def declared(self, name: str, parameter: str) -> bool | None:
        """Say whether a tool has that parameter; None where its parameters are not known."""
        properties = self.properties(name)
        return None if properties is None else parameter in properties

    def properties(self, name: str) -> Mapping[str, Any] | None:
        """Return the schemas of a tool's parameters; None where they are not known."""
        if name not in self._properties:
            self._properties[name] = properties_of(self.schema(name))
        return self._properties[name]

    def schema(self, name: str) -> Mapping[str, Any]:
        """Return the schema of a tool's arguments; empty where it is not known."""
        return self._schemas.get(name, {})


def _name_and_schema(index: int, tool: Any) -> tuple[str, Mapping[str, Any]]:
    function = tool.get("function", tool) if isinstance(tool, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name, str) or not name:
        raise ValueError(
            f"tools[{index}]: an OpenAI tool object with a name is wanted, with or without its "
            f"`function` wrapper; got {tool!r:.200}"
        )
    schema = function.get("parameters")
    return name, schema if isinstance(schema, Mapping) else {}
