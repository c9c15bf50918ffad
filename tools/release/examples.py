"""Runs the Python examples of a page, one after the other, with the names of those before.

Started by tools/release/alone.py in the environment under test: ``python examples.py README.md``.
It needs nothing but Python. Blocks fenced as ``python`` are run, with ``>>>`` as doctests; one that
is fenced as ``python illustration`` is only shown.
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

_BLOCK = re.compile(r"^```python[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[tuple[int, str]]:
    """Return the examples of a page, each with the number of its first line."""
    return [(text.count("\n", 0, each.start(1)), each[1]) for each in _BLOCK.finditer(text)]


def run(page: Path) -> int:
    """Run a page's examples; returns how many there are.

    Raises:
        Exception: Whatever an example raises.
        AssertionError: A doctest prints something else.
    """
    names: dict[str, object] = {"__name__": "example"}
    found = blocks(page.read_text(encoding="utf-8"))
    for line, code in found:
        if ">>>" in code:
            test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), line)
            test.globs = names
            failed, _ = doctest.DocTestRunner().run(test, clear_globs=False)
            if failed:
                raise AssertionError(f"{page.name}:{line}: {failed} examples print something else")
        else:
            # Counted from the page's top, so that a traceback names the page's line.
            exec(compile("\n" * line + code, page.name, "exec"), names)  # noqa: S102
    return len(found)


if __name__ == "__main__":
    print(run(Path(sys.argv[1])), "examples")
