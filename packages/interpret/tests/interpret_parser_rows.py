"""Small outputs on which parsers disagree, and what verl 0.9.1 and sglang 0.5.23 make of them.

Every answer was taken from the real parsers. A stream's is that of one token a delta.
"""

from typing import Any, NamedTuple

Call = tuple[str, str]


class Read(NamedTuple):
    """What a parser hands out."""

    reasoning: str | None
    content: str | None
    calls: tuple[Call, ...] = ()


class Row(NamedTuple):
    """One output and its readings; `verl` None: verl refuses the tool, and no run starts."""

    name: str
    text: str
    sglang: Read
    stream: Read
    verl: Read | None
    schema: dict[str, Any] = {"type": "string"}  # noqa: RUF012 - never changed
    format: str = "qwen3_xml"
    prompt_state: str = "think_closed"
    finish_reason: str = "stop"

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools: `f` with the parameter `p` of the row's schema and a text `q`."""
        properties = {"p": self.schema, "q": {"type": "string"}}
        parameters = {
            "type": "object",
            "properties": properties,
            "$defs": {"count": {"type": "integer"}},
        }
        function = {"name": "f", "description": "Does it.", "parameters": parameters}
        return [{"type": "function", "function": function}]


def xml(value: str) -> str:
    """Write a call of `f` with one value."""
    inside = f"<parameter=p>\n{value}\n</parameter>"
    return f"<tool_call>\n<function=f>\n{inside}\n</function>\n</tool_call>"


def hermes(body: str) -> str:
    """Write a call around its body."""
    return f"<tool_call>\n{body}\n</tool_call>"


def value_row(name: str, value: str, kind: Any, sglang: str, verl: str | None) -> Row:
    """Make the row of one value, given the JSON of its readings."""
    schema = {"type": kind} if isinstance(kind, str | list) else kind
    wire = f'{{"p": {sglang}}}'
    read = Read(None, "", (("f", wire),))
    other = None if verl is None else Read(None, "", (("f", f'{{"p": {verl}}}'),))
    return Row(name, xml(value), read, read._replace(content=None), other, schema)


