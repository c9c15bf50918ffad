"""Kimi K2: a call's id, which holds its name, and a JSON object; all calls in one section."""

from outcomebox.interpret.formats.base import Format, Header

FORMAT = Format(
    name="kimi_k2",
    spellings={
        "think_open": "<think>",
        "think_close": "</think>",
        "section_open": "<|tool_calls_section_begin|>",
        "section_close": "<|tool_calls_section_end|>",
        "call_open": "<|tool_call_begin|>",
        "call_close": "<|tool_call_end|>",
        "separator": "<|tool_call_argument_begin|>",
    },
    end_of_turn=("<|im_end|>", "[EOS]"),
    bodies=("headed",),
    headers=(Header("functions.{name}:{index}"), Header("{name}:{index}"), Header("{name}")),
    joiner="",
)
