"""The report's tables and pictures in order, for formats that are one text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from outcomebox.eval.compare.model import Comparison
from outcomebox.eval.report.behind import behind_tables
from outcomebox.eval.report.compared import comparison_tables
from outcomebox.eval.report.money import cost_table, spending_tables
from outcomebox.eval.report.pictures import comparison_pictures, run_pictures, runs_pictures
from outcomebox.eval.report.plots import Picture
from outcomebox.eval.report.rates import group_tables, heat_table, runs_heat_table, runs_table
from outcomebox.eval.report.run import Run
from outcomebox.eval.report.tables import Table


@dataclass(frozen=True, slots=True)
class Part:
    """What stands under one heading.

    Attributes:
        name: A short name, unique in the report.
        title: The heading.
        kind: ``together``: of all runs; ``comparison``; ``run``: of one.
        place: Its place among those of its kind.
        tables: Its tables.
        pictures: Its pictures.
    """

    name: str
    title: str
    kind: str
    place: int
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class Report:
    """What is written, before it has a format.

    Attributes:
        title: The heading.
        runs: The runs; at least one.
        comparisons: What is compared.
        digits: Decimals of shares in per cent.
    """

    title: str
    runs: Sequence[Run]
    comparisons: Sequence[Comparison] = ()
    digits: int = 1

    @property
    def final(self) -> bool:
        """Whether the figures of all runs are."""
        return all(run.summary.final for run in self.runs)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Its tables and pictures under their headings."""
        return tuple(_parts(self.runs, self.comparisons, digits=self.digits))


def _parts(
    runs: Sequence[Run], comparisons: Sequence[Comparison], *, digits: int
) -> Iterator[Part]:
    many = len(runs) > 1
    together = [cost_table(runs, digits=digits)]
    if many:
        together = [
            runs_table(runs, digits=digits),
            runs_heat_table(runs, digits=digits),
            *together,
        ]
    pictures = list(runs_pictures(runs))
    if not many:
        pictures += run_pictures(runs[0])
    tables = tuple(table for table in together if table is not None)
    if tables or pictures:
        title = "Runs side by side" if many else "At a glance"
        yield Part("together", title, "together", 0, tables, tuple(pictures))
    for place, found in enumerate(comparisons):
        yield Part(
            f"comparison-{place}",
            f"{found.new.name} against {found.base.name}",
            "comparison",
            place,
            tuple(comparison_tables(found, digits=digits)),
            tuple(comparison_pictures(found, place)),
        )
    for place, run in enumerate(runs):
        heat = heat_table(run, digits=digits)
        yield Part(
            f"run-{place}",
            run.name if many else "Tables",
            "run",
            place,
            (
                *(() if heat is None else (heat,)),
                *group_tables(run, digits=digits),
                *behind_tables(run, digits=digits),
                *spending_tables(run),
            ),
            tuple(run_pictures(run, f"passes-{place}")) if many else (),
        )
