"""Hermes, Qwen2.5 and Qwen3: a JSON object in `<tool_call>`, `<think>` reasoning."""

from outcomebox.interpret.formats.base import Format

FORMAT = Format(
    name="hermes",
    spellings={
        "think_open": "<think>",
        "think_close": "</think>",
        "call_open": "<tool_call>",
        "call_close": "</tool_call>",
    },
    end_of_turn=("<|im_end|>", "<|endoftext|>"),
    bodies=("json",),
)
