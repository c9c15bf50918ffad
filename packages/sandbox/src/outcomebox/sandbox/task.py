"""The native task: initial state, what the user says, and the end that is right.

Everything here is data; ``taskfile`` reads it from YAML and names what is wrong,
``outcomebox.reward`` turns ``expect`` into a verdict.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from outcomebox.sandbox.expect import Alternative, TableEdits, TableExpect
from outcomebox.sandbox.patterns import read_pattern

NO_CHANGE = "no-change"
_LINTED = "explained_survivors"

Uid = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:@+-]*$", max_length=200)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=80)]

_Item = TypeVar("_Item")


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# YAML and JSON have lists only; strict mode would refuse them for a tuple.
Listed = Annotated[tuple[_Item, ...], BeforeValidator(_tuple)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Call(_Model):
    """One tool call of the golden list."""

    tool: str = Field(min_length=1, description="Name of the tool, as the domain's server has it.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Its arguments, literal.")


class Reply(_Model):
    """One thing the scripted user says."""

    say: str = Field(min_length=1, description="What the user says.")
    when: str | None = Field(
        default=None,
        description="Regular expression searched in the agent's message; without it, any fits.",
    )

    @field_validator("when")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                read_pattern(value, 0)
            except ValueError as error:
                raise ValueError(f"{error}; mend the pattern") from None
        return value

    def fits(self, said: str) -> bool:
        """Whether it answers what the agent said; found in time linear in its length."""
        return self.when is None or read_pattern(self.when, 0).search(said)


class UserContext(_Model):
    """What only the simulated user knows."""

    background: str = Field(
        default="",
        description="Private to a model-played user: who they are, what they know and want.",
    )
    replies: Listed[Reply] = Field(
        default=(),
        description="What the scripted user says; the first unused reply that fits is said.",
    )


class ExplainedSurvivor(_Model):
    """Why the check may accept wrong ends of one kind; only a linter reads it."""

    table: str = Field(min_length=1, description="The table in which they differ.")
    column: str | None = Field(
        default=None, description="The column in which they differ; without it, whole rows."
    )
    kinds: Annotated[Listed[Name], Field(min_length=1)] = Field(
        description="What was done to golden's end, as the linter calls it."
    )
    reason: str = Field(min_length=1, description="Why they may pass.")


class Limits(_Model):
    """When an episode ends at the latest."""

    turns: int = Field(default=30, ge=1, le=1000, description="Turns of the agent.")
    user_turns: int = Field(default=10, ge=0, le=1000, description="Replies of the user.")
    tool_deadline_s: float = Field(
        default=20.0, gt=0, le=3600, description="Seconds a tool call may take."
    )


class Task(_Model):
    """One task of a domain, in the native declarative form."""

    uid: Uid = Field(description="Unique, stable name: <domain>/<family>/<name>.")
    domain: Name = Field(description="The domain whose backend and tools the task uses.")
    family: Name = Field(description="Tasks that ask for the same thing with other data.")
    query: str = Field(min_length=1, description="The user's first message.")
    user_context: UserContext = Field(default_factory=UserContext)
    init: dict[str, TableEdits] = Field(
        default_factory=dict,
        description="Rows added to, changed in or removed from the seed, by table.",
    )
    golden: Listed[Call] = Field(
        default=(),
        description="One list of tool calls, reads and writes, that does the task right.",
    )
    expect: dict[str, TableExpect] = Field(
        description="Changes that must be there at the end, by table; every other change fails."
    )
    accept_also: Listed[Alternative] = Field(
        default=(), description="Other accepted end states, each complete in itself."
    )
    ignore: dict[str, dict[str, str]] = Field(
        default_factory=dict, description="table -> column -> the reason why it is not compared."
    )
    rubrics: Listed[Annotated[str, StringConstraints(min_length=1)]] = Field(
        default=(),
        description="Yes/no questions for a judge about the conversation; all must be yes.",
    )
    explained_survivors: Listed[ExplainedSurvivor] = Field(
        default=(),
        description="Wrong ends that the check accepts on purpose; see the page on linting.",
    )
    tags: Listed[Name] = Field(default=(), description="Free labels; `no-change` has a meaning.")
    limits: Limits = Field(default_factory=Limits)

    @model_validator(mode="after")
    def _no_change_is_said(self) -> Task:
        empty = not self.expect
        if empty and NO_CHANGE not in self.tags:
            raise ValueError(
                "expect: is empty, so nothing would be checked; list the changes that are due, "
                "or add the tag no-change if the right end is no change at all"
            )
        if not empty and NO_CHANGE in self.tags:
            raise ValueError(
                "tags: no-change is set, but expect: lists changes; take out one of the two"
            )
        return self

    @property
    def read_only(self) -> bool:
        """Whether the right end is no change at all."""
        return NO_CHANGE in self.tags

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the whole task, defaults filled in: 64 hex digits.

        What only a linter reads is left out: no episode depends on it.
        """
        return _digest(self.model_dump(mode="json", exclude={_LINTED}))

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of what the task asks and accepts, whatever it is called and tagged.

        Two tasks with one content are the same task twice.
        """
        return _digest(self.model_dump(mode="json", exclude={"uid", "family", "tags", _LINTED}))


def _digest(plain: Any) -> str:
    canonical = json.dumps(plain, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


class TaskFile(_Model):
    """A YAML file of tasks; ``domain`` and ``family`` at the top are defaults for its tasks."""

    domain: Name | None = None
    family: Name | None = None
    tasks: Listed[Task] = Field(min_length=1)
