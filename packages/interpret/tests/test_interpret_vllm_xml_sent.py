"""What is sent of streamed arguments, against writing them anew at every piece."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.interpret.profiles.vllm.releases import V024, V032, Release
from outcomebox.interpret.profiles.vllm.xml_arguments import Arguments, json_object
from outcomebox.interpret.profiles.vllm.xml_parameters import parameters_in
from outcomebox.interpret.profiles.vllm.xml_sent import sent
from outcomebox.interpret.tools import Toolbox

TOOLS = Toolbox(
    [
        {
            "name": "act",
            "parameters": {
                "properties": {
                    "s": {"type": "string"},
                    "t": {"type": "string"},
                    "i": {"type": "integer"},
                    "u": {"type": ["integer", "null", "string"]},
                    " ": {"type": "integer"},
                }
            },
        }
    ]
)


def _members(body: str, arguments: Arguments, *, growing: bool) -> dict[str, str]:
    """Return the members that stand in a text, the last one too if it has no end."""
    members: dict[str, str] = {}
    for each in parameters_in(body):
        name = each.name if each.known is not None else each.early_name
        if name is not None and (growing or each.known is not None):
            members[name] = arguments.value(name, body[each.start : each.end])
    return members


def _step_by_step(pieces: Sequence[str], named: int, arguments: Arguments, *, closed: bool) -> str:
    out = body = ""
    for index, piece in enumerate(pieces):
        body += piece
        members = _members(body, arguments, growing=True)
        if index <= named or not members:
            continue
        key, value = list(members.items())[-1]
        if not arguments.grows(json.dumps(key, ensure_ascii=False)):
            value = '"'
        version = json_object({**members, key: value})[:-1].removesuffix('"')
        if version.startswith(out):
            out = version
    if closed:
        final = json_object(_members(body, arguments, growing=False))
        if len(final) > len(out) and final.startswith(out):
            return final
    return out


KEYS = st.sampled_from(["s", "t", "i", "u", "new", " ", "", 'a"b'])
VALUES = st.sampled_from(["1", "12", " 1", "x", "xy", "xy\n", "\n", "null", "1 \n2", "<", 'q"', ""])
PARTS = st.lists(
    st.one_of(
        st.tuples(KEYS, VALUES).map(lambda p: f"<parameter={p[0]}>{p[1]}</parameter>"),
        st.tuples(KEYS, VALUES).map(lambda p: f"<parameter={p[0]}>{p[1]}"),
        st.tuples(KEYS, VALUES).map(lambda p: f"< parameter = {p[0]}>{p[1]}< / parameter >"),
        VALUES,
    ),
    max_size=6,
).map("".join)


@st.composite
def _cut(draw: st.DrawFn) -> list[str]:
    """Return a text in pieces as the lexer makes them: markers whole, `>` always for itself."""
    pieces: list[str] = []
    rest = draw(PARTS)
    while rest:
        markers = ("<parameter=", "</parameter>", ">")
        own = next((each for each in markers if rest.startswith(each)), "")
        size = len(own) or draw(st.integers(1, 4))
        stop = min([at for each in markers if (at := rest.find(each, 1)) > 0] or [len(rest)])
        size = len(own) or min(size, stop)
        pieces.append(rest[:size])
        rest = rest[size:]
    return pieces


@pytest.mark.parametrize("release", [V024, V032], ids=["0.24", "0.32"])
@pytest.mark.parametrize("name", ["act", "other"])
@given(pieces=_cut(), named=st.integers(0, 3), closed=st.booleans())
@settings(max_examples=200, deadline=None)
def test_it_comes_to_the_same(
    release: Release, name: str, pieces: list[str], named: int, *, closed: bool
) -> None:
    arguments = Arguments(TOOLS, name, release)
    assert sent(pieces, named, arguments, closed=closed) == _step_by_step(
        pieces, named, arguments, closed=closed
    )


def test_a_value_that_passes_through_another_is_seen_wherever_it_stands() -> None:
    arguments = Arguments(TOOLS, "act", V032)
    value = "abc" * 40
    body = [
        *("<parameter=", "s", ">", *value, "</parameter>"),
        *("<parameter=", "s", ">", "no", "</parameter>"),
        *("<parameter=", "i", ">", "5", "</parameter>"),
        *("<parameter=", "s", ">", *value, "more", "</parameter>"),
    ]
    out = sent(body, 0, arguments, closed=True)
    assert out == f'{{"s": "{value}", "i": '
    assert out == _step_by_step(body, 0, arguments, closed=True)
