"""The inputs that broke somebody's evaluation in public (cases/eval.jsonl), as results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from eval_counts import Counts, of_counts
from outcomebox.eval.metrics.summary import Summary, summarize
from outcomebox.eval.results import Expected, Results, read_results

FOLDER = Path(__file__).parent / "cases"
CASES: Mapping[str, Mapping[str, Any]] = {
    case["id"]: case
    for case in map(json.loads, (FOLDER / "eval.jsonl").read_bytes().strip().split(b"\n"))
}

ALL = {
    *("001", "003", "004", "006", "008", "010", "013", "015", "016", "018", "020", "023", "024"),
    *("026", "028", "029", "030", "031", "033", "035", "036", "037", "041", "042", "043", "046"),
    *("047", "051", "052", "053", "055", "056", "058", "059", "062", "063", "064", "066", "067"),
    *("070", "071", "074", "075", "077", "078", "080", "082", "083", "084", "085", "086", "088"),
    *("090", "092", "093", "097"),
}
"""The numbers of all 56 cases."""
RATES = {
    "001",
    "003",
    "004",
    "006",
    "008",
    "010",
    "013",
    "015",
    "016",
    "018",
    "020",
    "026",
    "028",
    "030",
    "043",
    "090",
}
"""Those about rates and who counts, in test_eval_cases.py."""
INTERVALS = {"046", "047", "051", "052", "053", "055", "056", "058", "059", "097"}
"""Those about intervals, in test_eval_cases_intervals.py."""
COMPARED = {
    "062",
    "063",
    "064",
    "066",
    "067",
    "070",
    "071",
    "074",
    "075",
    "077",
    "078",
    "080",
    "082",
}
"""Those about comparing runs and about cost, in test_eval_cases_compared.py."""
READING = {"023", "024", "029", "031", "033", "035", "036", "037", "041", "042"}
"""Those about what is read, which are tested in test_eval_cases_reading.py."""
SELECTION = {"083", "084", "085", "086", "088", "092", "093"}
"""Those about selection alone, which are tested beside its code. Its own reader is tested there on
some of the others as well."""


def cases_in(names: Iterable[str]) -> set[str]:
    """The cases that the tests of a module are named after."""
    return {found[1] for name in names if (found := re.match(r"test_ev(\d{3})_", name))}


def digits(expected: Any) -> Any:
    """Equal to six digits."""
    return pytest.approx(expected, abs=5e-7)


def rows_file(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """A table of a case's rows as they stand, one object a line."""
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def read_case(folder: Path, name: str, rows: str = "rows", **fields: str) -> Results:
    """Results of a case's rows, read from a file, with what was due where the case says so.

    Args:
        folder: Where the file is written.
        name: The case.
        rows: Which of its inputs.
        fields: Column of ours -> field of theirs.
    """
    given = CASES[name]["input"]
    path = rows_file(folder / f"{name}-{rows}.jsonl", given[rows])
    due = given.get("expected")
    expected = None if due is None else Expected.of(due["tasks"], due["repetitions"])
    return read_results([str(path)], kind="table", fields=fields, expected=expected)


def counts_case(name: str) -> Results:
    """Results of a case that gives counts of tasks."""
    given = CASES[name]["input"]
    if "tasks" in given:
        tasks: dict[str, Counts] = {
            uid: (each["passed"], each["failed"], each["errors"])
            for uid, each in given["tasks"].items()
        }
        return of_counts(tasks)
    return of_counts(one_attempt(**given["one_attempt_tasks"]))


def one_attempt(*, passed: int, failed: int, errors: int) -> dict[str, Counts]:
    """So many tasks of one attempt each."""
    kinds: list[Counts] = [(1, 0, 0)] * passed + [(0, 1, 0)] * failed + [(0, 0, 1)] * errors
    return {f"t{number:03d}": counts for number, counts in enumerate(kinds)}


def summary(results: Results, **settings: Any) -> Summary:
    """The figures, with few draws where a test does not look at the bootstrap."""
    return summarize(results, **{"resamples": 1000, **settings})


def at_k(found: Summary) -> dict[str, float | None]:
    """pass@k and pass^k over all tasks, by the names the cases use."""
    told = {}
    for each in found.overall.at_k:
        told[f"pass@{each.k}"] = each.pass_at.value
        told[f"pass^{each.k}"] = each.pass_hat.value
    return told


def printed(found: Any) -> set[float]:
    """Every number in a JSON value, to six digits."""
    numbers = re.findall(r"-?\d+\.\d+(?:e-?\d+)?", json.dumps(found, allow_nan=False))
    return {round(float(number), 6) for number in numbers}


def never(found: Any, *wrong: float) -> None:
    """None of the wrong figures of a case is printed."""
    for figure in wrong:
        assert round(figure, 6) not in printed(found), figure
