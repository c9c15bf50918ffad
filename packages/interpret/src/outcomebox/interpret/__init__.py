"""Reads a model's raw output: reasoning, visible content and typed tool calls.

    from outcomebox.interpret import interpret

    turn = interpret(output, tools=tools, prompt_state="think_open")

`Interpreter` reads the same from a stream, and `render` writes a turn as a model would.
"""

from outcomebox.interpret.interpreter import Interpreter, interpret
from outcomebox.interpret.output import PromptState
from outcomebox.interpret.render import render
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import Coercion, Diagnostic, Status, Tool, ToolCall, Turn

__all__ = [
    "Coercion",
    "Diagnostic",
    "Interpreter",
    "PromptState",
    "Status",
    "Tool",
    "ToolCall",
    "Toolbox",
    "Turn",
    "interpret",
    "render",
]
