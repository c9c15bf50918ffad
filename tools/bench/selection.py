"""What selection costs: reading episodes in every form, against ``json.loads`` line by line.

Each side runs in a process of its own, so that its memory can be told: ours reads the rows, checks
them and counts each task's results; the reference parses every line and counts outcomes by key, and
checks nothing. ``select`` is the whole command on slim rows, chart and manifest included.

    ./pants run tools/bench:selection -- [--rows 1000000] [--tasks 50000] [--megabytes 400] [--json]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

OUTCOMES = ("passed", "failed", "system_error")
_LETTERS = "pfs"
_WORDS = [f"word{n}" for n in range(3000)]


def outcomes(rows: int, tasks: int) -> Iterator[tuple[int, int, int]]:
    """Task, repetition and outcome of so many rows, each task as hard as another Beta(.3, .6)."""
    rng = random.Random(1)
    each = max(1, rows // tasks)
    for number in range(rows):
        task, repetition = divmod(number, each)
        if not repetition:
            rate = rng.betavariate(0.3, 0.6)
        broken = rng.random() < 0.01
        yield task, repetition, 2 if broken else int(rng.random() >= rate)


def make_slim(path: Path, rows: int, tasks: int) -> None:
    """Slim rows as JSONL: what decides, and nothing else."""
    with path.open("w", encoding="utf-8") as file:
        for task, repetition, outcome in outcomes(rows, tasks):
            file.write(
                f'{{"uid":"retail/returns/{task}","repetition":{repetition},"try":0,'
                f'"domain":"retail","family":"returns","verdict":{{"outcome":"{OUTCOMES[outcome]}"}}'
                f',"versions":{{"task":"{task:08x}"}}}}\n'
            )


def make_index(path: Path, rows: int, tasks: int) -> None:
    """The same in the form of the index that a run's store keeps."""
    with path.open("w", encoding="utf-8") as file:
        for number, (task, repetition, outcome) in enumerate(outcomes(rows, tasks)):
            file.write(
                f"{number * 21_000} 21000 {repetition} 0 {_LETTERS[outcome]} "
                f'AbCdEf{task % 90 + 10} {task:08x} "retail/returns/{task}"\n'
            )


def make_parquet(path: Path, rows: int, tasks: int) -> None:
    """The same as Parquet."""
    task, repetition, outcome = zip(*outcomes(rows, tasks), strict=True)
    names = pl.Series(task)
    pl.DataFrame(
        {
            "uid": pl.select("retail/returns/" + names.cast(pl.String)).to_series(),
            "repetition": repetition,
            "try": 0,
            "domain": "retail",
            "family": "returns",
            "outcome": pl.Series(outcome).replace_strict(dict(enumerate(OUTCOMES))),
            "hash": names.cast(pl.String).str.zfill(8),
        }
    ).write_parquet(path)


def make_full(path: Path, megabytes: int) -> None:
    """Rows with transcripts of about 21 kB, sealed as the store of a run seals them."""
    rng = random.Random(2)
    texts = [" ".join(rng.choices(_WORDS, k=100)) for _ in range(2000)]
    versions = {"packages": {}, "task": "f" * 64, "content": "c" * 64, "format": "qwen3_xml"}
    size, number = 0, 0
    with path.open("wb") as file:
        while size < megabytes * 1_000_000:
            task, repetition = divmod(number, 20)
            row = {
                "uid": f"retail/returns/{task}",
                "repetition": repetition,
                "try": 0,
                "domain": "retail",
                "family": "returns",
                "tags": [],
                "verdict": {"outcome": OUTCOMES[rng.random() < 0.4], "reasons": [], "details": {}},
                "messages": [
                    {"role": "assistant", "content": rng.choice(texts), "raw": rng.choice(texts)}
                    for _ in range(14)
                ],
                "timing": {"started": "2026-03-02T09:00:00.000+00:00", "total": 1.25},
                "policy": {"name": "bench", "simulated": True},
                "error": None,
                "versions": versions,
            }
            body = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()
            size += file.write(body[:-1] + b',"checksum":"%08x"}\n' % zlib.crc32(body))
            number += 1


def ours(path: Path) -> int:
    """Read, check and count; returns the number of rows."""
    from outcomebox.selection import read_episodes, task_results  # noqa: PLC0415 -- of this side

    episodes = read_episodes([path])
    task_results(episodes)
    return episodes.rows.height


def plain(path: Path) -> int:
    """The reference: every line through ``json.loads``, outcomes counted by key."""
    counts: dict[tuple[str, int], int] = defaultdict(int)
    rows = 0
    with path.open("rb") as file:
        for line in file:
            row = json.loads(line)
            counts[row["uid"], row["repetition"]] += row["verdict"]["outcome"] == "passed"
            rows += 1
    return rows


