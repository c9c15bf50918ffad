"""Llama 3: JSON objects with name and parameters, with or without `<|python_tag|>` before them."""

from outcomebox.interpret.formats.base import Format

FORMAT = Format(
    name="llama3_json",
    spellings={"call_open": "<|python_tag|>"},
    end_of_turn=("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"),
    bodies=("json",),
    argument_keys=("parameters", "arguments"),
    bare=True,
    joiner="; ",
)
