"""Profiles read new generated turns as the real parsers do, in every mode, whatever the seed.

Heavy: it runs the releases themselves, each in an environment of its own (oracle_environments).
Pants runs it only when asked for heavy tests, and pytest only with OUTCOMEBOX_HEAVY=1.
"""

import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import outcomebox.interpret
from oracle_compare import cases_of, compare, counted, faults, rarely_tried, say
from oracle_corpus import RECORDERS, read
from oracle_environments import python_of
from oracle_turns import Row, corpus

pytestmark = pytest.mark.skipif(
    not os.environ.get("OUTCOMEBOX_HEAVY"),
    reason="runs the real parsers: minutes, and a gigabyte to install; set OUTCOMEBOX_HEAVY=1",
)

TURNS = 11_000
REPLAYED = 600
"""How many turns of the corpus are asked anew, to see that what stands in changes no answer."""

SEED = "OUTCOMEBOX_ORACLE_SEED"
_TESTS = Path(__file__).parent
_SOURCES = Path(outcomebox.interpret.__file__).parents[2]


def answered(asked: Path, folder: Path, profile: str) -> list[dict[str, Any]]:
    """Return the answers of a profile's parser to the rows in a file."""
    release, parser, stream = RECORDERS[profile]
    told = folder / f"{profile}.jsonl"
    run = [
        str(python_of(release)),
        str(_TESTS / "oracle_recorder.py"),
        parser,
        str(asked),
        str(told),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(_SOURCES), str(_TESTS)]),
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    done = subprocess.run(
        [*run, *(["--stream"] if stream else [])],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{profile}: {' '.join(run)}\n{done.stderr[-3000:]}"
    return [json.loads(line) for line in told.read_text(encoding="utf-8").splitlines()]


def answers_of_all(
    folder: Path, toolboxes: list[list[dict[str, Any]]], rows: list[Row]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each profile with its parser's answers, two parsers at a time."""
    asked = folder / "rows.jsonl"
    with asked.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(json.dumps(row.plain(toolboxes)) + "\n" for row in rows)
    # The slow ones first, so that both hands stay full to the end.
    order = sorted(RECORDERS, key=lambda profile: not profile.endswith("-stream"))
    with ThreadPoolExecutor(2) as pool:
        # Each environment is made once, not by all who want it.
        list(pool.map(python_of, sorted({release for release, _, _ in RECORDERS.values()})))
        yield from zip(order, pool.map(partial(answered, asked, folder), order), strict=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("oracles") / "asked"
    made.mkdir()
    return made


def test_profiles_read_new_turns_as_the_parsers_do(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = os.environ.get(SEED) or secrets.token_hex(4)
    toolboxes, made = corpus(seed, TURNS)
    rows = list(made)
    cases = cases_of(toolboxes, rows)
    with capsys.disabled():
        say(f"\n{TURNS} turns of the seed {seed!r} ({SEED}={seed} for the same again)")
    wrong: list[str] = []
    for profile, answers in answers_of_all(folder, toolboxes, rows):
        outcome = compare(profile, cases, answers)
        wrong += faults(outcome)
        rare = rarely_tried(outcome.tried)
        if rare:
            wrong.append(f"{profile}: tried too seldom: {counted(rare)}")
        with capsys.disabled():
            say(outcome.told())
    with capsys.disabled():
        say(f"each profile: {counted(outcome.tried)}")
    assert not wrong, "\n".join(wrong)


def test_parsers_answer_as_they_did_when_the_corpus_was_recorded(folder: Path) -> None:
    toolboxes, rows, recorded = read()
    some = range(0, len(rows), len(rows) // REPLAYED)
    chosen = [rows[index] for index in some]
    for profile, answers in answers_of_all(folder, toolboxes, chosen):
        assert answers == [recorded[profile][index] for index in some], profile
