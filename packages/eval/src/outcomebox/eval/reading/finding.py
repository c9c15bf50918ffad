"""Which files are meant, what kind each is, and what its run was to do."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any

from outcomebox.eval.reading.due import beside, plain_json, plan_of, union
from outcomebox.eval.reading.episodes import read_ours
from outcomebox.eval.reading.frame import Rows, names, version_notes
from outcomebox.eval.reading.inspect_log import is_inspect, read_inspect
from outcomebox.eval.reading.lines import decode, json_file
from outcomebox.eval.reading.slim import read_slim
from outcomebox.eval.reading.table import read_table
from outcomebox.eval.reading.tau2 import is_tau2, read_tau2
from outcomebox.eval.reading.thinkingbox import read_thinkingbox
from outcomebox.eval.results import Expected, Results, Source, inferred, with_expected
from outcomebox.sandbox.errors import InputError

KINDS = ("ours", "thinkingbox", "tau2", "inspect", "table")
"""Names of the readers."""

ROWS = "episodes.jsonl"
_IN_FOLDERS = (ROWS, "results.json")


def read(
    paths: Sequence[str],
    *,
    kind: str | None,
    fields: Mapping[str, str],
    expected: Expected | None,
    counts: bool,
) -> Results:
    """Read files; see :func:`outcomebox.eval.results.read_results`."""
    if kind is not None and kind not in KINDS:
        raise InputError(f"write one of {', '.join(KINDS)}", field="kind", value=kind)
    files = find_files(paths)
    rows = Rows()
    sources: list[Source] = []
    plans: list[Expected | None] = []
    with _no_collections():
        for file in files:
            source, plan = _read(file, kind or kind_of(file), fields, rows, counts=counts)
            sources.append(source)
            plans.append(plan)
        frame, places = rows.frame(names(files)), rows.places()
        notes = (*rows.notes, *version_notes(frame))
        del rows
    known = [plan for plan in plans if plan is not None]
    due = expected or (union(known) if len(known) == len(plans) else None) or inferred(frame)
    return with_expected(Results(frame, tuple(sources), due, notes, places), due)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Rows are made of very many objects and no cycles: to look for some costs a tenth more."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def find_files(paths: Sequence[str]) -> tuple[Path, ...]:
    """Expands what a person names results by: files, folders of runs, globs.

    Raises:
        InputError: One matches no file.
    """
    found: dict[Path, Path] = {}
    for pattern in paths:
        # A name with brackets may be a file; Path.glob takes no absolute pattern.
        given = Path(pattern)
        named = [] if given.exists() else sorted(glob(pattern, recursive=True))  # noqa: PTH207
        matches = [given] if given.exists() else [Path(name) for name in named]
        files = [file for each in matches if (file := _results_in(each)) is not None]
        if not files:
            raise InputError(
                f"there are no results here; name a run's folder, its {ROWS}, or another file of "
                "results",
                file=pattern,
            )
        for each in files:
            found.setdefault(each.resolve(), each)
    return tuple(found.values())


def _results_in(path: Path) -> Path | None:
    if path.is_dir():
        return next((path / name for name in _IN_FOLDERS if (path / name).is_file()), None)
    return path if path.is_file() else None


def kind_of(file: Path) -> str:
    """What a file is, by its name and its first row.

    Raises:
        InputError: It is empty, or nothing tells.
    """
    if file.suffix in {".csv", ".parquet"}:
        return "table"
    if file.suffix == ".eval":
        return "inspect"
    if file.name == ROWS:
        return "ours"
    if file.suffix == ".json":
        plain = json_file(file, constants=True)[1]
        if is_tau2(plain):
            return "tau2"
        if is_inspect(plain):
            return "inspect"
    else:
        row = _first_row(file)
        if "verdict" in row:
            return "ours"
        if row.keys() & {"test_result", "is_system_error"}:
            return "thinkingbox"
        if "uid" in row:
            return "table"
    raise InputError(
        f"nothing tells what this file is; say it with --kind: {', '.join(KINDS)}", file=file
    )


def _first_row(file: Path) -> Mapping[str, Any]:
    """The first row.

    Raises:
        InputError: There is none, or half of one.
    """
    try:
        with file.open("rb") as lines:
            first = next((line for line in lines if not line.isspace()), b"")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    if not first:
        raise InputError(
            "is empty, so there is no figure; see that the run has written rows", file=file
        )
    try:
        row = decode(first)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"its first line is not JSON ({error}), perhaps half of it; restore the line or take "
            "it out",
            file=file,
        ) from None
    if isinstance(row, dict):
        return row
    raise InputError("its first line is no object; write one object a line", file=file, value=row)


def _read(
    file: Path, kind: str, fields: Mapping[str, str], rows: Rows, *, counts: bool
) -> tuple[Source, Expected | None]:
    if fields and kind in {"ours", "tau2"}:
        raise InputError(
            f"the fields of {kind} rows are fixed; leave --field out", field="field", file=file
        )
    if kind == "ours":
        reader = read_slim if counts else read_ours
        return reader(file, rows, stopped=_stopped(file)), plan_of(file)
    if kind == "thinkingbox":
        return read_thinkingbox(file, rows, fields), None
    if kind == "tau2":
        return read_tau2(file, rows)
    if kind == "inspect":
        return read_inspect(file, rows, fields)
    return read_table(file, rows, fields), None


def _stopped(rows: Path) -> tuple[str, ...]:
    """The tasks that an adaptive probe stopped, told beside its rows."""
    file = beside(rows, "stopped.json")
    if not file.is_file():
        return ()
    plain = plain_json(file)
    if not isinstance(plain, dict):
        raise InputError("must be an object by uid; restore it", file=file)
    return tuple(plain)
