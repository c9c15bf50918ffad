from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.docs.check import broken_links, marked_commands, run_commands


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ("[a](other.md)", None),
        ("[a](other.md#what-it-does-and-more)", None),
        ("[a](#here)", None),
        ("[a](sub/)", None),
        ("[a](https://example.org/nowhere.md)", None),
        ("`[a](missing.md)`", None),
        ("[a](missing.md)", "missing.md: there is no such file"),
        ("![a](sub/missing.png)", "sub/missing.png: there is no such file"),
        ("[a](other.md#elsewhere)", "other.md#elsewhere: the page has no such heading"),
        ("[a](other.md#in-a-block)", "other.md#in-a-block: the page has no such heading"),
    ],
)
def test_a_link_that_leads_nowhere_is_named(
    tmp_path: Path, link: str, complaint: str | None
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "other.md").write_text(
        "# Other\n\n## What it *does*, and more\n\n```\n# In a block\n```\n", encoding="utf-8"
    )
    (tmp_path / "page.md").write_text(f"# Here\n\nSee {link}.\n", encoding="utf-8")
    found = list(broken_links(Path("page.md"), tmp_path))
    assert found == ([f"page.md:3: {complaint}"] if complaint else [])


def test_commands_are_taken_from_marked_blocks_only() -> None:
    page = """
```console run
$ one --flag \\
    more
its output
$ two
```

```console
$ three
```
"""
    assert list(marked_commands(page)) == ["one --flag \\\n    more", "two"]


def test_commands_run_in_a_copy_until_one_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "given").write_text("what it holds\n", encoding="utf-8")
    page = Path("page.md")
    assert run_commands(page, ["cat given >made", "cat made"], tmp_path)
    assert _told(capfd) == [
        "page.md$ cat given >made",
        "page.md: exit 0",
        "page.md$ cat made",
        "what it holds",
        "page.md: exit 0",
    ]
    assert not run_commands(page, ["false", "touch never"], tmp_path)
    assert _told(capfd) == ["page.md$ false", "page.md: exit 1"]
    assert not (tmp_path / "made").exists()


def _told(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return [line.partition(" after ")[0] for line in capfd.readouterr().out.splitlines()]
