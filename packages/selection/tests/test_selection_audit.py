"""The audit of system errors: found where they were planted, and nowhere else."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from outcomebox.selection import curate, read_episodes, task_results
from outcomebox.selection.audit import Finding, ask, audit
from outcomebox.selection.chance import groups_p, holm
from outcomebox.selection.figures import figures
from outcomebox.selection.tries import SCHEMA, Tries, read_tries
from selection_rows import curation, row, write_rows


def played(seed: int, rate: Any, tasks: int = 40, runs: int = 8) -> Tries:
    """Tries of tasks in four domains; `rate` says how often a try breaks."""
    rng = np.random.default_rng(seed)
    solved = rng.beta(0.5, 0.5, tasks)
    rows: list[tuple[Any, ...]] = []
    for index in range(tasks):
        domain = "abcd"[index % 4]
        for repetition in range(runs):
            for attempt in range(4):
                started = float(len(rows))
                key = (f"{domain}/x/{index}", repetition, attempt)
                chance = rate(domain=domain, solved=solved[index], started=started, task=index)
                if rng.random() < chance and attempt < 3:
                    rows.append((*key, "system_error", domain, started, "policy", None, None))
                    continue
                word = "passed" if rng.random() < solved[index] else "failed"
                rows.append((*key, word, domain, started, None, None, None))
                break
    return Tries(pl.DataFrame(rows, schema=SCHEMA, orient="row"), {}, {})


def by_factor(tries: Tries) -> dict[str, Finding]:
    """The findings by what they are about."""
    return {finding.factor: finding for finding in ask(tries, 0)}


def test_errors_at_random_are_seldom_warned_of() -> None:
    warned = [
        any(finding.warns for finding in ask(played(seed, lambda **_: 0.08), 0))
        for seed in range(20)
    ]
    # At a level of 5 % for all questions together: 5 of 20 and more happen once in 400 times.
    assert sum(warned) <= 4


def test_errors_of_a_domain_are_found_with_their_figures() -> None:
    tries = played(1, lambda domain, **_: 0.3 if domain == "b" else 0.05)
    found = by_factor(tries)
    assert [name for name, finding in found.items() if finding.warns] == ["domain"]
    first = found["domain"].levels[0]
    assert (first.name, first.of) == ("b", 80)
    told = audit(tries, 0)
    assert told is not None
    (warning,) = told["warnings"]
    assert warning.startswith("System errors go with the domain (p < 0.001): b ")
    assert f"{first.errors} of 80" in warning
    assert audit(tries, 0) == told


def test_errors_of_a_task_and_of_an_hour_are_found() -> None:
    task = by_factor(played(2, lambda task, **_: 0.7 if task == 5 else 0.04))
    assert task["task"].warns
    assert task["task"].levels[0].name == "b/x/5"
    hour = by_factor(played(3, lambda started, **_: 0.5 if 100 <= started < 140 else 0.03))
    assert hour["time"].warns
    assert hour["time"].levels[0].name in {"tenth 3 of the run", "tenth 4 of the run"}


def test_errors_that_strike_hard_tasks_are_found() -> None:
    found = by_factor(played(4, lambda solved, **_: 0.02 + 0.25 * (1 - solved)))
    assert found["pass rate"].warns
    assert "mean pass rate" in found["pass rate"].words


def test_few_errors_are_asked_nothing() -> None:
    tries = played(5, lambda **_: 0.0)
    assert ask(tries, 0) == ()
    told = audit(tries, 0)
    assert told is not None
    assert (told["broken_tries"], told["questions"], told["warnings"]) == (0, [], [])
    assert audit(None, 0) is None


def test_the_p_of_outcomes_after_an_error_is_the_exact_one() -> None:
    """Against every way in which the broken first tries could have been dealt."""
    words = {"a/x/1": "PPFFF", "a/x/2": "PFFP"}
    struck = {("a/x/1", 0), ("a/x/1", 1), ("a/x/2", 0)}
    rows: list[tuple[Any, ...]] = []
    for uid, outcomes in words.items():
        for repetition, letter in enumerate(outcomes):
            last = 0
            if (uid, repetition) in struck:
                rows.append((uid, repetition, 0, "system_error", "a", None, "tool", None, None))
                last = 1
            word = "passed" if letter == "P" else "failed"
            rows.append((uid, repetition, last, word, "a", None, None, None, None))
    # More errors elsewhere, so that questions are asked at all; that task has no other attempts.
    rows += [("b/x/1", i, 0, "system_error", "b", None, "tool", None, None) for i in range(4)]
    tries = Tries(pl.DataFrame(rows, schema=SCHEMA, orient="row"), {}, {})
    found = by_factor(tries)["outcome"]
    seen = 3
    ways = [(*first, second).count("P") for first in combinations("PPFFF", 2) for second in "PFFP"]
    law = np.bincount(ways) / len(ways)
    assert found.p == pytest.approx(law[law <= law[seen] + 1e-12].sum())
    assert found.told.startswith("3 of 3 attempts passed that broke first, 1 of 6 others")


def test_the_p_of_groups_is_that_of_all_permutations() -> None:
    errors, sizes = np.asarray([3, 0, 0]), np.asarray([4, 4, 4])
    # 3 errors among 12: all in one group of four in 3 * C(4,3) of C(12,3) ways.
    p, none = groups_p(errors, sizes, np.zeros(3, np.int64), np.random.default_rng(0))
    assert p == pytest.approx(12 / 220, abs=0.008)
    assert none is None


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def called(*names: str, answered: int) -> list[dict[str, Any]]:
    """Messages of an episode that called tools, the first so many with an answer."""
    found: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        call = {"id": f"c{number}", "function": {"name": name, "arguments": "{}"}}
        found.append({"role": "assistant", "content": "", "tool_calls": [call]})
        if number < answered:
            found.append({"role": "tool", "tool_call_id": f"c{number}", "content": "ok"})
    return found


def test_a_tool_that_breaks_is_found_in_the_rows(tmp_path: Path) -> None:
    rows = []
    for repetition in range(60):
        whole = called("find", "pay", "find", answered=3)
        usage = {"policy": {"prompt": 100, "completion": 20}}
        if repetition % 6 == 0:
            broken = called("find", "pay", answered=1)
            rows.append(row("shop/a/1", repetition, "E", messages=broken, usage=usage))
        rows.append(
            row(
                "shop/a/1",
                repetition,
                "P" if repetition % 2 else "F",
                messages=whole,
                usage=usage,
                **{"try": int(repetition % 6 == 0)},
            )
        )
    file = write_rows(tmp_path / "episodes.jsonl", rows)
    tries = read_tries([file])
    assert tries is not None
    assert (tries.calls["pay"], tries.broken) == (70, {"pay": 10})
    found = by_factor(tries)["tool"]
    assert found.warns
    assert "pay 10 of 70" in found.words
    assert "calls" in found.words
    # Through a selection: in the figures, with what a step wastes in tokens.
    episodes = read_episodes([file])
    chosen = curate(episodes.tasks, task_results(episodes), curation(), tries=tries)
    told = figures(chosen)
    assert any("tool" in warning for warning in told["audit"]["warnings"])
    step = told["outlook"]["step"]
    assert step["wasted_tokens"]["value"] == pytest.approx(120 * step["wasted_rollouts"]["value"])
    assert step["wasted_cost"] is None


def test_decisions_that_hang_on_missing_verdicts_are_counted(tmp_path: Path) -> None:
    rows = [
        *(row("a/x/1", i, letter, usage={}) for i, letter in enumerate("FFFFEEEE")),
        *(row("a/x/2", i, letter, usage={}) for i, letter in enumerate("PFPFPFEE")),
    ]
    file = write_rows(tmp_path / "episodes.jsonl", rows)
    episodes = read_episodes([file])
    chosen = curate(episodes.tasks, task_results(episodes), curation(), tries=read_tries([file]))
    told = figures(chosen)["audit"]
    assert (told["without_verdict"], told["decisions_at_stake"]) == (6, 1)


def test_slim_rows_tell_nothing(tmp_path: Path) -> None:
    plain = {"uid": "a/x/1", "repetition": 0, "verdict": {"outcome": "passed"}}
    assert read_tries([write_rows(tmp_path / "slim.jsonl", [plain])]) is None
    assert read_tries([tmp_path / "episodes.parquet"]) is None
