"""How messages name the markup of a format, and what shows that a body has another form."""

import re
from functools import cache
from typing import NamedTuple

from outcomebox.interpret.formats import format_named
from outcomebox.interpret.formats.base import MAX_NAME, Format
from outcomebox.interpret.strict.layout import WHITE_SPACE
from outcomebox.interpret.strict.raw import Source

_FUNCTION = "<function"  # also where the rest of the opener is missing
_NAME_BEGUN = re.compile(rf"[^\s<>{{}}\[\]\"']{{0,{MAX_NAME}}}\s*")


class Words(NamedTuple):
    """The markup of a format as its messages name it.

    Attributes:
        call_open: What opens a call.
        call_close: What closes it.
        function_close: What closes the function inside it.
        value_close: What closes a value.
        opener_in_value: What is doubtful about a parameter's opener in a value.
        foreign: What to say of a body of another form.
    """

    call_open: str
    call_close: str
    function_close: str
    value_close: str
    opener_in_value: str
    foreign: str


def words_of(form: Format) -> Words:
    """Return the words for a format."""
    return _words(form.name)


@cache
def _words(name: str) -> Words:
    form = format_named(name)
    call_open, call_close = form.write("call_open"), form.write("call_close")
    if form.bodies[0] == "xml":
        function, parameter = (
            form.write("function_open", "NAME"),
            form.write("parameter_open", "NAME"),
        )
        return Words(
            call_open,
            call_close,
            form.write("function_close"),
            form.write("parameter_close"),
            f"a value holds a {parameter.partition('NAME')[0]} at the start of a line",
            f"its body has another form; write {function} and {parameter} blocks",
        )
    key = f"{form.write('key_open')}NAME{form.write('key_close')}"
    return Words(
        call_open,
        call_close,
        call_close,
        form.write("value_close"),
        f"a value holds a {form.write('key_open')}",
        f"its body has another form; write a name, then {key}{form.write('value_open')}...",
    )


def foreign_body(source: Source, at: int) -> bool:
    """Say whether what follows a call opener at `at` is a call of another form, or a broken one."""
    text, end = source.text, source.end
    while at < end and text[at] in WHITE_SPACE:
        at += 1
    if text.startswith(("{", _FUNCTION), at, end):
        return True
    if not source.cut:
        return False
    if source.format.bodies[0] == "keyed":
        found = _NAME_BEGUN.match(text, at, end)
        return found is not None and found.end() == end
    return end - at < len(_FUNCTION) and _FUNCTION.startswith(text[at:end])
