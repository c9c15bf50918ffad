"""Writes calls in a format, as the model's template does."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from outcomebox.interpret.formats.base import INDEX, NAME, Format


def write_calls(form: Format, calls: Sequence[tuple[str, Mapping[str, Any]]], *, after: str) -> str:
    """Return calls as a model writes them.

    Args:
        form: The format.
        calls: Name and arguments of each. Where the format writes values as text, an argument that
            is no string is written as JSON.
        after: What stands before them.

    Raises:
        TypeError: A value that JSON has no form for.
        ValueError: A number that JSON has no form for.
    """
    if not calls:
        return ""
    body = _BODIES[form.bodies[0]]
    written = [body(form, index, name, values) for index, (name, values) in enumerate(calls)]
    text = form.joiner.join(written)
    if form.bare:
        return (form.write("call_open") if after else "") + text
    return form.write("section_open") + text + form.write("section_close")


def as_json(value: Any) -> str:
    """Return a value as the templates write JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else as_json(value)


def _xml(form: Format, _: int, name: str, values: Mapping[str, Any]) -> str:
    lines = [form.write("call_open"), form.write("function_open", name)]
    for parameter, value in values.items():
        opener = form.write("parameter_open", parameter)
        lines += [opener, _text(value), form.write("parameter_close")]
    return "\n".join([*lines, form.write("function_close"), form.write("call_close")])


def _keyed(form: Format, _: int, name: str, values: Mapping[str, Any]) -> str:
    lines = [form.write("call_open") + name]
    for parameter, value in values.items():
        lines.append(form.write("key_open") + parameter + form.write("key_close"))
        lines.append(form.write("value_open") + _text(value) + form.write("value_close"))
    return "\n".join([*lines, form.write("call_close")])


def _object(form: Format, _: int, name: str, values: Mapping[str, Any]) -> str:
    text = as_json({"name": name, form.argument_keys[0]: values})
    return text if form.bare else f"{form.write('call_open')}\n{text}\n{form.write('call_close')}"


def _headed(form: Format, index: int, name: str, values: Mapping[str, Any]) -> str:
    header = form.headers[0]
    before, after = (
        part.replace(NAME, name).replace(INDEX, str(index))
        for part in (header.before, header.after)
    )
    opened = form.write("call_open") + before + form.write("separator") + after
    return opened + as_json(values) + header.close + form.write("call_close")


_BODIES = {"xml": _xml, "keyed": _keyed, "json": _object, "headed": _headed}
