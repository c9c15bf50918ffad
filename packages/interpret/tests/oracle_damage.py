"""Everything that is done to a generated turn, by name; the counts of a run go by these names."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from oracle_chunks import Chunk, Chunks, at, call_chunks, function_chunks, sentence
from oracle_draw import Draw, chance, pick
from oracle_values import EDGES, MARKERS, UNICODE
from outcomebox.interpret.turn import Tool


class Scene(NamedTuple):
    """What a damage may look at and change.

    Attributes:
        chunks: The turn, changed in place.
        tools: The tools on offer.
        format_name: The format.
    """

    chunks: Chunks
    tools: list[Tool]
    format_name: str


Damage = Callable[[Scene, Draw], bool]
"""Changes the turn; false where it found nothing to change."""


def _dropping(*roles: str) -> Damage:
    def damage(scene: Scene, draw: Draw) -> bool:
        places = at(scene.chunks, *roles)
        if places:
            del scene.chunks[pick(draw, places)]
        return bool(places)

    return damage


def _doubling(*roles: str) -> Damage:
    def damage(scene: Scene, draw: Draw) -> bool:
        places = at(scene.chunks, *roles)
        if places:
            place = pick(draw, places)
            between = [Chunk("space", "\n")] if chance(draw, 50) else []
            scene.chunks[place:place] = [scene.chunks[place], *between]
        return bool(places)

    return damage


def _inserting(roles: tuple[str, ...], texts: tuple[str, ...] = (), *, before: bool) -> Damage:
    """Put a text, one of `texts` or a sentence, before or after a chunk of these roles."""

    def damage(scene: Scene, draw: Draw) -> bool:
        places = at(scene.chunks, *roles)
        if places:
            text = pick(draw, texts) if texts else sentence(draw)
            place = pick(draw, places) + (0 if before else 1)
            scene.chunks.insert(place, Chunk("text", text, spelled=chance(draw, 30)))
        return bool(places)

    return damage


def _rewriting(role: str, texts: tuple[str, ...]) -> Damage:
    """Give a chunk of that role another text; `{}` stands for what it said."""

    def damage(scene: Scene, draw: Draw) -> bool:
        places = at(scene.chunks, role)
        if places:
            place = pick(draw, places)
            old = scene.chunks[place]
            text = pick(draw, texts).replace("{}", old.text)
            scene.chunks[place] = old._replace(text=text, spelled=chance(draw, 40))
        return bool(places)

    return damage


def _calls_end(chunks: Chunks) -> int:
    closers = at(chunks, "call_close")
    return closers[-1] + 1 if closers else len(chunks) - len(at(chunks, "end"))


def _another_call(scene: Scene, draw: Draw) -> bool:
    place = _calls_end(scene.chunks)
    added = call_chunks(draw, scene.format_name, pick(draw, scene.tools))
    scene.chunks[place:place] = [*([Chunk("space", "\n")] if chance(draw, 70) else []), *added]
    return True


def _unknown_tool(scene: Scene, draw: Draw) -> bool:
    place = _calls_end(scene.chunks)
    name = pick(draw, ("no_such_tool", "Refund", "get_order ", "functions.run", "", "größe"))
    scene.chunks[place:place] = call_chunks(draw, scene.format_name, pick(draw, scene.tools), name)
    return True


def _draft(scene: Scene, draw: Draw) -> bool:
    places = at(scene.chunks, "think_close")
    if places:
        draft = call_chunks(draw, scene.format_name, pick(draw, scene.tools))
        scene.chunks[places[0] : places[0]] = [*draft, Chunk("reasoning", sentence(draw))]
    return bool(places)


def _thinking_again(scene: Scene, draw: Draw) -> bool:
    place = draw.below(len(scene.chunks) + 1 - len(at(scene.chunks, "end")))
    again = [
        Chunk("think_open", "<think>"),
        Chunk("reasoning", sentence(draw)),
        Chunk("think_close", "</think>"),
    ]
    scene.chunks[place:place] = again[: 2 if chance(draw, 25) else 3]
    return True


def _thought_after(scene: Scene, draw: Draw) -> bool:
    place = _calls_end(scene.chunks)
    scene.chunks[place:place] = [Chunk("text", sentence(draw)), Chunk("think_close", "</think>")]
    return True


def _special(scene: Scene, draw: Draw) -> bool:
    text = pick(draw, ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|vision_start|>"))
    if chance(draw, 30):
        text = pick(draw, ("<tool_response>", "</tool_response>"))
    scene.chunks.insert(draw.below(len(scene.chunks) + 1), Chunk("special", text))
    return True


def _spelled(scene: Scene, draw: Draw) -> bool:
    places = at(scene.chunks, "think_open", "think_close", "call_open", "call_close")
    if places:
        place = pick(draw, places)
        scene.chunks[place] = scene.chunks[place]._replace(spelled=True)
    return bool(places)


def _stray(scene: Scene, draw: Draw) -> bool:
    text = pick(draw, MARKERS[:-1])
    scene.chunks.insert(
        draw.below(len(scene.chunks) + 1), Chunk("text", text, spelled=chance(draw, 30))
    )
    return True


def _spaces(scene: Scene, draw: Draw) -> bool:
    places = at(scene.chunks, "space")
    for place in places:
        text = pick(draw, ("", " ", "\n\n", "\r\n", "\t", "  \n", "\n  "))
        scene.chunks[place] = scene.chunks[place]._replace(text=text)
    return bool(places)


def _unicode(scene: Scene, draw: Draw) -> bool:
    places = at(scene.chunks, "value", "text", "reasoning", "body")
    if places:
        place = pick(draw, places)
        old = scene.chunks[place]
        cut = draw.below(len(old.text) + 1)
        text = old.text[:cut] + pick(draw, UNICODE) + old.text[cut:]
        scene.chunks[place] = old._replace(text=text)
    return bool(places)


def _swapped(scene: Scene, draw: Draw) -> bool:
    if len(scene.chunks) < 2:
        return False
    place = draw.below(len(scene.chunks) - 1)
    chunks = scene.chunks
    chunks[place], chunks[place + 1] = chunks[place + 1], chunks[place]
    return True


def _truncated_chunk(scene: Scene, draw: Draw) -> bool:
    places = at(
        scene.chunks, "call_open", "call_close", "function_open", "function_close",
        "parameter_open", "parameter_close", "think_close", "think_open",
    )  # fmt: skip
    if places:
        place = pick(draw, places)
        old = scene.chunks[place]
        length = 1 + draw.below(len(old.text) - 1)
        scene.chunks[place] = old._replace(text=old.text[:length], spelled=True)
    return bool(places)


SHARED: Mapping[str, Damage] = {
    "another_call": _another_call,
    "unknown_tool": _unknown_tool,
    "draft_in_thinking": _draft,
    "thinking_again": _thinking_again,
    "thought_after_call": _thought_after,
    "think_close_missing": _dropping("think_close"),
    "think_close_doubled": _doubling("think_close"),
    "think_open_doubled": _inserting(
        ("think_open", "reasoning", "call_open"), ("<think>", "<think>\n"), before=True
    ),
    "special_token_inside": _special,
    "marker_spelled": _spelled,
    "marker_stray": _stray,
    "marker_cut": _truncated_chunk,
    "marker_quoted_in_text": _inserting(
        ("call_open", "call_close", "think_close"),
        tuple(f"Use the {marker} tag. " for marker in MARKERS),
        before=False,
    ),
    "marker_quoted_in_thinking": _rewriting(
        "reasoning", tuple(f"{{}} a {marker} b" for marker in MARKERS)
    ),
    "text_before_call": _inserting(("call_open",), before=True),
    "text_after_call": _inserting(("call_close",), before=False),
    "text_after_opener": _inserting(("call_open",), before=False),
    "spaces_odd": _spaces,
    "unicode": _unicode,
    "chunks_swapped": _swapped,
    "call_open_missing": _dropping("call_open"),
    "call_open_doubled": _doubling("call_open"),
    "call_close_missing": _dropping("call_close"),
    "call_close_doubled": _doubling("call_close"),
}
"""Damages of every format."""


def _edge_value(scene: Scene, draw: Draw) -> bool:
    places = at(scene.chunks, "value")
    for place in places:
        if chance(draw, 70):
            scene.chunks[place] = scene.chunks[place]._replace(text=pick(draw, EDGES))
    return bool(places)


def _quoted_call(scene: Scene, draw: Draw) -> bool:
    places = at(scene.chunks, "value")
    if places:
        place = pick(draw, places)
        quoted = call_chunks(draw, scene.format_name, pick(draw, scene.tools))
        text = "see " + "".join(chunk.text for chunk in quoted) + pick(draw, ("", " there"))
        old = scene.chunks[place]
        scene.chunks[place] = old._replace(text=text, spelled=chance(draw, 50))
    return bool(places)


def _two_functions(scene: Scene, draw: Draw) -> bool:
    places = at(scene.chunks, "function_close")
    if places:
        place = pick(draw, places) + 1
        scene.chunks[place:place] = [
            Chunk("space", "\n"),
            *function_chunks(draw, pick(draw, scene.tools)),
        ]
    return bool(places)


def _bare_function(scene: Scene, draw: Draw) -> bool:
    place = _calls_end(scene.chunks)
    added = function_chunks(draw, pick(draw, scene.tools))
    scene.chunks[place:place] = [Chunk("space", pick(draw, ("\n", "", "\n\n"))), *added]
    return True


def _parameter_again(scene: Scene, draw: Draw) -> bool:
    places = at(scene.chunks, "parameter_open")
    if places:
        place = pick(draw, places)
        again = [
            scene.chunks[place],
            Chunk("value", pick(draw, EDGES)),
            Chunk("parameter_close", "</parameter>"),
        ]
        scene.chunks[place:place] = again
    return bool(places)


def _unknown_parameter(scene: Scene, draw: Draw) -> bool:
    places = at(scene.chunks, "function_close")
    if places:
        place = pick(draw, places)
        name = pick(draw, ("extra", "Order", "order ", "", "a b", "é"))
        scene.chunks[place:place] = [
            Chunk("parameter_open", f"<parameter={name}>"),
            Chunk("value", pick(draw, EDGES)),
            Chunk("parameter_close", "</parameter>"),
        ]
    return bool(places)


_HERMES_CALL = '<tool_call>\n{"name": "run", "arguments": {}}\n</tool_call>'

XML: Mapping[str, Damage] = {
    "value_edge": _edge_value,
    "value_quotes_marker": _rewriting("value", tuple(f"{{}} a {marker} b" for marker in MARKERS)),
    "value_quotes_call": _quoted_call,
    "value_ends_in_marker": _rewriting("value", tuple(f"{{}}{marker}" for marker in MARKERS)),
    "two_functions": _two_functions,
    "function_bare": _bare_function,
    "function_open_missing": _dropping("function_open"),
    "function_open_unclosed": _rewriting(
        "function_open", ("<function=refund", "<function=", "<function", "<function=>")
    ),
    "function_open_odd": _rewriting(
        "function_open",
        ("<function = run>", "<function= run >", "< function=run>", '<function="run">', "{}>"),
    ),
    "function_close_missing": _dropping("function_close"),
    "function_close_doubled": _doubling("function_close"),
    "function_close_odd": _rewriting(
        "function_close", ("</ function>", "</function >", "<function>")
    ),
    "parameter_open_unclosed": _rewriting(
        "parameter_open", ("<parameter=order", "<parameter=", "<parameter", "<parameter=>")
    ),
    "parameter_open_odd": _rewriting(
        "parameter_open",
        ("<parameter = order>", "< parameter=order>", "<parameter= order >", '<parameter="order">'),
    ),
    "parameter_close_missing": _dropping("parameter_close"),
    "parameter_close_odd": _rewriting(
        "parameter_close", ("</ parameter>", "< / parameter >", "</parameter >", "<parameter>")
    ),
    "parameter_again": _parameter_again,
    "parameter_unknown": _unknown_parameter,
    "text_in_function": _inserting(("function_open", "parameter_close"), before=False),
    "call_of_hermes": _inserting(("call_close",), (_HERMES_CALL,), before=False),
}
"""Damages of `qwen3_xml`."""


def _on_body(change: Callable[[Draw, str, Any, Any], str]) -> Damage:
    """Rewrite a body, given its text, name and arguments."""

    def damage(scene: Scene, draw: Draw) -> bool:
        places = [
            place for place in at(scene.chunks, "body") if scene.chunks[place].about is not None
        ]
        if places:
            place = pick(draw, places)
            old = scene.chunks[place]
            text = change(draw, old.text, *old.about)
            scene.chunks[place] = old._replace(text=text, spelled=chance(draw, 30))
        return bool(places)

    return damage


def _dumps(value: Any, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=False, **options)


def _cut_body(draw: Draw, text: str, _name: Any, _arguments: Any) -> str:
    return text[: draw.below(len(text))]


def _slip_in(draw: Draw, text: str, _name: Any, _arguments: Any) -> str:
    place = draw.below(len(text) + 1)
    return (
        text[:place]
        + pick(draw, ("\n", "\t", '"', "\\", "{", "}", ",", "\x01", ":"))
        + text[place:]
    )


def _wrong_arguments(draw: Draw, _text: str, name: Any, _arguments: Any) -> str:
    wrong: Any = pick(draw, (None, [], [1, 2], 7, "", "x", True, "{}", "{'a': 1}", "null", {}))
    return _dumps({"name": name, "arguments": wrong})


def _wrong_name(draw: Draw, _text: str, _name: Any, arguments: Any) -> str:
    wrong: Any = pick(draw, (None, 7, "", [], {"a": 1}, "x\ny", "größe", 'say "x"', True))
    return _dumps({"name": wrong, "arguments": arguments})


def _numbers(draw: Draw, _text: str, name: Any, _arguments: Any) -> str:
    numbers = (
        "1e999", "NaN", "-Infinity", "123456789012345678901234567890", "1.0", "1e2", "-0", "1E400",
        "0.1000000000000000055", "01", "1.", ".5", "+1", "0x1", "1_0",
    )  # fmt: skip
    return f'{{"name": {_dumps(name)}, "arguments": {{"cents": {pick(draw, numbers)}}}}}'


def _escapes(draw: Draw, _text: str, name: Any, arguments: Any) -> str:
    escaped = pick(
        draw,
        (r"\u00e9", r"\ud83d\ude42", r"\ud800", r"\n\t", r"\/", r"\"", r"\x41", r"\u12", r"\\"),
    )
    inner = _dumps(arguments)[1:-1]
    more = f", {inner}" if inner else ""
    return f'{{"name": {_dumps(name)}, "arguments": {{"note": "a{escaped}b"{more}}}}}'


def _quoting(draw: Draw, _text: str, name: Any, arguments: Any) -> str:
    quoted = pick(
        draw,
        (
            "</tool_call>", "<tool_call>", "a </tool_call> b", _HERMES_CALL, "<think>x</think>",
            "</think>", '"arguments": {', '{"name": "x"}', "}", "\n</tool_call>",
        ),
    )  # fmt: skip
    return _dumps({"name": name, "arguments": {**arguments, "note": quoted}})


def _extra_key(draw: Draw, _text: str, name: Any, arguments: Any) -> str:
    key, value = pick(draw, (("id", 1), ("type", "function"), ("name2", ""), ("thought", "x {y}")))
    if chance(draw, 50):
        return _dumps({key: value, "name": name, "arguments": arguments})
    return _dumps({"name": name, "arguments": arguments, key: value})


def _doubled_key(draw: Draw, _text: str, name: Any, arguments: Any) -> str:
    first, second = _dumps(arguments), '{"note": "again"}'
    if chance(draw, 50):
        return f'{{"name": {_dumps(name)}, "arguments": {first}, "arguments": {second}}}'
    return f'{{"name": {_dumps(name)}, "name": "run", "arguments": {first}}}'


def _listed(draw: Draw, text: str, _name: Any, _arguments: Any) -> str:
    return pick(draw, (f"[{text}]", f"[{text}, {text}]", "[]", f"{text}\n{text}", f"{text};{text}"))


def _no_object(draw: Draw, _text: str, _name: Any, _arguments: Any) -> str:
    return pick(draw, ("", " ", "null", "7", '"x"', "{}", "[]", "true", "run()", '{"a": 1}', "\n"))


def _edge_arguments(draw: Draw, _text: str, name: Any, arguments: Any) -> str:
    return _dumps({"name": name, "arguments": {key: pick(draw, EDGES) for key in arguments}})


HERMES: Mapping[str, Damage] = {
    "json_trailing_comma": _on_body(lambda _d, text, _n, _a: text[:-1] + ",}"),
    "json_single_quotes": _on_body(lambda _d, _t, name, a: repr({"name": name, "arguments": a})),
    "json_unclosed": _on_body(lambda d, text, _n, _a: text[: -1 - d.below(2)]),
    "json_closed_twice": _on_body(lambda d, text, _n, _a: text + pick(d, ("}", "}}", " }", "]"))),
    "json_text_after": _on_body(
        lambda d, text, _n, _a: text + pick(d, (" x", ";", ",", "\n\n", "//"))
    ),
    "json_text_before": _on_body(
        lambda d, text, _n, _a: pick(d, ("x ", "\ufeff", "```json\n", "call: ", " \n ")) + text
    ),
    "json_cut": _on_body(_cut_body),
    "json_slip": _on_body(_slip_in),
    "json_name_missing": _on_body(lambda _d, _t, _n, a: _dumps({"arguments": a})),
    "json_name_odd": _on_body(_wrong_name),
    "json_arguments_missing": _on_body(lambda _d, _t, name, _a: _dumps({"name": name})),
    "json_arguments_text": _on_body(
        lambda _d, _t, name, a: _dumps({"name": name, "arguments": _dumps(a)})
    ),
    "json_arguments_odd": _on_body(_wrong_arguments),
    "json_arguments_first": _on_body(
        lambda _d, _t, name, a: _dumps({"arguments": a, "name": name})
    ),
    "json_parameters": _on_body(lambda _d, _t, name, a: _dumps({"name": name, "parameters": a})),
    "json_key_extra": _on_body(_extra_key),
    "json_key_doubled": _on_body(_doubled_key),
    "json_numbers": _on_body(_numbers),
    "json_escapes": _on_body(_escapes),
    "json_ascii": _on_body(
        lambda _d, _t, name, a: json.dumps({"name": name, "arguments": {**a, "note": "é🙂\u2028"}})
    ),
    "json_compact": _on_body(
        lambda _d, _t, name, a: _dumps({"name": name, "arguments": a}, separators=(",", ":"))
    ),
    "json_indented": _on_body(
        lambda d, _t, name, a: _dumps({"name": name, "arguments": a}, indent=pick(d, (0, 1, 2)))
    ),
    "json_list": _on_body(_listed),
    "json_no_object": _on_body(_no_object),
    "json_quotes_marker": _on_body(_quoting),
    "json_python": _on_body(
        lambda _d, _t, name, _a: (
            f'{{"name": {_dumps(name)}, "arguments": {{"notify": True, "x": None}}}}'
        )
    ),
    "json_edge_values": _on_body(_edge_arguments),
    "call_of_xml": _inserting(
        ("call_close",), ("<tool_call>\n<function=run>\n</function>\n</tool_call>",), before=False
    ),
}
"""Damages of `hermes`."""
