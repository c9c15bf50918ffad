"""GLM-4.5 to 4.7: a name, then keys and values between markers of their own.

A value whose schema is a string is written raw, any other as JSON.
"""

from outcomebox.interpret.formats.base import Format

FORMAT = Format(
    name="glm",
    spellings={
        "think_open": "<think>",
        "think_close": "</think>",
        "call_open": "<tool_call>",
        "call_close": "</tool_call>",
        "key_open": "<arg_key>",
        "key_close": "</arg_key>",
        "value_open": "<arg_value>",
        "value_close": "</arg_value>",
    },
    end_of_turn=("<|user|>", "<|observation|>", "<|endoftext|>"),
    bodies=("keyed",),
)
