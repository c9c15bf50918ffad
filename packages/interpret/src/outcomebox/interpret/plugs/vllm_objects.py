"""vLLM's own objects, made of ours and read by us."""

import importlib
from functools import cache
from typing import Any

from outcomebox.interpret.plugs.stream import Delta
from outcomebox.interpret.turn import ToolCall

_PROTOCOLS = (
    "vllm.entrypoints.generate.base.protocol",  # 0.32
    "vllm.entrypoints.openai.engine.protocol",  # 0.24
)


@cache
def protocol() -> Any:
    """Return the module of this vLLM that has the objects of its answers.

    Raises:
        ImportError: This vLLM has none that is known.
    """
    for name in _PROTOCOLS:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise ImportError(
        f"this vLLM has none of {', '.join(_PROTOCOLS)}; outcomebox knows 0.24 to 0.32"
    )


def tools_of(tools: Any) -> list[dict[str, Any]]:
    """Return a request's tools as plain dicts."""
    dumped = (each if isinstance(each, dict) else each.model_dump() for each in tools or ())
    return [each for each in dumped if each.get("type", "function") == "function"]


def whole_call(call: ToolCall) -> Any:
    """Return a call as vLLM sends it whole; it gets an id."""
    objects = protocol()
    function = objects.FunctionCall(name=call.name, arguments=call.arguments_json())
    return objects.ToolCall(function=function)


def message(delta: Delta) -> Any:
    """Return a delta as vLLM sends it; None where there is nothing to send."""
    if not any(delta):
        return None
    objects = protocol()
    calls = [whole_call(call) for call in delta.calls]
    return objects.DeltaMessage(
        reasoning=delta.reasoning or None,
        content=delta.content or None,
        tool_calls=[
            objects.DeltaToolCall(
                index=index,
                id=call.id,
                type="function",
                function=objects.DeltaFunctionCall(
                    name=call.function.name, arguments=call.function.arguments
                ),
            )
            for index, call in enumerate(calls)
        ],
    )
