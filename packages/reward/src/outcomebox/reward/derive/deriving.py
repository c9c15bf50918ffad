"""Deriving the `expect` blocks of many tasks, and writing them into their files."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from outcomebox.reward.derive.checking import call_problem, chosen, golden_verdict, shown
from outcomebox.reward.derive.present import Merged, merge
from outcomebox.reward.derive.render import render_block
from outcomebox.reward.derive.rows import RowDraft, draft_expect, expect_of, plain_block
from outcomebox.reward.derive.source import TaskSource
from outcomebox.reward.derive.varying import OTHER_SEED, later, variation
from outcomebox.reward.golden import (
    GoldenRun,
    Replay,
    golden_sandbox,
    run_goldens,
)
from outcomebox.reward.verdict import Verdict
from outcomebox.sandbox import NO_CHANGE, InputError, SandboxFault, Task, TaskSet, read_task_file

Status = Literal["same", "changed", "new", "refused"]
"""Nothing to change; another block is proposed; the first one is; none can be derived."""


@dataclass(frozen=True)
class Derived:
    """The block that was derived for one task.

    Attributes:
        uid: The task.
        file: Where it stands.
        status: What there is to do.
        rows: What the block says; empty where it is refused.
        block: Its lines, indented as in the file.
        diff: The file's lines that change, as a unified diff; empty if none does.
        problems: Why there is no block.
        kept: How many matchers of the present block were kept.
        accept_also: How many other accepted ends the task has; they stay as they are.
        present: What the present block says of golden's end; None where there is no such block.
        run: The replay.
    """

    uid: str
    file: Path
    status: Status
    rows: tuple[RowDraft, ...] = ()
    block: tuple[str, ...] = ()
    diff: str = ""
    problems: tuple[str, ...] = ()
    kept: int = 0
    accept_also: int = 0
    present: Verdict | None = None
    run: GoldenRun | None = None

    @property
    def reviews(self) -> list[tuple[RowDraft, str]]:
        """Rows with the columns about which a person should decide."""
        return [
            (row, column) for row in self.rows for column, cell in row.cells.items() if cell.advice
        ]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "uid": self.uid,
            "file": self.file.as_posix(),
            "status": self.status,
            "expect": plain_block(self.rows),
            "block": "\n".join(self.block),
            "diff": self.diff,
            "problems": list(self.problems),
            "reviews": [
                {
                    "table": row.table,
                    "op": row.op,
                    "key": None if row.key is None else dict(row.key),
                    "column": column,
                    "value": row.cells[column].spec,
                    **(advice.to_json() if (advice := row.cells[column].advice) else {}),
                }
                for row, column in self.reviews
            ],
            "kept": self.kept,
            "accept_also": self.accept_also,
            "present": None if self.present is None else self.present.to_json(),
        }


@dataclass
class Derivation:
    """What was derived for some tasks.

    Attributes:
        tasks: One entry a task, in the order of uids.
        sources: The files, with the new blocks put in.
    """

    tasks: list[Derived] = field(default_factory=list)
    sources: dict[Path, TaskSource] = field(default_factory=dict)

    def write(self) -> list[Path]:
        """Put the new blocks into their files; each file is loaded and graded before it counts.

        Raises:
            InputError: A file changed meanwhile or cannot be written; the files before it have
                been written.
        """
        written = []
        for file, source in self.sources.items():
            mine = [each for each in self.tasks if each.file == file]
            if any(each.status in {"changed", "new"} for each in mine):
                source.write(partial(_check_file, file=file, derived=mine))
                written.append(file)
        return written


async def derive_tasks(
    tasks: TaskSet,
    *,
    uids: Sequence[str] = (),
    fresh: bool = False,
    concurrency: int = 4,
    in_process: bool = False,
    done: Callable[[int, int], None] | None = None,
) -> Derivation:
    """Derive the `expect` blocks of some tasks.

    Each task's golden calls are made three times: with seed 0, with another seed, and at another
    clock, so that what depends on either is known.

    Args:
        tasks: The tasks, loaded with ``drafts=True`` where some have no block yet.
        uids: Which of them; all without any.
        fresh: Take no matcher over from the present blocks.
        concurrency: Sessions at a time.
        in_process: As for :func:`~outcomebox.reward.golden.golden_sandbox`.
        done: Told how many of how many replays have ended.

    Raises:
        InputError: A uid names no task, or a file cannot be read.
        SessionOpenError: A server cannot be started.
    """
    wanted = chosen(tasks, uids)
    nows = {task.uid: tasks.domain(task).settings.now for task in wanted}
    replays = [
        replay
        for task in wanted
        for replay in (
            Replay(task),
            Replay(task, seed=OTHER_SEED),
            Replay(task, now=later(nows[task.uid])),
        )
    ]
    async with golden_sandbox(tasks, in_process=in_process) as (box, started):
        runs = await run_goldens(
            box,
            started,
            replays,
            concurrency=concurrency,
            done=None if done is None else lambda count: done(count, len(replays)),
        )
    result = Derivation()
    originals: dict[Path, TaskSource] = {}
    for number, task in enumerate(wanted):
        file = tasks.files[task.uid]
        if file not in originals:
            originals[file] = result.sources[file] = TaskSource.read(file)
        three = runs[3 * number : 3 * number + 3]
        derived = _derived(task, originals[file], three, nows[task.uid], fresh=fresh)
        if derived.status in {"changed", "new"}:
            result.sources[file] = result.sources[file].with_block(task.uid, derived.block)
        result.tasks.append(derived)
    return result


def _derived(
    task: Task,
    source: TaskSource,
    runs: Sequence[GoldenRun | SandboxFault],
    now: str,
    *,
    fresh: bool,
) -> Derived:
    def refused(*problems: str) -> Derived:
        return Derived(task.uid, source.file, "refused", problems=problems)

    base, reseeded, clocked = runs
    if not task.golden:
        return refused("golden: is missing; list the calls that do the task right")
    if isinstance(base, SandboxFault):
        return refused(f"the golden calls could not be made: {base}")
    if base.error is not None:
        return refused(call_problem(base))
    if isinstance(reseeded, SandboxFault):
        return refused(f"the golden calls could not be made: {reseeded}")
    if reseeded.error is not None:
        return refused(
            f"with seed {OTHER_SEED}: {call_problem(reseeded)}; each attempt has another seed, so "
            "golden calls may not name what a seed decides"
        )
    clock = clocked if isinstance(clocked, GoldenRun) and clocked.error is None else None
    varying = variation(base, reseeded, clock, now)
    draft = draft_expect(task, base, varying.cells)
    tagged = NO_CHANGE in source.tags(task.uid)
    problems = [*varying.problems, *draft.problems, *_contradiction(bool(draft.rows), tagged)]
    if problems:
        return refused(*problems)
    present = None if source.drafted(task.uid) else golden_verdict(task, base)
    merged = merge(task, base.state, draft, matchers=not fresh)
    return _proposal(task, source, base, merged, present=present)


def _proposal(
    task: Task, source: TaskSource, run: GoldenRun, merged: Merged, *, present: Verdict | None
) -> Derived:
    changed = task.model_copy(
        update={
            "expect": expect_of(plain_block(merged.rows)),
            "tags": [tag for tag in task.tags if tag != NO_CHANGE or not merged.rows],
        }
    )
    verdict = golden_verdict(changed, run)
    if verdict.outcome != "passed":
        problem = f"no block fits golden's own end: {shown(verdict)}"
        return Derived(task.uid, source.file, "refused", problems=(problem,))
    place = source.place(task.uid)
    block = render_block(
        merged.rows, indent=place.indent, places=merged.places, texts=source.row_texts(place)
    )
    new = source if merged.same and place.end > place.start else source.with_block(task.uid, block)
    diff = "".join(
        difflib.unified_diff(
            source.text.splitlines(keepends=True),
            new.text.splitlines(keepends=True),
            source.file.name,
            f"{source.file.name} (derived)",
        )
    )
    status: Status = "same" if not diff else "new" if present is None else "changed"
    if status == "same":
        block = [line.rstrip("\r\n") for line in source.lines[place.start : place.end]]
    return Derived(
        uid=task.uid,
        file=source.file,
        status=status,
        rows=merged.rows,
        block=tuple(block),
        diff=diff,
        kept=merged.kept,
        accept_also=len(task.accept_also),
        present=present,
        run=run,
    )


def _contradiction(changes: bool, tagged: bool) -> Iterator[str]:
    if changes and tagged:
        yield (
            f"tags: {NO_CHANGE} is set, but the golden calls change something; take out the tag, "
            "or the calls that write"
        )
    if not changes and not tagged:
        yield (
            "the golden calls change nothing, so nothing would be checked; add the calls that are "
            f"due, or the tag {NO_CHANGE} if the right end is no change at all"
        )


def _check_file(new: Path, file: Path, derived: Sequence[Derived]) -> None:
    """See that a file, as it is about to be, loads and accepts golden."""
    before = {task.uid: task for task in read_task_file(file, drafts=True)}
    after = {task.uid: task for task in read_task_file(new, drafts=True)}
    touched = {each.uid for each in derived if each.status in {"changed", "new"}}
    moved = [uid for uid in before if uid not in touched and before[uid] != after.get(uid)]
    for each in derived:
        if each.uid not in touched or each.run is None:
            continue
        verdict = golden_verdict(after[each.uid], each.run)
        if verdict.outcome != "passed":
            moved.append(each.uid)
    if moved:
        raise InputError(
            f"would not say what was derived ({', '.join(moved)}), so it was left as it is; put "
            "the printed block in by hand, and report this",
            file=file,
        )
