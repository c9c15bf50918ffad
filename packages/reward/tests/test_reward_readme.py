"""The README's examples run as they stand."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_the_examples_run_and_print_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert len(blocks) == 6
    # Processes that an example starts search where this one does, which may be said relatively.
    monkeypatch.setattr(sys, "path", [str(Path(entry or ".").resolve()) for entry in sys.path])
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"README.md, example {number}", "exec"), names)  # noqa: S102
    printed = re.findall(r"^print\(.*\)\n# (.*)$", "\n".join(blocks), re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == printed
    assert printed
