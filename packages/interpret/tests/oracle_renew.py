"""Renews the corpus: generates its turns and records every parser's answers to them.

    python oracle_renew.py --python vllm032=PYTHON --python vllm024=PYTHON --python sglang=PYTHON

Each PYTHON has the release installed with all that it needs (vllm024 has verl too). PYTHONPATH
holds the sources of interpret.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from oracle_corpus import RECORDERS, write
from oracle_turns import corpus

SEED = "outcomebox 1"
TURNS = 11_000


def main(arguments: list[str] | None = None) -> int:
    """Write the corpus anew."""
    options = argparse.ArgumentParser(prog="oracle_renew")
    options.add_argument("--python", action="append", required=True, metavar="RESOLVE=PYTHON")
    options.add_argument("--seed", default=SEED)
    options.add_argument("--turns", type=int, default=TURNS)
    given = options.parse_args(arguments)
    pythons = dict(item.split("=", 1) for item in given.python)
    missing = {resolve for resolve, _, _ in RECORDERS.values()} - set(pythons)
    if missing:
        options.error(f"--python is missing for: {', '.join(sorted(missing))}")
    toolboxes, made = corpus(given.seed, given.turns)
    rows = list(made)
    answers, releases = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "rows.jsonl"
        with asked.open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(json.dumps(row.plain(toolboxes)) + "\n" for row in rows)
        for profile, (resolve, parser, stream) in RECORDERS.items():
            told = Path(folder) / f"{profile}.jsonl"
            command = [pythons[resolve], "-m", "outcomebox.interpret.live.record", parser]
            command += [str(asked), str(told), *(["--stream"] if stream else [])]
            done = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
            said = done.stderr.splitlines()[-1]
            sys.stderr.write(said + "\n")
            releases[profile] = said.split(" of ", 1)[1].rsplit(" in ", 1)[0]
            answers[profile] = [
                json.loads(line) for line in told.read_text(encoding="utf-8").splitlines()
            ]
    write(given.seed, toolboxes, rows, answers, releases)
    return 0


if __name__ == "__main__":
    sys.exit(main())
