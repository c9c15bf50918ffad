"""The grader's program: imports what checks need, then serves the one that it is sent.

Run as a script it imports the modules beside it and nothing above them. The packages above bring
hundreds of modules that no check uses, and a supervisor that forks a grader per check would copy
the memory maps of all of them each time: 1 ms a fork without them, 10 ms with them, on the same
machine. ``python -m outcomebox.reward.thinkingbox.worker`` works too, at that price.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

_PACKAGE = "outcomebox.reward.thinkingbox"


def main() -> None:
    """Serve one check on standard input and output."""
    folder = str(Path(__file__).resolve().parent)
    sys.path[:] = [each for each in sys.path if each != folder]  # a script's own, as Python does it
    alone = _PACKAGE not in sys.modules
    if alone:
        package = types.ModuleType(_PACKAGE)
        package.__path__ = [folder]
        sys.modules[_PACKAGE] = package
    from outcomebox.reward.thinkingbox.serving import serve  # noqa: PLC0415 -- after the lines above

    if alone:
        del sys.modules[_PACKAGE]  # who imports it by name, a fixture say, gets the real one
    serve()


if __name__ == "__main__":
    main()
