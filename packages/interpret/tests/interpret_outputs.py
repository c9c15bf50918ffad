"""Outputs for the interpreter's tests, and hypothesis strategies for hostile ones."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "edit",
            "parameters": {
                "type": "object",
                "properties": {
                    "code": {"type": "string"},
                    "n": {"type": "integer"},
                    "opts": {"anyOf": [{"type": "object"}, {"type": "null"}]},
                },
            },
        },
    },
    {"name": "ping", "parameters": {"type": "object", "properties": {}}},
]


def call(name: str, parameters: Mapping[str, str] | None = None) -> str:
    """Write a call as the model's template writes it."""
    lines = ["<tool_call>", f"<function={name}>"]
    for parameter, value in (parameters or {}).items():
        lines += [f"<parameter={parameter}>", value, "</parameter>"]
    return "\n".join([*lines, "</function>", "</tool_call>"])


PROMPT_STATES = st.sampled_from(["assistant_start", "think_open", "think_closed"])
FINISH_REASONS = st.sampled_from(["stop", "length"])

FRAGMENTS = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "<function=edit>",
        "<function=ping>",
        "<function=nope>",
        "</function>",
        "<parameter=code>",
        "<parameter=n>",
        "<parameter=other>",
        "</parameter>",
        "<|im_end|>",
        "<tool_",
        "<function=",
        "</para",
        "<",
        ">",
        "\n",
        "\n\n",
        " ",
        "text",
        "7",
        '{"a": 1}',
        "é\u2028",
        call("ping"),
        call("edit", {"code": "x", "n": "1"}),
    ]
)
"""Pieces of markup and text; any sequence of them is an output to survive."""

MARKUP = st.lists(FRAGMENTS, max_size=24).map("".join)
OUTPUTS = MARKUP | st.text()

PLAIN = st.text(alphabet=st.characters(exclude_characters="<", exclude_categories=["Cs"]))
"""Text without markup."""


def visible(text: st.SearchStrategy[str]) -> st.SearchStrategy[str | None]:
    """Return None or text that is not white space alone."""
    return st.none() | text.filter(lambda each: each.strip(" \t\r\n\f\v") != "")


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN, inner, max_size=4),
    max_leaves=8,
)

JSON_TYPES: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


def tool_for(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool that declares each argument with the type of its value."""
    properties = {k: {"type": JSON_TYPES[type(v)]} for k, v in arguments.items()}
    return {"name": name, "parameters": {"type": "object", "properties": properties}}
