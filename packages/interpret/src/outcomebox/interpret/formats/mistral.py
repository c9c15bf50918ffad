"""Mistral: `[TOOL_CALLS]`, then a name and a JSON object, or a list of objects in older templates.

Some templates write a call's id between its name and its arguments.
"""

from outcomebox.interpret.formats.base import Format, Header

FORMAT = Format(
    name="mistral",
    spellings={
        "think_open": "[THINK]",
        "think_close": "[/THINK]",
        "call_open": "[TOOL_CALLS]",
        "call_id": "[CALL_ID]",
        "separator": "[ARGS]",
    },
    end_of_turn=("</s>",),
    bodies=("headed", "json"),
    headers=(Header("{name}"), Header("{name}", separated=False)),
    listed=True,
    joiner="",
)
