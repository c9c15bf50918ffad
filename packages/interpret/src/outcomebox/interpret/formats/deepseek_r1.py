"""DeepSeek-R1 and V3: a header and fenced JSON for each call, all calls in one section.

The reasoning's opener is part of the prompt in later templates and of the output in earlier ones.
V3.1 writes the name before the separator and no fence.
"""

from outcomebox.interpret.formats.base import Format, Header

FORMAT = Format(
    name="deepseek_r1",
    spellings={
        "think_open": "<think>",
        "think_close": "</think>",
        "section_open": "<\uff5ctool\u2581calls\u2581begin\uff5c>",
        "section_close": "<\uff5ctool\u2581calls\u2581end\uff5c>",
        "call_open": "<\uff5ctool\u2581call\u2581begin\uff5c>",
        "call_close": "<\uff5ctool\u2581call\u2581end\uff5c>",
        "separator": "<\uff5ctool\u2581sep\uff5c>",
    },
    end_of_turn=("<\uff5cend\u2581of\u2581sentence\uff5c>",),
    bodies=("headed",),
    headers=(
        Header("function", "{name}\n```json\n", "\n```"),
        Header("function", "{name}"),
        Header("{name}"),
    ),
    always_reasons=True,
)