VALUES = [
    value_row("indented string", "  x  ", "string", '"  x  "', '"  x  "'),
    value_row("padded by newlines", "\n\nx\n", "string", '"\\n\\nx\\n"', '"\\n\\nx\\n"'),
    value_row("zeros, string or integer", "00501", ["string", "integer"], '"00501"', '"00501"'),
    value_row("null, string", "null", "string", "null", "null"),
    value_row("Null, integer", "Null", "integer", "null", "null"),
    value_row("1, boolean", "1", "boolean", "false", "false"),
    value_row("yes, boolean", "yes", "boolean", "false", "false"),
    value_row("True, boolean", "True", "boolean", "true", "true"),
    value_row(
        "2**63 - 1, number",
        "9223372036854775807",
        "number",
        "9223372036854775808",
        "9223372036854775808",
    ),
    value_row("7.0, number", "7.0", "number", "7.0", "7"),
    value_row("1e999, number", "1e999", "number", "Infinity", '"1e999"'),
    value_row("1_000, integer", "1_000", "integer", "1000", "1000"),
    value_row("mixed array", '[1,"2",null]', "array", '[1, "2", null]', '"[1,\\"2\\",null]"'),
    value_row("Python object", "{'x':1}", "object", '{"x": 1}', '{"x": 1}'),
    value_row("object of words", "{x: 1}", "object", '"{x: 1}"', '"{x: 1}"'),
    value_row("tuple, array", "(1, 2)", "array", "[1, 2]", "[1, 2]"),
    value_row("$ref", "7", {"$ref": "#/$defs/count"}, '"7"', None),
    value_row("const", "7", {"const": 7}, '"7"', None),
    value_row("anyOf", "7", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", None),
    value_row("a database's type", "7", "bigint", "7", "7"),
    value_row("a type of text only sglang knows", "7", "uuid", '"7"', "7"),
]
"""One value each, in the XML form."""


def _calls(*wires: str, name: str = "f") -> tuple[Call, ...]:
    return tuple((name, wire) for wire in wires)


_CLOSE = "\n</parameter>\n</function>\n</tool_call>"

MARKUP = [
    Row(
        "a closer in a value",
        xml("a </parameter> b"),
        Read(None, "", _calls('{"p": "a "}')),
        Read(None, None, _calls('{"p": "a "}')),
        Read(None, "", _calls('{"p": "a "}')),
    ),
    Row(
        "a function's closer in a value",
        xml("see </function> x"),
        Read(None, "", _calls('{"p": "see "}')),
        Read(None, None, _calls('{"p": "see "}}')),
        Read(None, "", _calls('{"p": "see "}')),
    ),
    Row(
        "a function's opener in a value",
        xml("see <function=g>"),
        Read(None, "", _calls('{"p": "see <function=g>"}')),
        Read(None, None, _calls('{"p": "see <function=g>"}')),
        Read(None, "", _calls('{"p": "see <function=g>"}')),
    ),
    Row(
        "no closer of the parameter",
        "<tool_call>\n<function=f>\n<parameter=p>\nx\n</function>\n</tool_call>",
        Read(None, "", _calls('{"p": "x"}')),
        Read(None, None, _calls('{"p": "x"}')),
        Read(None, "", _calls('{"p": "x"}')),
    ),
    Row(
        "no closer before the next parameter",
        f"<tool_call>\n<function=f>\n<parameter=p>\nx\n<parameter=q>\ny{_CLOSE}",
        Read(None, "", _calls('{"p": "x", "q": "y"}')),
        Read(None, None, _calls('{"p": "x", "q": "y"}')),
        Read(None, "", _calls('{"p": "x\\n<parameter=q>\\ny"}')),
    ),
    Row(
        "cut in a value",
        "<tool_call>\n<function=f>\n<parameter=p>\nrm -rf /tmp/x",
        Read(None, "", _calls('{"p": "rm -rf /tmp/x"}')),
        Read(None, None, _calls("")),
        Read(None, "", _calls('{"p": "rm -rf /tmp/x"}')),
        finish_reason="length",
    ),
    Row(
        "no wrapper",
        "<function=f>\n<parameter=p>\nx\n</parameter>\n</function>",
        Read(None, "<function=f>\n<parameter=p>\nx\n</parameter>\n</function>"),
        Read(None, "\n\n", _calls('{"p": "x"}')),
        Read(None, "<function=f>\n<parameter=p>\nx\n</parameter>\n</function>"),
    ),
    Row(
        "text after a call",
        xml("x") + " Done.",
        Read(None, "", _calls('{"p": "x"}')),
        Read(None, " Done.", _calls('{"p": "x"}')),
        Read(None, "", _calls('{"p": "x"}')),
    ),
    Row(
        "a marker in a sentence",
        "Use the <tool_call> tag",
        Read(None, "Use the "),
        Read(None, "Use the "),
        Read(None, "Use the <tool_call> tag"),
    ),
    Row(
        "a call drafted in reasoning",
        f"hm {xml('x')}</think>no",
        Read("hm " + xml("x"), "no"),
        Read("hm ", "</think>no", _calls('{"p": "x"}')),
        Read(None, "hm ", _calls('{"p": "x"}')),
        prompt_state="think_open",
    ),
    Row(
        "reasoning again",
        "a</think>b<think>c</think>d",
        Read("a", "b<think>c</think>d"),
        Read("ac", "bd"),
        Read(None, "a</think>b<think>c</think>d"),
        prompt_state="think_open",
    ),
    Row(
        "a stray closer of a function",
        "see </function>!",
        Read(None, "see </function>!"),
        Read(None, "see !", _calls("{}", name="")),
        Read(None, "see </function>!"),
    ),
    Row(
        "the end of the turn",
        f"Hi {xml('x')}<|im_end|>",
        Read(None, "Hi ", _calls('{"p": "x"}')),
        Read(None, "Hi ", _calls('{"p": "x"}')),
        Read(None, "Hi ", _calls('{"p": "x"}')),
    ),
    Row(
        "the end of the turn without a call",
        "Hi<|im_end|>",
        Read(None, "Hi"),
        Read(None, "Hi"),
        Read(None, "Hi<|im_end|>"),
    ),
    Row(
        "a value that JSON cannot carry",
        xml("{1, 2}"),
        Read(None, xml("{1, 2}")),
        Read(None, None, _calls("")),
        Read(None, xml("{1, 2}")),
        schema={"type": "object"},
    ),
]
"""Markup of the XML form in odd places."""

_GOOD = '{"name": "f", "arguments": {"p": "x"}}'

HERMES = [
    Row(
        "a closer in a string",
        hermes('{"name": "f", "arguments": {"p": "a </tool_call> b"}}'),
        Read(None, hermes('{"name": "f", "arguments": {"p": "a </tool_call> b"}}')),
        Read(None, "\n", _calls('{"p": "a </tool_call> b"}')),
        Read(None, ' b"}}\n</tool_call>'),
        format="hermes",
    ),
    Row(
        "no newlines",
        f"<tool_call>{_GOOD}</tool_call>",
        Read(None, "", _calls('{"p": "x"}')),
        Read(None, None, _calls('{"p": "x"}')),
        Read(None, "", _calls('{"p": "x"}')),
        format="hermes",
    ),
    Row(
        "one bad call of two",
        hermes(_GOOD) + hermes('{"name": "f", "arguments": {"p": x}}'),
        Read(None, hermes(_GOOD) + hermes('{"name": "f", "arguments": {"p": x}}')),
        Read(None, "\n", (*_calls('{"p": "x"}'), *_calls("{}"))),
        Read(None, "", _calls('{"p": "x"}')),
        format="hermes",
    ),
    Row(
        "an unknown tool",
        hermes('{"name": "zz", "arguments": {"p": "x"}}'),
        Read(None, ""),
        Read(None, ', "arguments": {"p": "x"}}\n'),
        Read(None, "", (("zz", '{"p": "x"}'),)),
        format="hermes",
    ),
    Row(
        "cut in a string",
        '<tool_call>\n{"name": "f", "arguments": {"p": "rm -rf /tmp/x',
        Read(None, '<tool_call>\n{"name": "f", "arguments": {"p": "rm -rf /tmp/x'),
        Read(None, None, _calls('{"p": "rm -rf /tmp/x"}')),
        Read(None, '<tool_call>\n{"name": "f", "arguments": {"p": "rm -rf /tmp/x'),
        format="hermes",
        finish_reason="length",
    ),
    Row(
        "arguments that are a string",
        hermes('{"name": "f", "arguments": "{\\"p\\": 1}"}'),
        Read(None, "", _calls('"{\\"p\\": 1}"')),
        Read(None, "\n", _calls('"{\\"p\\": 1}"')),
        Read(None, "", _calls('"{\\"p\\": 1}"')),
        format="hermes",
    ),
    Row(
        "no arguments",
        hermes('{"name": "f"}') + " Done.",
        Read(None, "", _calls("{}")),
        Read(None, None, _calls("")),
        Read(None, " Done."),
        format="hermes",
    ),
]
"""The JSON form."""

ROWS = [*VALUES, *MARKUP, *HERMES]