def plain_index(path: Path) -> int:
    """The reference for an index, whose uids alone are JSON."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    rows = 0
    with path.open("rb") as file:
        for line in file:
            parts = line.decode().split(" ", 7)
            counts[json.loads(parts[7]), parts[2]] += parts[4] == "p"
            rows += 1
    return rows


def select(path: Path) -> int:
    """The whole command."""
    from outcomebox.selection.select_command import main  # noqa: PLC0415 -- of this side

    pool = path.parent / "pool"
    sys.argv[1:] = ["--episodes", str(path), "--out", str(pool), "--json"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main()
    manifest: Mapping[str, Any] = json.loads((pool / "manifest.json").read_bytes())
    return int(manifest["figures"]["runs"]["tries"])


def read_bytes(path: Path) -> int:
    """What the disk and the operating system give: the bytes, and nothing done with them."""
    with path.open("rb") as file:
        while file.read(16 << 20):
            pass
    return 0


SIDES: dict[str, Callable[[Path], int]] = {
    "ours": ours,
    "plain": plain,
    "plain_index": plain_index,
    "select": select,
    "bytes": read_bytes,
}


def measure(side: str, path: Path) -> dict[str, float]:
    """Run a side in a process of its own."""
    command = [sys.executable, __file__, "--side", side, str(path)]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    told: dict[str, float] = json.loads(found)
    return told


def run_side(side: str, path: Path) -> None:
    """The inside of :func:`measure`; imports have a clock of their own: they do not grow."""
    started = time.perf_counter()
    if side in ("ours", "select"):
        import outcomebox.selection.select_command  # noqa: F401, PLC0415 -- before the clock runs
    imports = time.perf_counter() - started
    started, cpu = time.perf_counter(), time.process_time()
    rows = SIDES[side](path)
    told = {
        "rows": rows,
        "import_seconds": imports,
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    }
    print(json.dumps(told))


def measured(rows: int, tasks: int, megabytes: int) -> list[dict[str, Any]]:
    """All figures."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        made: tuple[tuple[str, str, Callable[[Path], None], tuple[str, ...]], ...] = (
            ("slim JSONL", "slim.jsonl", lambda p: make_slim(p, rows, tasks), ("plain", "select")),
            ("index", "slim.index", lambda p: make_index(p, rows, tasks), ("plain_index",)),
            ("Parquet", "slim.parquet", lambda p: make_parquet(p, rows, tasks), ()),
            ("transcripts", "full.jsonl", lambda p: make_full(p, megabytes), ("plain", "bytes")),
        )
        for label, name, make, others in made:
            path = Path(folder) / name
            make(path)
            told: dict[str, Any] = {"input": label, "mb": path.stat().st_size / 1e6}
            for side in ("ours", *others):
                told[side] = measure(side, path)
            reference = next((told[side] for side in others if side.startswith("plain")), None)
            if reference is not None:
                told["ratio"] = reference["seconds"] / told["ours"]["seconds"]
            found.append(told)
            path.unlink()
    return found


def show(found: list[dict[str, Any]]) -> None:
    """The figures as a table."""
    table = Table(
        box=None,
        pad_edge=False,
        caption="s and CPU s begin when interpreter and imports are there; what select imports "
        "later, for its pictures, is in its s",
    )
    table.add_column("input")
    for name in ("MB", "side", "import s", "s", "CPU s", "MB/s", "peak MB", "ours is faster"):
        table.add_column(name, justify="right")
    for told in found:
        for side in SIDES:
            if side not in told:
                continue
            one = told[side]
            faster = f"{told['ratio']:.1f} x" if side == "ours" and "ratio" in told else ""
            speed = told["mb"] / one["seconds"]
            table.add_row(
                told["input"],
                f"{told['mb']:.0f}",
                side,
                f"{one['import_seconds']:.2f}",
                f"{one['seconds']:.2f}",
                f"{one['cpu']:.2f}",
                f"{speed:.0f}",
                f"{one['peak_mb']:.0f}",
                faster,
            )
    Console(highlight=False).print(table)


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description="What selection costs.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tasks", type=int, default=50_000)
    parser.add_argument("--megabytes", type=int, default=400, help="of transcripts")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--side", nargs=2, metavar=("SIDE", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        run_side(given.side[0], Path(given.side[1]))
        return
    found = measured(given.rows, given.tasks, given.megabytes)
    if given.json:
        print(json.dumps(found))
    else:
        show(found)


if __name__ == "__main__":
    main()
