"""What goes wrong in an episode of the simulated policy: the mistakes that real agents make."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from outcomebox.rollout.policy import Message
from outcomebox.sandbox import ToolSpec


@dataclass(frozen=True, slots=True)
class Step:
    """A call to make, or the slip that stands in its place.

    Attributes:
        tool: Tool name; empty for an unasked write, which is chosen when its turn comes.
        arguments: Its arguments.
        kind: ``call``; ``draft``: written inside the reasoning and never made; ``unasked``: a write
            nobody asked for, with values seen in the conversation.
    """

    tool: str
    arguments: Mapping[str, Any]
    kind: Literal["call", "draft", "unasked"] = "call"


def apply_slip(
    slip: str, steps: Sequence[Step], writes: set[str], rng: random.Random
) -> list[Step]:
    """The steps with one slip in them.

    A slip that needs a write where there is none becomes an unasked write.

    Args:
        slip: ``skip``, ``end_early``, ``draft``, ``repeat``, ``wrong_value``, ``wrong_number`` or
            ``unasked_write``.
        steps: What would be right.
        writes: Names of the tools that write.
        rng: Where chance comes from.

    Raises:
        ValueError: There is no such slip.
    """
    steps = list(steps)
    places = [i for i, step in enumerate(steps) if step.tool in writes and step.kind == "call"]
    if slip == "unasked_write" or not places:
        return [*steps, Step("", {}, "unasked")]
    place = rng.choice(places)
    step = steps[place]
    if slip == "skip":
        del steps[place]
    elif slip == "end_early":
        del steps[place:]
    elif slip == "draft":
        steps[place] = replace(step, kind="draft")
    elif slip == "repeat":
        steps.insert(place + 1, step)
    elif slip in {"wrong_value", "wrong_number"}:
        steps[place] = replace(
            step, arguments=_altered(step.arguments, rng, numbers=slip == "wrong_number")
        )
    else:
        raise ValueError(f"there is no slip {slip!r}")
    return steps


def _altered(arguments: Mapping[str, Any], rng: random.Random, *, numbers: bool) -> dict[str, Any]:
    """The arguments with one value that is near, but wrong."""
    names = sorted(
        name
        for name, value in arguments.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    )
    if numbers:
        names = [name for name in names if not isinstance(arguments[name], str)] or names
    if not names:
        return dict(arguments)
    name = rng.choice(names)
    value = arguments[name]
    wrong: Any
    if isinstance(value, str):
        digits = [i for i, mark in enumerate(value) if mark.isdigit()]
        if digits:
            at = digits[-1]
            wrong = f"{value[:at]}{(int(value[at]) + rng.randint(1, 8)) % 10}{value[at + 1 :]}"
        else:
            wrong = " ".join(value.split()[: max(1, len(value.split()) // 2)])
            wrong = wrong if wrong != value else f"{value} (see above)"
    elif isinstance(value, int):
        wrong = value + rng.choice([-1, 1, 10, 100])
    else:
        wrong = value + rng.choice([-1.0, 0.5, 1.0])
    return {**arguments, name: wrong}


def known_values(messages: Sequence[Message]) -> dict[str, list[Any]]:
    """Names and the values that stood under them, in calls and in what tools answered."""
    known: dict[str, list[Any]] = {}

    def note(value: Any) -> None:
        if isinstance(value, Mapping):
            for name, item in value.items():
                if isinstance(item, str | int | float) and not isinstance(item, bool):
                    values = known.setdefault(str(name), [])
                    if item not in values:
                        values.append(item)
                else:
                    note(item)
        elif isinstance(value, list):
            for item in value:
                note(item)

    for message in messages:
        if message["role"] == "assistant":
            for call in message.get("tool_calls", ()):
                note(call["arguments"])
        elif message["role"] == "tool" and not message.get("is_error"):
            try:
                note(json.loads(message["content"]))
            except ValueError:
                continue  # an answer in prose has no names
    return known


def unasked_write(
    tools: Sequence[ToolSpec], known: Mapping[str, Sequence[Any]], rng: random.Random
) -> Step | None:
    """A write that the values at hand are enough for, or None.

    Args:
        tools: Tools that write.
        known: From :func:`known_values`.
        rng: Where chance comes from.
    """
    able = []
    for tool in tools:
        properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
        required = tool.input_schema.get("required", [])
        needs = [name for name in required if name.endswith("_id") or name == "id"]
        if needs and all(known.get(name) for name in needs):
            able.append((tool.name, {name: properties[name] for name in required}))
    if not able:
        return None
    name, required_properties = rng.choice(able)
    arguments = {
        name: _value(name, schema, known, rng) for name, schema in required_properties.items()
    }
    return Step(name, arguments)


def _value(
    name: str, schema: Mapping[str, Any], known: Mapping[str, Sequence[Any]], rng: random.Random
) -> Any:
    if schema.get("enum"):
        return rng.choice(list(schema["enum"]))
    if known.get(name):
        return rng.choice(list(known[name]))
    match schema.get("type"):
        case "integer":
            return rng.choice([1, 5, 100])
        case "number":
            return rng.choice([1.0, 9.5])
        case "boolean":
            return rng.random() < 0.5
        case "array":
            return []
        case "object":
            return {}
    return "As discussed with the customer."
