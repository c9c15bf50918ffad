"""The shortest way: a whole output exactly as Qwen3's template writes it, read by two patterns.

It holds no markup but that of one reasoning block and of its calls, nor anything that begins like
it, so no marker can be anything but what it is. Whatever does not fit the pattern is left to the
scanner and the machine; what fits they read the same, which tests hold: a stream never comes this
way.
"""

import re

from outcomebox.interpret.formats.base import MAX_NAME
from outcomebox.interpret.output import Output
from outcomebox.interpret.strict.layout import WHITE_SPACE
from outcomebox.interpret.strict.raw import RawCall
from outcomebox.interpret.strict.typed import type_strict
from outcomebox.interpret.turn import Diagnostic, ToolCall, Turn

# Every repetition is possessive (`*+`): it gives nothing back, so that no text is looked at twice.
_NAME = rf"[^<>\n]{{1,{MAX_NAME}}}+"
_TEXT = r"(?:[^<]++|<(?!/?(?:think|tool_call|function|parameter)|\|))*+"
_SPACE = rf"[{WHITE_SPACE}]*+"
_PARAMETER = rf"<parameter={_NAME}>\n{_TEXT}</parameter>\n"
_CALL = rf"<tool_call>\n<function={_NAME}>\n(?:{_PARAMETER})*+</function>\n</tool_call>"
_REST = rf"({_TEXT})((?:{_CALL}\n?)*+){_SPACE}(?:<\|im_end\|>{_SPACE})?"
_TURNS = {
    "think_open": re.compile(rf"({_TEXT})</think>{_REST}"),
    "think_closed": re.compile(rf"(){_REST}"),
    "assistant_start": re.compile(rf"(?:{_SPACE}<think>({_TEXT})</think>)?{_REST}"),
}
_CALLS = re.compile(
    rf"<tool_call>\n<function=({_NAME})>\n((?:{_PARAMETER})*+)</function>\n</tool_call>"
)
_PARAMETERS = re.compile(rf"<parameter=({_NAME})>\n({_TEXT})</parameter>")


def read_template(output: Output) -> Turn | None:
    """Return the turn of an output that is just as the template writes it, else None.

    Its work is linear in the text.
    """
    if output.cut:
        return None
    text = output.text
    found = _TURNS[output.prompt_state].fullmatch(text)
    if found is None:
        return None
    reasoning, content = found[1], found[2]
    calls: list[ToolCall] = []
    diagnostics: list[Diagnostic] = []
    if found[3]:
        for written in _CALLS.finditer(text, found.start(3), found.end(3)):
            raw = RawCall(written[1], written.start())
            raw.end = written.end()
            pairs = _PARAMETERS.findall(written[2])
            raw.parameters = {name: value.removesuffix("\n") for name, value in pairs}
            if len(raw.parameters) != len(pairs):
                return None
            call, notes = type_strict(raw, output.tools)
            calls.append(call)
            diagnostics += notes
    return Turn(
        reasoning if reasoning and reasoning.strip(WHITE_SPACE) else None,
        content if content.strip(WHITE_SPACE) else None,
        tuple(calls),
        tuple(diagnostics),
    )
