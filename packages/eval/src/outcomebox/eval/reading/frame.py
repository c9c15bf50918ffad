"""From checked rows to the table of tries, and what must hold across rows."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import polars as pl

from outcomebox.eval.reading.values import Place
from outcomebox.eval.results import ATTEMPTS, USAGE, mark
from outcomebox.sandbox.errors import InputError

_DERIVED = ("superseded", "counted")
_GIVEN = tuple(name for name in ATTEMPTS if name not in _DERIVED)
_LISTS = ("tags", "reasons", "usage")
_OF_A_TASK = ("domain", "family", "tags", "task_hash")


class Usage(NamedTuple):
    """Tokens of a role in one try, fields as in USAGE; None where nobody counts."""

    role: str
    model: str | None
    input: int | None
    cached: int | None
    output: int | None
    reasoning: int | None


class Rows:
    """Collects rows column by column, with their places.

    Attributes:
        notes: What a reader of the figures has to know of them.
    """

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in _GIVEN}
        self._places: list[Place] = []
        self.notes: list[str] = []

    def __len__(self) -> int:
        """How many there are."""
        return len(self._places)

    def add(self, row: Mapping[str, Any], place: Place) -> None:
        """Take in a row of checked values; columns that it does not name are null.

        Args:
            row: Column -> value.
            place: Where it stands.
        """
        for name, column in self._columns.items():
            column.append(row.get(name))
        self._places.append(place)

    def frame(self, where: str) -> pl.DataFrame:
        """The table of tries.

        Args:
            where: The files, for the error if there is no row.

        Raises:
            InputError: There is no row, or rows contradict each other.
        """
        if not self._places:
            raise InputError(
                "holds no complete row, so there is no figure; see that the run has written some "
                "and that no filter took them all out",
                file=where,
            )
        flat = {name: ATTEMPTS[name] for name in _GIVEN if name not in _LISTS}
        found = pl.DataFrame({name: self._columns[name] for name in flat}, schema=flat)
        found = found.with_columns(
            pl.col("stopped").fill_null(value=False),
            _texts(self._columns["tags"]).alias("tags"),
            _texts(self._columns["reasons"]).alias("reasons"),
            _usages(self._columns["usage"]).alias("usage"),
        )
        self._refuse_doubled(found)
        self._refuse_twins(found)
        self._refuse_mixed(found)
        return mark(found.sort("uid", "repetition", "try")).select(*ATTEMPTS)

    def places(self) -> pl.DataFrame:
        """Where each row stands that is a line of a file (:attr:`Results.places`)."""
        keys = {name: self._columns[name] for name in ("uid", "repetition", "try")}
        found = {
            **keys,
            "path": [str(place.path) for place in self._places],
            "line": [place.number if place.what == "line" else None for place in self._places],
        }
        schema = {
            "uid": pl.String,
            "repetition": pl.Int64,
            "try": pl.Int64,
            "path": pl.String,
            "line": pl.Int64,
        }
        frame = pl.DataFrame(found, schema=schema)
        return frame.drop_nulls("line").sort("uid", "repetition", "try")

    def _refuse_doubled(self, found: pl.DataFrame) -> None:
        keys = ("uid", "repetition", "try")
        doubled = found.select(*keys).with_row_index("row").filter(pl.struct(keys).is_duplicated())
        if doubled.is_empty():
            return
        uid, repetition, attempt = doubled.select(*keys).row(0)
        same = doubled.filter(uid=uid, repetition=repetition).filter(pl.col("try") == attempt)
        first, second = (self._places[index] for index in same.get_column("row").head(2))
        raise second.refuse(
            f"(uid, repetition, try) = ({uid!r}, {repetition}, {attempt}) stands already at "
            f"{first.path}, {first.what} {first.number}; take one of the two out, or number the "
            "tries"
        )

    def _refuse_twins(self, found: pl.DataFrame) -> None:
        """Ids are compared by code point; two that look alike are a mistake of somebody's."""
        forms: dict[str, str] = {}
        for uid in found.get_column("uid").unique().sort():
            form = unicodedata.normalize("NFC", uid)
            other = forms.setdefault(form, uid)
            if other != uid:
                place = self._places[found.get_column("uid").index_of(uid) or 0]
                raise place.refuse(
                    f"{uid!a} and {other!a} differ in their Unicode form only; write "
                    "the uid of a task in one form",
                    field="uid",
                )

    def _refuse_mixed(self, found: pl.DataFrame) -> None:
        """One version of each task, and one policy."""
        for name in _OF_A_TASK:
            first = pl.col(name).first().over("uid")
            self._refuse_other(
                found,
                pl.col(name).ne_missing(first),
                name,
                "use the rows of one version of the task",
                same="uid",
            )
        self._refuse_other(
            found,
            pl.col("policy").ne_missing(pl.col("policy").first()),
            "policy",
            "a figure is of one policy: name the rows of one, and compare two with "
            "`outcomebox-eval compare`",
        )

    def _refuse_other(
        self,
        found: pl.DataFrame,
        differs: pl.Expr,
        name: str,
        mend: str,
        *,
        same: str | None = None,
    ) -> None:
        other = found.with_row_index("row").filter(differs)
        if other.is_empty():
            return
        row = other.row(0, named=True)
        like = found.with_row_index("row")
        if same is not None:
            like = like.filter(pl.col(same) == row[same])
        before = like.row(0, named=True)
        at = self._places[before["row"]]
        task = f" of {row['uid']!r}" if same else ""
        raise self._places[row["row"]].refuse(
            f"{task.strip()} is {_short(row[name])} here and {_short(before[name])} at {at.path}, "
            f"{at.what} {at.number}; {mend}".strip(),
            field=name,
        )


