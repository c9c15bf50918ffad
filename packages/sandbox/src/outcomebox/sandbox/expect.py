"""What a check says about rows: the changes that must be there, and edits of a seed.

``Expect`` maps a table to the changes that must be there at the end; every other change fails.
Keys, deleted rows and edits of the seed hold plain values, expected values may be matchers too
(:mod:`outcomebox.sandbox.valuespec`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from outcomebox.sandbox.valuespec import Listed, Matcher, Scalar, SpecModel, Text, ValueSpec

__all__ = [
    "Alternative",
    "DeleteExpect",
    "Expect",
    "Ignore",
    "Matcher",
    "RowEdit",
    "RowRemoval",
    "Scalar",
    "TableEdits",
    "TableExpect",
    "UpdateExpect",
    "ValueSpec",
]

_PlainRow = Annotated[dict[str, Scalar], Field(min_length=1)]
_SpecRow = Annotated[dict[str, ValueSpec], Field(min_length=1)]


class UpdateExpect(SpecModel):
    """A row that must end with new values; its other columns must not change."""

    key: _PlainRow = Field(description="All columns of the primary key, as plain values.")
    set: _SpecRow = Field(description="column -> the value it must end with.")


class DeleteExpect(SpecModel):
    """A row that must be gone."""

    key: _PlainRow | None = Field(
        default=None, description="All columns of the primary key, as plain values."
    )
    row: _PlainRow | None = Field(
        default=None, description="For rows without a key: all columns, as plain values."
    )

    @model_validator(mode="after")
    def _one(self) -> DeleteExpect:
        if (self.key is None) == (self.row is None):
            raise ValueError("name a deleted row by {key: ..}, or by {row: ..} if it has no key")
        return self


class TableExpect(SpecModel):
    """The changes that must be there at the end in one table; every other change fails."""

    insert: Listed[_SpecRow] = Field(
        default=(),
        description="New rows; a column not listed must hold its declared default, else NULL.",
    )
    update: Listed[UpdateExpect] = Field(default=(), description="Changed rows.")
    delete: Listed[DeleteExpect] = Field(default=(), description="Removed rows.")

    @model_validator(mode="after")
    def _clear(self) -> TableExpect:
        if not (self.insert or self.update or self.delete):
            raise ValueError(
                "lists no change; leave the table out, nothing may change there anyway"
            )
        _each_once([edit.key for edit in self.update] + [edit.key for edit in self.delete])
        return self


class RowEdit(SpecModel):
    """Values to write into a row of the seed."""

    key: _PlainRow = Field(description="All columns of the primary key.")
    set: _PlainRow = Field(description="column -> its new value.")


class RowRemoval(SpecModel):
    """A row to take out of the seed."""

    key: _PlainRow = Field(description="All columns of the primary key.")


class TableEdits(SpecModel):
    """What a task's ``init`` does to one table of the seed."""

    insert: Listed[_PlainRow] = Field(default=(), description="Rows to add.")
    update: Listed[RowEdit] = Field(default=(), description="Rows to change.")
    delete: Listed[RowRemoval] = Field(default=(), description="Rows to take out.")

    @model_validator(mode="after")
    def _clear(self) -> TableEdits:
        if not (self.insert or self.update or self.delete):
            raise ValueError("lists no edit; leave the table out")
        _each_once([edit.key for edit in self.update] + [edit.key for edit in self.delete])
        return self


def _each_once(keys: Iterable[Mapping[str, Any] | None]) -> None:
    seen = []
    for key in keys:
        if key is not None and key in seen:
            raise ValueError(f"the row {key} is named twice; say everything about it in one entry")
        seen.append(key)


Expect = dict[str, TableExpect]
"""table -> the changes that must be there."""
Ignore = dict[str, dict[str, str]]
"""table (``*``: every table) -> column (``*``: all) -> the reason why it is not compared."""


class Alternative(SpecModel):
    """Another accepted end state, complete in itself."""

    name: Text = Field(description="What this end is, in a few words.")
    expect: Expect = Field(description="As in the task's own `expect`.")
    ignore: Ignore = Field(
        default_factory=dict,
        description="As in the task's own `ignore`, which does not apply here.",
    )
