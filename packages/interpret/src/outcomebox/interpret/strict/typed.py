"""Makes a call of text into a call of values, with its status, for the `strict` profile."""

from typing import Any

from outcomebox.interpret.coercion.coerce import Coercer
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


def type_strict(raw: RawCall, tools: Toolbox) -> tuple[ToolCall, list[Diagnostic]]:
    """Type the parameters of a call that has one reading; give any other its status."""
    if not raw.complete:
        return _refused(raw), []
    arguments: dict[str, Any] = dict(raw.parameters)
    if tools.offered(raw.name) is False:
        message = f"no tool {raw.name!r} is offered"
        return _call(raw, arguments, "unknown_tool", (), [message, *raw.repairs]), []
    schema = tools.schema(raw.name)
    properties = tools.properties(raw.name) or {}
    coercer = Coercer(schema)
    grade = EXACT
    changes: list[Coercion] = []
    problems: list[str] = []
    notes: list[tuple[DiagnosticCode, str]] = []
    for name, text in raw.parameters.items():
        if tools.declared(raw.name, name) is False:
            notes.append(("unknown_parameter", f"tool {raw.name!r} declares no {name!r}"))
        reading = coercer.read(name, text, properties.get(name, schema.get("additionalProperties")))
        arguments[name] = reading.value
        grade = max(grade, reading.grade)
        changes += [each.written() for each in reading.changes]
        problems += [str(each) for each in reading.misfits[:_MOST_PROBLEMS]]
    notes += [
        ("unresolved_ref", f"tool {raw.name!r}: {reference!r} leads nowhere")
        for reference in sorted(coercer.unresolved)
    ]
    status = _OF_GRADE.get(grade, "coercion_failed")
    if raw.repairs and status in ("ok", "coerced"):
        status = "repaired"
    told = [f"{each.parameter}: {each.why}" for each in changes[:_MOST_PROBLEMS]]
    said = [*problems, *raw.repairs, *told]
    span = (raw.start, raw.end)
    return (
        _call(raw, arguments, status, tuple(changes), said),
        [Diagnostic(code, message, span) for code, message in notes],
    )


def _refused(raw: RawCall) -> ToolCall:
    """Return an attempt that must not be executed, and say why."""
    status: Status
    if raw.truncated:
        status, reasons = "truncated", ["the output was cut before the call ended"]
    elif raw.faults:
        status, reasons = "malformed", raw.faults
    else:
        status, reasons = "ambiguous", raw.doubts
    return _call(raw, dict(raw.parameters), status, (), ["not executable", *reasons])


def _call(
    raw: RawCall,
    arguments: dict[str, Any],
    status: Status,
    changes: tuple[Coercion, ...],
    said: list[str],
) -> ToolCall:
    message = "; ".join(dict.fromkeys(said))
    span = (raw.start, raw.end)
    return ToolCall(raw.name, arguments, status, status in EXECUTABLE, span, changes, message)
