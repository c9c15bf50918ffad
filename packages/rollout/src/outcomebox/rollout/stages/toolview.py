"""The tools of a ThinkingBox task as its agent sees them: the scenario has the last word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from outcomebox.rollout.stage import StageTool
from outcomebox.sandbox import InputError, ToolSpec
from outcomebox.sandbox.thinkingbox import BuiltinTool, ThinkingBoxTask, ToolOverride, fill


def stage_tools(task: ThinkingBoxTask, served: Sequence[ToolSpec]) -> tuple[StageTool, ...]:
    """The agent's own tools, then the scenario's, in their orders.

    Args:
        task: The task.
        served: What the servers tell of the scenario's tools.

    Raises:
        InputError: Two tools have one name.
    """
    overrides = {tool.name: tool for tool in task.tools}
    tools = [_builtin(tool) for tool in task.agent.builtin_tools]
    tools += [_overridden(spec, overrides[spec.name]) for spec in served]
    names: set[str] = set()
    for tool in tools:
        if tool.spec.name in names:
            raise InputError(
                "is a tool of the agent and of the scenario; take it out of one of them",
                file=task.file,
                task=task.uid,
                field="tools",
                value=tool.spec.name,
            )
        names.add(tool.spec.name)
    return tuple(tools)


def unknown_arguments(task: ThinkingBoxTask, served: Sequence[ToolSpec]) -> list[str]:
    """A warning for each argument that a scenario describes and no tool has."""
    known = {spec.name: spec.input_schema.get("properties") or {} for spec in served}
    return [
        f"scenario: {tool.name} has no argument {name} to describe"
        for tool in task.tools
        for name in tool.argument_descriptions or ()
        if name not in known.get(tool.name, {})
    ]


def direct_text(template: str, answer: str) -> str | None:
    """What the user is told when a tool has answered; None where the answer does not fit.

    Args:
        template: A format string over the fields of the answer; items can be looked up in them, no
            attributes.
        answer: The tool's answer, a JSON object.
    """
    try:
        found = orjson.loads(answer)
        return fill(template, found) if isinstance(found, dict) else None
    except (ValueError, KeyError, TypeError):
        return None


def _builtin(tool: BuiltinTool) -> StageTool:
    spec = ToolSpec(tool.name, tool.description, tool.input_schema, writes=False)
    return StageTool(spec, tool.is_end_turn, tool.direct_response, builtin=True)


def _overridden(spec: ToolSpec, override: ToolOverride) -> StageTool:
    schema = spec.input_schema
    described = override.argument_descriptions or {}
    properties: dict[str, Any] = schema.get("properties") or {}
    if any(name in properties for name in described):
        told = {
            name: {**value, "description": described[name]} if name in described else value
            for name, value in properties.items()
        }
        schema = {**schema, "properties": told}
    description = spec.description if override.description is None else override.description
    return StageTool(
        ToolSpec(spec.name, description, schema, spec.writes),
        override.is_end_turn,
        override.direct_response,
    )