def _texts(lists: Sequence[Sequence[str] | None]) -> pl.Series:
    """A column of lists of texts; polars is slow to take lists in one by one."""
    flat = [each for texts in lists for each in texts or ()]
    return _gathered(pl.Series(flat, dtype=pl.String()), lists)


def _usages(lists: Sequence[Sequence[Usage] | None]) -> pl.Series:
    """The column of tokens; nothing said is an empty list."""
    flat = [each for usages in lists for each in usages or ()]
    schema = cast(pl.Struct, USAGE.inner).to_schema()
    parts = pl.DataFrame(flat, schema=schema, orient="row")
    return _gathered(parts.to_struct(), [usages or () for usages in lists])


def _gathered(flat: pl.Series, lists: Sequence[Sequence[Any] | None]) -> pl.Series:
    """Values one after another as the lists that they came from; null for None."""
    rows = [row for row, each in enumerate(lists) for _ in each or ()]
    of = pl.DataFrame({"row": rows, "value": flat}, schema_overrides={"row": pl.Int64()})
    found = (
        pl.DataFrame({"row": range(len(lists)), "null": [each is None for each in lists]})
        .join(of.group_by("row", maintain_order=True).agg("value"), on="row", how="left")
        .sort("row")
    )
    empty = pl.lit([], dtype=pl.List(flat.dtype))
    return found.select(
        pl.when("null").then(None).otherwise(pl.coalesce("value", empty))
    ).to_series()


def version_notes(found: pl.DataFrame) -> tuple[str, ...]:
    """What has to be said of rows that different versions of the packages made."""
    shares = found.group_by("versions_hash").len().drop_nulls().sort("len", descending=True)
    if shares.height < 2:
        return ()
    counts = ", ".join(f"{number}" for number in shares.get_column("len"))
    words = (
        f"mixed versions: the rows were made by {shares.height} different versions of packages, "
        f"profile or format ({counts} rows); a difference between attempts may be theirs"
    )
    return (words,)


def _short(value: Any, limit: int = 120) -> str:
    shown = repr(value)
    return shown if len(shown) <= limit else f"{shown[: limit - 3]}..."


def names(paths: Sequence[object]) -> str:
    """Some files, for an error."""
    shown = [str(path) for path in paths]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
