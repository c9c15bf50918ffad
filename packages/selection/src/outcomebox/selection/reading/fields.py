"""Where rows of a form have the fields that a selection reads.

Two forms: our own rows, and those of ThinkingBox's `tb infer`. Either can be told where a field
lies by its dotted name, so that other systems' rows are read without being rewritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outcomebox.selection.errors import InputError, shown

OURS: Mapping[str, str] = {
    "uid": "uid",
    "repetition": "repetition",
    "try": "try",
    "domain": "domain",
    "family": "family",
    "tags": "tags",
    "outcome": "verdict.outcome",
    "system_error": "error",
    "policy": "policy",
    "hash": "versions.task",
    "content": "versions.content",
}
THINKINGBOX: Mapping[str, str] = {
    "uid": "uid",
    "repetition": "metadata.repetition",
    "try": "metadata.try",
    "domain": "test_tags.domain",
    "family": "metadata.test_case_file",
    "tags": "test_tags.labels",
    "outcome": "test_result.result",
    "system_error": "is_system_error",
    "policy": "metadata.agent",
    "hash": "metadata.hash",
    "content": "metadata.content",
}
_FORMS = {"outcomebox": OURS, "thinkingbox": THINKINGBOX}
# What else says that a ThinkingBox row has no verdict: its check broke, or nobody ran it.
_BROKEN_CHECK = "test_result.is_system_error"
_NO_VERDICT = "skipped"
_SCENARIO = "metadata.scenario"

_WORDS = ("passed", "failed", "system_error")
_ABSENT: Any = object()


class Fields:
    """The fields of one form of rows.

    Args:
        form: `outcomebox` or `thinkingbox`.
        chosen: field to dotted name, where it lies elsewhere.

    Attributes:
        names: field to dotted name.
        foreign: whether a row may lack what only our own rows have to have.
    """

    def __init__(self, form: str = "outcomebox", chosen: Mapping[str, str] | None = None) -> None:
        self.names = {**_FORMS[form], **(chosen or {})}
        self.foreign = form != "outcomebox" or bool(chosen)
        self._thinkingbox = form == "thinkingbox"
        self._paths = {field: tuple(name.split(".")) for field, name in self.names.items()}

    def name(self, field: str) -> str:
        """The dotted name of a field, for an error."""
        return self.names[field]

    def get(self, row: Mapping[str, Any], field: str, default: Any = None) -> Any:
        """A field's value; the default where the row has no such field."""
        value: Any = row
        for part in self._paths[field]:
            # Most are a dict, and to ask for a Mapping takes ten times as long.
            value = value.get(part, _ABSENT) if isinstance(value, (dict, Mapping)) else _ABSENT
            if value is _ABSENT:
                break
        if value is not _ABSENT:
            return value
        if self._thinkingbox and field == "domain":
            return dotted(row, _SCENARIO)
        return default

    def outcome(self, row: Mapping[str, Any], where: str) -> str:
        """The outcome, of which there are three; a row without a verdict is a system error.

        Raises:
            InputError: it is none, or it contradicts the row's error.
        """
        name, value = self.name("outcome"), self.get(row, "outcome")
        broken = self.get(row, "system_error")
        if self._thinkingbox:
            if (
                broken
                or dotted(row, _BROKEN_CHECK)
                or dotted(row, "finish_reason") == _NO_VERDICT
                or value is None
            ):
                return "system_error"
        elif self.foreign and broken is True and value is None:
            return "system_error"
        if isinstance(value, bool) and self.foreign:
            value = "passed" if value else "failed"
        if not isinstance(value, str) or value not in _WORDS:
            found = f"is {shown(value)}"
            if not isinstance(value, str) or not value:
                found = f"must be non-empty text, found {shown(value)}"
            raise InputError(where, name, found, f"Use one of {', '.join(_WORDS)}")
        if value != "system_error" and broken is not None and broken is not False:
            raise InputError(
                where,
                self.name("system_error"),
                f"is set beside the outcome {value!r}, which contradict each other",
                "Record the outcome system_error, or no error",
            )
        return value


def dotted(row: Mapping[str, Any], name: str) -> Any:
    """The value at a dotted name; None where there is none."""
    value: Any = row
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
