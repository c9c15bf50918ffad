"""The check of a task: which end states it accepts, and what it leaves out of the comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from outcomebox.reward.errors import CheckError
from outcomebox.reward.matchers import Spec
from outcomebox.sandbox.changes import TableInfo
from outcomebox.sandbox.expect import Alternative, Expect, Ignore
from outcomebox.sandbox.fitting import contradictions, end_problems
from outcomebox.sandbox.task import NO_CHANGE
from outcomebox.sandbox.valuespec import IdMatcher, ValueSpec

MAIN = "expect"
"""The name of the first accepted end state."""


class TaskLike(Protocol):
    """What a check needs to know of a task."""

    @property
    def expect(self) -> Mapping[str, Any]:
        """Expected changes by table."""

    @property
    def accept_also(self) -> Sequence[Alternative]:
        """Other accepted end states."""

    @property
    def ignore(self) -> Mapping[str, Mapping[str, str]]:
        """Why a column is not compared, by table and column."""

    @property
    def rubrics(self) -> Sequence[str]:
        """Yes/no questions about the conversation."""

    @property
    def tags(self) -> Sequence[str]:
        """Labels; ``no-change`` has a meaning."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """A query that finds nothing on a sound database; for whoever tests the task, not for grading.

    Attributes:
        name: What must hold.
        sql: A SELECT of the rows that break it.
    """

    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Check:
    """What a terminal state, and sometimes an answer, must be like.

    Attributes:
        tables: The changes that must be there; every other change fails.
        accept_also: Other accepted end states, each complete with its own ``ignore``.
        ignore: What ``tables`` leaves out: table (or ``*``) -> column (or ``*``) -> reason.
        read_only: Whether an untouched state may pass.
        invariants: For testing the task; grading does not run them.
        answer: What the agent's last message must be like, in addition to the state.
        rubrics: Yes/no questions to a judge about the conversation; all must be yes.

    Raises:
        CheckError: It accepts an untouched state without saying so, or contradicts itself.
    """

    tables: Expect
    accept_also: tuple[Alternative, ...] = ()
    ignore: Ignore = field(default_factory=dict)
    read_only: bool = False
    invariants: tuple[Invariant, ...] = ()
    answer: Spec = None
    rubrics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for problem in contradictions(self.alternatives, read_only=self.read_only):
            raise CheckError(problem.message)
        if isinstance(self.answer, IdMatcher):
            raise CheckError("answer: $id means an id in a table; write $pattern or $rubric")

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """All accepted end states; the first is the main one, named ``expect``."""
        main = Alternative(name=MAIN, expect=self.tables, ignore=self.ignore)
        return (main, *self.accept_also)

    def problems(self, tables: Mapping[str, TableInfo]) -> tuple[str, ...]:
        """Why the check does not fit a database with these tables, one line each."""
        return tuple(
            f"{'' if end.name == MAIN else f'{end.name}: '}{problem.field}: {problem.message}"
            f"{_found(problem.value)}"
            for end in self.alternatives
            for problem in end_problems(end, tables)
        )

    @classmethod
    def from_task(cls, task: TaskLike) -> Check:
        """The check of a native task.

        Raises:
            CheckError: The task's check says nothing or contradicts itself.
        """
        return cls(
            tables=dict(task.expect),
            accept_also=tuple(task.accept_also),
            ignore={table: dict(columns) for table, columns in task.ignore.items()},
            read_only=NO_CHANGE in task.tags,
            rubrics=tuple(task.rubrics),
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Check:
        """The check written as a JSON object.

        ``{tables, accept_also: [{name, tables, ignore}], ignore: {T: [columns] | ["*"], "*":
        [columns]}, read_only, invariants: [{name, sql}], answer, rubrics}``; all but ``tables`` may
        be left out.

        Raises:
            CheckError: It is no such object; the message names the field and the mend.
        """
        try:
            form = _Form.model_validate(data)
        except ValidationError as error:
            raise CheckError(_first(error)) from error
        return cls(
            tables=form.tables,
            accept_also=tuple(
                Alternative(name=each.name, expect=each.tables, ignore=_reasons(each.ignore))
                for each in form.accept_also
            ),
            ignore=_reasons(form.ignore),
            read_only=form.read_only,
            invariants=tuple(Invariant(each.name, each.sql) for each in form.invariants),
            answer=form.answer,
            rubrics=tuple(form.rubrics),
        )


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _AlternativeForm(_Strict):
    name: str
    tables: Expect
    ignore: dict[str, list[str]] = {}


class _InvariantForm(_Strict):
    name: str
    sql: str


class _Form(_Strict):
    tables: Expect
    accept_also: list[_AlternativeForm] = []
    ignore: dict[str, list[str]] = {}
    read_only: bool = False
    invariants: list[_InvariantForm] = []
    answer: ValueSpec = None
    rubrics: list[str] = []


def _reasons(ignore: Mapping[str, Sequence[str]]) -> Ignore:
    return {
        table: dict.fromkeys(columns, "declared in the check") for table, columns in ignore.items()
    }


def _found(value: object) -> str:
    return "" if value is None else f" (found {json.dumps(value, ensure_ascii=False)[:200]})"


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    where = ".".join(str(part) for part in found["loc"])
    return f"{where}: {found['msg'].removeprefix('Value error, ')}"
