"""A small real run of policies whose success is known, to its figures and the comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from outcomebox.eval.compare import compare
from outcomebox.eval.metrics.summary import summarize
from outcomebox.eval.results import Expected, Results, read_results
from planted_policy import changing_tasks, drawn, run_planted

pytestmark = pytest.mark.anyio
ATTEMPTS = 4


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of these tests."""
    return "asyncio"


async def run(chances: dict[str, float], folder: Path, seed: int) -> Results:
    """A run, read."""
    rows = folder / f"{seed}.jsonl"
    await run_planted(chances, ATTEMPTS, rows, seed)
    return read_results([str(rows)], kind="ours", expected=Expected.of([*chances], ATTEMPTS))


async def test_a_run_finds_exactly_what_was_planted(tmp_path: Path) -> None:
    uids = changing_tasks(2, ["travel"])
    low = dict(zip(uids, (0.2, 0.6), strict=True))
    high = dict(zip(uids, (0.7, 1.0), strict=True))
    base, new = await run(low, tmp_path, 1), await run(high, tmp_path, 2)
    for results, chances, seed in ((base, low, 1), (new, high, 2)):
        planted = drawn(chances, ATTEMPTS, seed)
        found = summarize(results, resamples=200)
        assert found.final
        assert {task.uid: task.passed for task in found.tasks} == planted
        assert found.overall.pass_1.value == pytest.approx(sum(planted.values()) / 8)
        assert found.overall.dependable.count == sum(n == ATTEMPTS for n in planted.values())
        assert {group.name for group in found.groups["domain"]} == {"travel"}
        # What did not make its golden calls wrote nothing, and is told so.
        signatures = {part.name: part.count for part in found.overall.failures.signatures}
        assert signatures["no_write"] == found.overall.failures.failed == 8 - sum(planted.values())
    compared = compare(base, new, resamples=200)
    assert compared.final
    assert compared.pass_1.value == pytest.approx(
        (sum(drawn(high, ATTEMPTS, 2).values()) - sum(drawn(low, ATTEMPTS, 1).values())) / 8
    )
