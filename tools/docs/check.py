"""Checks the documentation: every relative link leads somewhere, and marked commands run.

Usage: ``python3 -m tools.docs.check [--run]``

A link is checked with its heading (``page.md#heading``). With ``--run``, the lines that start with
``$`` in blocks fenced as ``console run`` are run too, with bash, a page's blocks in order in one
throw-away copy of the repository, so that they may write what they like, two pages at a time.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

from tools.tree import ROOT, files, throwaway_copy

_LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*(.*)$")


def main() -> int:
    """Runs the checks and tells what is wrong; returns the exit status."""
    parser = argparse.ArgumentParser(description="Check links and marked commands of the docs.")
    parser.add_argument("--run", action="store_true", help="run the blocks marked `console run`")
    options = parser.parse_args()
    pages = [file for file in files() if file.suffix == ".md" and "src" not in file.parts]
    problems = [problem for page in pages for problem in broken_links(page)]
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages, {len(problems)} broken links")
    if not options.run:
        return int(bool(problems))
    marked = {page: list(marked_commands((ROOT / page).read_text("utf-8"))) for page in pages}
    jobs = [(page, commands) for page, commands in marked.items() if commands]
    if not jobs:
        print("no page has a command to run")
        return 1
    # Pants without its daemon, which most commands start, keeps one core busy.
    with ThreadPoolExecutor(max_workers=2) as pool:
        succeeded = list(pool.map(lambda job: run_commands(*job), jobs))
    return int(bool(problems) or not all(succeeded))


def blocks(text: str) -> Iterator[tuple[str | None, int, str]]:
    """The lines of a page, each with its fence's info string (None outside) and line number."""
    fence = info = None
    for number, line in enumerate(text.splitlines(), 1):
        match = _FENCE.match(line)
        if fence is None and match:
            fence, info = match[1], match[2].strip()
        elif fence is not None and match and match[1].startswith(fence) and not match[2].strip():
            fence = info = None
        else:
            yield info, number, line


def marked_commands(text: str) -> Iterator[str]:
    """The commands of a page's blocks fenced as ``console run``; a backslash joins lines."""
    command = ""
    for info, _, line in blocks(text):
        if info != "console run":
            continue
        if command or line.startswith("$ "):
            command += line if command else line[2:]
            if command.endswith("\\"):
                command += "\n"
                continue
            yield command
            command = ""


def broken_links(page: Path, root: Path = ROOT) -> Iterator[str]:
    """Each relative link of ``page``, a path below ``root``, that leads nowhere, with its line."""
    for info, number, line in blocks((root / page).read_text(encoding="utf-8")):
        if info is not None:
            continue
        for target in _LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            path, _, heading = unquote(target).partition("#")
            file = (root / page).parent / path if path else root / page
            if not file.exists():
                yield f"{page}:{number}: {target}: there is no such file"
            elif heading and file.suffix == ".md" and heading not in headings(file):
                yield f"{page}:{number}: {target}: the page has no such heading"


def headings(file: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = file.read_text(encoding="utf-8")
    titles = [line for info, _, line in blocks(text) if info is None and re.match("#{1,6} ", line)]
    words = (re.sub(r"[^\w\- ]", "", title.lstrip("#").strip().lower()) for title in titles)
    return {title.replace(" ", "-") for title in words}


def run_commands(page: Path, commands: list[str], root: Path = ROOT) -> bool:
    """Runs a page's commands in a copy of the repository; returns whether all succeeded.

    What they print is told when the page is done, in one piece.
    """
    with tempfile.TemporaryFile() as output:
        status = 0
        with throwaway_copy(root) as folder:
            for command in commands:
                output.write(f"{page}$ {command}\n".encode())
                output.flush()
                started = time.monotonic()
                status = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", command],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    check=False,
                ).returncode
                took = time.monotonic() - started
                output.seek(0, 2)
                output.write(f"{page}: exit {status} after {took:.0f} s\n".encode())
                if status:
                    break
        output.seek(0)
        print(output.read().decode(errors="replace"), end="", flush=True)
    return status == 0


if __name__ == "__main__":
    sys.exit(main())
