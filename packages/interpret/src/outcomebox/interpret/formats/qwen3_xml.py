"""Qwen3-Coder and Qwen3.5: `<function=...>` and `<parameter=...>` blocks, `<think>` reasoning."""

from outcomebox.interpret.formats.base import Format

FORMAT = Format(
    name="qwen3_xml",
    spellings={
        "think_open": "<think>",
        "think_close": "</think>",
        "call_open": "<tool_call>",
        "call_close": "</tool_call>",
        "function_open": "<function={name}>",
        "function_close": "</function>",
        "parameter_open": "<parameter={name}>",
        "parameter_close": "</parameter>",
    },
    end_of_turn=("<|im_end|>", "<|endoftext|>"),
    padded=True,
)
