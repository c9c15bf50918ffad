"""How verl 0.9 reads `hermes` calls."""

import json
from typing import Any

from outcomebox.interpret.output import Output
from outcomebox.interpret.profiles.verl.schemas import kinds
from outcomebox.interpret.profiles.verl.turns import refused_turn
from outcomebox.interpret.profiles.wires import served_call
from outcomebox.interpret.profiles.xmlblocks import CALL_CLOSE, CALL_OPEN, blocks
from outcomebox.interpret.turn import ToolCall, Turn


def read_hermes(output: Output) -> Turn:
    """Read an output: each closed call by itself, and all that stands outside them.

    A call ends at the first closer, even inside a string. One that cannot be read is dropped and
    takes nothing else with it.
    """
    text, refused = output.text, kinds(output.tools).refused
    if refused:
        return refused_turn(text, refused)
    calls: list[ToolCall] = []
    content: list[str] = []
    done = 0
    for each in blocks(text, 0, len(text), CALL_OPEN, CALL_CLOSE):
        if each.body_end == each.end:
            break  # It is not closed: text.
        content.append(text[done : each.start])
        done = each.end
        read = _read(text[each.body : each.body_end])
        if read:
            calls.append(served_call(*read, (each.start, each.end), output.tools))
    content.append(text[done:])
    return Turn(None, "".join(content), tuple(calls))


def _read(body: str) -> tuple[str, str] | None:
    """Return the name and the arguments of one call; None where it has none."""
    try:
        value: Any = json.loads(body)
        if not isinstance(value, dict):
            return None
        name, arguments = value["name"], json.dumps(value["arguments"], ensure_ascii=False)
    except (ValueError, KeyError, RecursionError):
        return None
    return (name, arguments) if isinstance(name, str) else None
