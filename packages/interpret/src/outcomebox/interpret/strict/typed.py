"""Makes a raw call into a call of typed values, with its status, for the `strict` profile."""

import re
from collections.abc import Mapping
from typing import Any

from outcomebox.interpret.coercion.coerce import Coercer, Reading
from outcomebox.interpret.coercion.schemas import allows_only_text
from outcomebox.interpret.coercion.spellings import COERCED, EXACT, REPAIRED
from outcomebox.interpret.strict.raw import RawCall
from outcomebox.interpret.tools import Toolbox
from outcomebox.interpret.turn import (
    EXECUTABLE,
    Coercion,
    Diagnostic,
    DiagnosticCode,
    Status,
    ToolCall,
)

_MOST_PROBLEMS = 3
"""Problems of a parameter, and changes of a call, that the message tells."""

_OF_GRADE: dict[int, Status] = {EXACT: "ok", COERCED: "coerced", REPAIRED: "repaired"}

_PLAIN_INTEGER = re.compile(r"-?[1-9]\d{0,17}|0", re.ASCII)
_PLAIN_WORDS = {"true": True, "false": False}
_PLAIN_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_PLAIN_KEYS = frozenset({"type", "description", "title", "default", "examples"})
"""Keywords of a schema that allows every value of its type."""


class ValueCoercer(Coercer):
    """Types the parameters of one call, whether the call wrote them as text or as JSON."""

    def read_value(self, name: str, value: Any, schema: Any) -> Reading:
        """Fit a JSON value to its schema. An empty or missing schema leaves it as it is."""
        if not isinstance(schema, Mapping) or not schema:
            return Reading(value, EXACT)
        return self._fit(value, schema, (None, name))


def type_strict(raw: RawCall, tools: Toolbox) -> tuple[ToolCall, list[Diagnostic]]:
    """Type the parameters of a call that has one reading; give any other its status."""
    if not raw.complete:
        return _refused(raw), []
    name = raw.name
    arguments: dict[str, Any] = dict(raw.parameters if raw.values is None else raw.values)
    if tools.offered(name) is False:
        message = f"no tool {name!r} is offered"
        said = [message, *raw.misfits, *raw.repairs, *_told(raw.changes)]
        return _call(raw, arguments, "unknown_tool", tuple(raw.changes), said), []
    schema = tools.schema(name)
    properties = tools.properties(name)
    others = schema.get("additionalProperties")
    coercer: ValueCoercer | None = None
    grade = EXACT
    changes = raw.changes
    problems = raw.misfits
    notes: list[tuple[DiagnosticCode, str]] = []
    for parameter, written in arguments.items():
        if properties is not None and parameter not in properties:
            notes.append(("unknown_parameter", f"tool {name!r} declares no {parameter!r}"))
            wanted = others
        else:
            wanted = properties[parameter] if properties else others
        if raw.values is None:
            plain = _plain(written, wanted)
            if plain is not None:
                arguments[parameter] = plain
                continue
        elif _fits(written, wanted):
            continue
        coercer = coercer or ValueCoercer(schema)
        read = coercer.read if raw.values is None else coercer.read_value
        reading = read(parameter, written, wanted)
        arguments[parameter] = reading.value
        grade = max(grade, reading.grade)
        changes = [*changes, *(each.written() for each in reading.changes)]
        problems = [*problems, *map(str, reading.misfits[:_MOST_PROBLEMS])]
    if coercer and coercer.unresolved:
        notes += [
            ("unresolved_ref", f"tool {name!r}: {reference!r} leads nowhere")
            for reference in sorted(coercer.unresolved)
        ]
    status = _OF_GRADE.get(grade, "coercion_failed")
    if raw.misfits:
        status = "coercion_failed"
    elif raw.repairs and status in ("ok", "coerced"):
        status = "repaired"
    elif changes and status == "ok":
        status = "coerced"
    said = [*problems, *raw.repairs, *_told(changes)]
    span = (raw.start, raw.end)
    return (
        _call(raw, arguments, status, tuple(changes), said),
        [Diagnostic(code, message, span) for code, message in notes],
    )


def _plain(text: str, schema: Any) -> Any:
    """Return the value of a text that is written as its plain schema wants it, else None.

    The common case, which needs no more than a look.
    """
    if type(schema) is not dict or not _PLAIN_KEYS.issuperset(schema):
        return text if not isinstance(schema, Mapping) or allows_only_text(schema) else None
    kind = schema.get("type")
    if kind == "string" or not schema:
        return text
    if kind == "boolean":
        return _PLAIN_WORDS.get(text)
    if kind in ("integer", "number") and _PLAIN_INTEGER.fullmatch(text):
        return int(text)
    return None


def _fits(value: Any, schema: Any) -> bool:
    """Say whether a JSON value is of the type that its plain schema wants."""
    if type(schema) is not dict or not _PLAIN_KEYS.issuperset(schema):
        return False
    kind = schema.get("type")
    return isinstance(kind, str) and type(value) in _PLAIN_TYPES.get(kind, ())


def _told(changes: list[Coercion]) -> list[str]:
    return [f"{each.parameter}: {each.why}" for each in changes[:_MOST_PROBLEMS]]


def _refused(raw: RawCall) -> ToolCall:
    """Return an attempt that must not be executed, and say why."""
    status: Status
    if raw.truncated:
        status, reasons = "truncated", ["the output was cut before the call ended"]
    elif raw.faults:
        status, reasons = "malformed", raw.faults
    else:
        status, reasons = "ambiguous", raw.doubts
    arguments = dict(raw.parameters if raw.values is None else raw.values)
    return _call(raw, arguments, status, (), ["not executable", *reasons])


def _call(
    raw: RawCall,
    arguments: dict[str, Any],
    status: Status,
    changes: tuple[Coercion, ...],
    said: list[str],
) -> ToolCall:
    message = "; ".join(dict.fromkeys(said)) if said else ""
    span = (raw.start, raw.end)
    return ToolCall(raw.name, arguments, status, status in EXECUTABLE, span, changes, message)
