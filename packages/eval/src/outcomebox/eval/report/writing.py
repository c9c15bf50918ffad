"""Writes a report: its files are made whole in a folder of their own, then put in their places."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import polars as pl

from outcomebox.eval.compare.model import Comparison
from outcomebox.eval.report.contents import Report
from outcomebox.eval.report.frame import page
from outcomebox.eval.report.latex import latex
from outcomebox.eval.report.markdown import markdown
from outcomebox.eval.report.run import Run
from outcomebox.eval.report.sections import sections
from outcomebox.eval.report.sidefiles import SideFiles
from outcomebox.eval.report.taskrows import Key, page_data
from outcomebox.eval.report.tidy import figures_csv, tasks_csv
from outcomebox.sandbox.errors import InputError

FORMATS = ("html", "md", "csv", "json", "tex")
"""What a report can be written as."""

PAGE = "report.html"
_FILES = "report.files"
_PICTURES = "report.pictures"
_ALL = (
    PAGE,
    _FILES,
    "report.md",
    _PICTURES,
    "report.csv",
    "report.tasks.csv",
    "report.json",
    "report.tex",
)
_OURS = {_FILES: re.compile(r"\d{5,}\.js"), _PICTURES: re.compile(r"[a-z0-9-]+\.svg")}
_LINED = frozenset({"ours", "thinkingbox"})
"""Kinds of results whose rows are lines of a file, so that a transcript is one of them."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written.

    Attributes:
        files: The files and folders, sorted.
        transcripts: Rows whose transcripts can be opened.
    """

    files: tuple[Path, ...]
    transcripts: int


def write_report(
    runs: Sequence[Run],
    folder: Path,
    *,
    comparisons: Sequence[Comparison] = (),
    title: str = "Evaluation",
    formats: Sequence[str] = FORMATS,
    digits: int = 1,
    transcripts: bool = True,
) -> Written:
    """Write a report into a folder, in place of an older one.

    Args:
        runs: The runs; at least one.
        folder: The folder; made if it is not there.
        comparisons: What is compared.
        title: The report's heading.
        formats: Of :data:`FORMATS`.
        digits: Decimals of shares in per cent.
        transcripts: Whether the page gets the transcripts beside it.

    Returns:
        What was written. The same runs give the same bytes.

    Raises:
        InputError: A format is none, the folder cannot be written or holds something else where
            side files would go, or rows have changed since they were read.
    """
    check_formats(formats)
    _require_ours(folder)
    report = Report(title, runs, comparisons, digits)
    made: dict[str, Callable[[Path], int]] = {
        "md": lambda scratch: _markdown(scratch, report),
        "csv": lambda scratch: _csv(scratch, report),
        "json": lambda scratch: _write(scratch / "report.json", _dumped(report_json(report))),
        "tex": lambda scratch: _write(scratch / "report.tex", latex(report)),
    }
    # Transcripts are nearly all of the bytes: they are written while all else is made.
    with _scratch(folder) as scratch, ThreadPoolExecutor(1) as beside:
        paged, count = "html" in formats, 0
        writing = beside.submit(_transcripts, scratch, report, wanted=paged and transcripts)
        for name, make in made.items():
            if name in formats:
                make(scratch)
        held = writing.result()
        if paged:
            count = _page(scratch, report, held)
        placed = _place(scratch, folder)
    return Written(placed, count)


def check_formats(formats: Sequence[str]) -> None:
    """See that there are formats, and that each is one.

    Raises:
        InputError: One is none, or there is none.
    """
    listed = ", ".join(FORMATS)
    if not formats:
        raise InputError(f"name at least one of {listed}", field="format")
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"is none of {listed}", field="format", value=name)


Held = list[dict[Key, tuple[int, int]]]
"""Of each run, where the transcript of a try is: side file, and place in it."""


def _transcripts(scratch: Path, report: Report, *, wanted: bool) -> Held:
    """Write the transcripts beside the page."""
    side = SideFiles(scratch / _FILES)
    held: Held = []
    for run in report.runs:
        keys, places = _places(run) if wanted else ([], [])
        held.append(dict(zip(keys, side.write(places), strict=True)) if places else {})
    return held


def _page(scratch: Path, report: Report, held: Held) -> int:
    """Write the page; returns the transcripts beside it."""
    beside = any(held)
    data = page_data(report.runs, held, _FILES if beside else None)
    _write(scratch / PAGE, page(report.title, sections(report), data, beside=beside))
    return sum(map(len, held))


def _markdown(scratch: Path, report: Report) -> int:
    folder = scratch / _PICTURES
    folder.mkdir()
    for part in report.parts:
        for picture in part.pictures:
            _write(folder / f"{picture.name}.svg", picture.file())
    return _write(scratch / "report.md", markdown(report, pictures=_PICTURES))


def _csv(scratch: Path, report: Report) -> int:
    _write(scratch / "report.tasks.csv", tasks_csv(report.runs))
    return _write(scratch / "report.csv", figures_csv(report.runs))


def _places(run: Run) -> tuple[list[Key], list[tuple[str, int]]]:
    """The tries of due tasks that are lines of a file, and where these are."""
    found = run.results.places
    if found is None:
        return [], []
    lined = [source.path for source in run.results.source if source.kind in _LINED]
    due = [task.uid for task in run.summary.tasks]
    rows = found.filter(pl.col("path").is_in(lined) & pl.col("uid").is_in(due))
    keys = list(rows.select("uid", "repetition", "try").iter_rows())
    return keys, list(rows.select("path", "line").iter_rows())


def report_json(report: Report) -> dict[str, object]:
    """A report as plain JSON values; what is not defined is null."""
    return {
        "title": report.title,
        "final": report.final,
        "runs": [{"name": run.name, **run.summary.to_json()} for run in report.runs],
        "comparisons": [found.to_json() for found in report.comparisons],
    }


def _dumped(data: Mapping[str, object]) -> str:
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _write(path: Path, text: str) -> int:
    # Half a character of a model's output becomes its escape.
    return path.write_bytes(text.encode("utf-8", "backslashreplace"))


def _require_ours(folder: Path) -> None:
    """See that what stands where side files go may be replaced."""
    for name, pattern in _OURS.items():
        beside = folder / name
        if not beside.exists():
            continue
        if not beside.is_dir() or any(
            not pattern.fullmatch(each.name) for each in beside.iterdir()
        ):
            raise InputError(
                "there is something else where files of the report would go; move it away, or give "
                "another --out",
                file=beside,
            )


def _place(scratch: Path, folder: Path) -> tuple[Path, ...]:
    """Put what was made in its place; what is left of an older report goes, so that all agree."""
    made = sorted(each.name for each in scratch.iterdir())
    for name in _ALL:
        old = folder / name
        if old.is_dir():
            shutil.rmtree(old)
        elif name not in made:
            old.unlink(missing_ok=True)
    return tuple((scratch / name).replace(folder / name) for name in made)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder in the report's in which it is made, so that it is moved there in no time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".report.", dir=folder))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder) from error
    try:
        yield scratch
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
