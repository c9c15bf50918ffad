"""Outputs for the interpreter's tests, and hypothesis strategies for hostile ones."""

import json
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

FORMATS = ("qwen3_xml", "hermes", "deepseek_r1", "glm", "kimi_k2", "llama3_json", "mistral")

_SECTION = "<\uff5ctool\u2581calls\u2581begin\uff5c>", "<\uff5ctool\u2581calls\u2581end\uff5c>"
_R1_CALL = "<\uff5ctool\u2581call\u2581begin\uff5c>", "<\uff5ctool\u2581call\u2581end\uff5c>"
_R1_SEP = "<\uff5ctool\u2581sep\uff5c>"
_K2_SECTION = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
_K2_CALL = "<|tool_call_begin|>", "<|tool_call_end|>"
_K2_SEP = "<|tool_call_argument_begin|>"


def call_in(form: str, name: str, arguments: Mapping[str, Any] | None = None) -> str:
    """Write one call as the template of a format's model writes it."""
    values = dict(arguments or {})
    text = json.dumps(values, ensure_ascii=False)
    if form == "qwen3_xml":
        return call(name, {k: _written(v) for k, v in values.items()})
    if form == "glm":
        lines = [f"<tool_call>{name}"]
        for k, v in values.items():
            lines += [f"<arg_key>{k}</arg_key>", f"<arg_value>{_written(v)}</arg_value>"]
        return "\n".join([*lines, "</tool_call>"])
    if form == "deepseek_r1":
        body = f"function{_R1_SEP}{name}\n```json\n{text}\n```"
        return f"{_SECTION[0]}{_R1_CALL[0]}{body}{_R1_CALL[1]}{_SECTION[1]}"
    if form == "kimi_k2":
        body = f"functions.{name}:0{_K2_SEP}{text}"
        return f"{_K2_SECTION[0]}{_K2_CALL[0]}{body}{_K2_CALL[1]}{_K2_SECTION[1]}"
    if form == "mistral":
        return f"[TOOL_CALLS]{name}[ARGS]{text}"
    if form == "llama3_json":
        return f"<|python_tag|>{json.dumps({'name': name, 'parameters': values})}"
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': values})}\n</tool_call>"


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def whole_calls(form: str) -> list[str]:
    """Return some calls of a format, well formed."""
    return [call_in(form, "ping"), call_in(form, "edit", {"code": "x", "n": 1})]


_TEXT = ["<", ">", "\n", "\n\n", " ", "text", "7", '{"a": 1}', "\u00e9\u2028", '"', "'", "}", "]"]
_THINK = ["<think>", "</think>"]
_OBJECTS = [
    '{"name": "edit", "arguments": {"code": "x"}}',
    '{"name": "ping", "parameters": {}}',
    '{"name": "edit", "arguments": {"code": "',
    "{'name': 'ping', 'arguments': {}}",
    '{"name": "nope", "arguments": {bad}}',
    '{"n": 1}',
    "{",
    "[",
    ",",
    "; ",
    '\\"',
]
_MARKUP_OF: dict[str, list[str]] = {
    "hermes": [*_THINK, "<tool_call>", "</tool_call>", "<|im_end|>", "<tool_", "</tool_c"],
    "deepseek_r1": [
        *_THINK,
        *_SECTION,
        *_R1_CALL,
        _R1_SEP,
        "function",
        "edit",
        "\n```json\n",
        "\n```",
        _R1_SEP[:7],
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
    ],
    "glm": [
        *_THINK,
        "<tool_call>",
        "</tool_call>",
        "edit",
        "ping",
        "<arg_key>",
        "code",
        "</arg_key>",
        "<arg_value>",
        "</arg_value>",
        "<arg_key>n</arg_key>\n<arg_value>",
        "<arg_",
        "<|user|>",
    ],
    "kimi_k2": [
        *_THINK,
        *_K2_SECTION,
        *_K2_CALL,
        _K2_SEP,
        "functions.edit:0",
        "ping:1",
        "edit",
        "<|tool_",
        "<|im_end|>",
    ],
    "llama3_json": ["<|python_tag|>", "<|pyth", "<|eot_id|>", "<|eom_id|>", "Sure:\n"],
    "mistral": [
        "[THINK]",
        "[/THINK]",
        "[TOOL_CALLS]",
        "[CALL_ID]",
        "[ARGS]",
        "edit",
        "ping",
        "[TOOL",
        "</s>",
    ],
}


def markup(form: str) -> st.SearchStrategy[str]:
    """Return outputs put together from a format's markup, well placed and not."""
    if form == "qwen3_xml":
        return MARKUP
    objects = [] if form == "glm" else _OBJECTS
    pieces = st.sampled_from([*_MARKUP_OF[form], *objects, *_TEXT, *whole_calls(form)])
    return st.lists(pieces, max_size=24).map("".join)


def outputs(form: str) -> st.SearchStrategy[str]:
    """Return any outputs, those made of a format's markup among them."""
    return markup(form) | st.text()


PLAIN = st.text(alphabet=st.characters(exclude_characters="<[{", exclude_categories=["Cs"]))
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
