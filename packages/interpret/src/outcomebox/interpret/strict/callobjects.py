"""Takes a call out of the JSON value that holds it."""

from typing import Any

from outcomebox.interpret.formats.base import Format
from outcomebox.interpret.strict.decode import Decoded, DecodeFault, decode
from outcomebox.interpret.strict.raw import RawCall
from outcomebox.interpret.turn import Coercion

_ARGUMENTS = ("arguments", "parameters")
_BESIDE = frozenset({"id", "index", "type"})
"""Members that servers put beside the name and that say nothing about the arguments."""


def fill_object(call: RawCall, found: Decoded, form: Format) -> None:
    """Fill a call from an object with its name and arguments."""
    _take_slips(call, found)
    value: dict[str, Any] = found.value
    name = value.get("name")
    if isinstance(name, str) and name:
        call.name = name
    else:
        call.faults.append("it has no name")
    given = [key for key in _ARGUMENTS if key in value]
    others = [key for key in value if key != "name" and key not in given and key not in _BESIDE]
    if len(given) > 1:
        call.doubts.append(f"it has both {given[0]!r} and {given[1]!r}")
    elif not given and others:
        call.faults.append(f"it has no {form.argument_keys[0]!r}")
    elif not given:
        call.repairs.append("it has no arguments")
    elif given[0] not in form.argument_keys:
        call.repairs.append(f"{given[0]!r} stands for {form.argument_keys[0]!r}")
    if given and others:
        call.doubts.append(f"{others[0]!r:.60} stands beside its arguments and may be one of them")
    _take_arguments(call, value[given[0]] if given else {}, given[0] if given else "")


def fill_arguments(call: RawCall, found: Decoded) -> None:
    """Fill a call from the object of its arguments."""
    _take_slips(call, found)
    _take_arguments(call, found.value, "arguments")


def _take_slips(call: RawCall, found: Decoded) -> None:
    if found.repair:
        call.repairs.append(found.repair)
    call.doubts += found.doubts
    call.misfits += found.misfits


def _take_arguments(call: RawCall, value: Any, key: str) -> None:
    call.values = {}
    if isinstance(value, str) and value.strip():
        value = _unwrapped(call, value, key)
    if isinstance(value, dict):
        call.values = value
    elif value is None or value == "":
        call.repairs.append("it has no arguments")
    else:
        call.faults.append("its arguments are no object")


def _unwrapped(call: RawCall, text: str, key: str) -> Any:
    """Return the object that a JSON string holds; the string itself where it holds none."""
    start = len(text) - len(text.lstrip())
    if not text.startswith("{", start):
        return text
    try:
        found = decode(text, start)
    except DecodeFault:
        return text
    if text[found.end :].strip():
        return text
    _take_slips(call, found)
    call.changes.append(Coercion(key, text, found.value, "a JSON string for its object"))
    return found.value
