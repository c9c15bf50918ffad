"""Writes a run's page, reading rows one at a time.

A small run becomes one file. Of a large one the conversations go to script files in a folder
beside the page, each loaded when one of its episodes is opened; memory holds one such part and the
list. Nothing of an older page is touched before the new one is whole.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outcomebox.rollout.pages.escaping import data
from outcomebox.rollout.pages.frame import body, head, script
from outcomebox.rollout.pages.index import Index
from outcomebox.rollout.showing.placing import Json
from outcomebox.rollout.showing.view import view_of
from outcomebox.sandbox import InputError

INLINE = 8 * 2**20
"""Bytes of rows up to which a page is one file, if nothing else is asked for."""
_PART = 512 * 1024
_POOLED = 500
_PART_NAME = re.compile(r"\d{5,}\.js")

Reproduce = Callable[[Mapping[str, Any]], str | None]
"""The command that makes a row again."""


@dataclass(frozen=True)
class Page:
    """A page that was written.

    Attributes:
        path: The page.
        files: The folder beside it with the conversations; None where they stand in it.
        index: What it lists.
    """

    path: Path
    files: Path | None
    index: Index


@dataclass
class _Part:
    """Conversations that are loaded together; long texts that they share stand in it once."""

    texts: dict[str, int] = field(default_factory=dict)
    episodes: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, view: Json) -> None:
        for step in view["steps"]:
            if len(step["text"]) >= _POOLED:
                before = len(self.texts)
                step["text"] = self.texts.setdefault(step["text"], before)
                if len(self.texts) > before:
                    self.size += len(next(reversed(self.texts)))
        self.episodes.append(data(view))
        self.size += len(self.episodes[-1])

    def written(self) -> str:
        return f'{{"texts":{data(list(self.texts))},"episodes":[{",".join(self.episodes)}]}}'


def write_page(
    rows: Iterable[Mapping[str, Any]],
    path: Path,
    *,
    title: str,
    beside: bool,
    reproduce: Reproduce | None = None,
) -> Page:
    """Write a run's page.

    Args:
        rows: Its rows; read once, one at a time.
        path: The page's file.
        title: Its title.
        beside: Whether conversations go to files beside it.
        reproduce: Gives the command that makes a row again.

    Returns:
        What was written. The same rows give the same bytes.

    Raises:
        InputError: It cannot be written, there are no rows, or the folder beside it holds something
            else.
    """
    files = path.with_name(f"{path.stem}.files")
    _require_ours(files)
    with _scratch(path) as scratch:
        parts = scratch / "parts"
        parts.mkdir()
        index = Index()
        number = 0
        for number, part in enumerate(_parts(rows, index, reproduce)):
            (parts / _part_name(number)).write_text(
                _called(number, part) if beside else part, encoding="ascii", newline="\n"
            )
        if not index.tasks:
            raise InputError("there is no row to show", file=path)
        index.finish()
        page = scratch / path.name
        with page.open("w", encoding="utf-8", newline="\n") as file:
            file.write(head(title, beside=beside))
            file.writelines(body(title, index))
            listed = data(index.to_json(title, files.name if beside else None))
            file.write(f'<script type="application/json" id="index">{listed}</script>\n')
            if not beside:
                for each in range(number + 1):
                    held = (parts / _part_name(each)).read_text(encoding="ascii")
                    file.write(
                        f'<script type="application/json" id="chunk-{each}">{held}</script>\n'
                    )
            file.write(f"<script>{script()}</script>\n</body>\n</html>\n")
        if files.exists():
            shutil.rmtree(files)
        if beside:
            parts.rename(files)
        page.replace(path)
    return Page(path, files if beside else None, index)


def _parts(
    rows: Iterable[Mapping[str, Any]], index: Index, reproduce: Reproduce | None
) -> Iterator[str]:
    part, number = _Part(), 0
    for row in rows:
        view = view_of(row)
        if reproduce is not None:
            view["command"] = reproduce(row)
        index.add(view, chunk=number, within=len(part.episodes))
        part.add(view)
        if part.size >= _PART:
            yield part.written()
            part, number = _Part(), number + 1
    if part.episodes:
        yield part.written()


def _part_name(number: int) -> str:
    return f"{number:05d}.js"


def _called(number: int, part: str) -> str:
    # A text that is parsed as JSON: in an object literal, `__proto__` would be more than a key.
    return f"outcomebox({number},{data(part)})\n"


def _require_ours(files: Path) -> None:
    """See that the folder beside the page may be replaced."""
    if not files.exists():
        return
    if not files.is_dir() or any(not _PART_NAME.fullmatch(each.name) for each in files.iterdir()):
        raise InputError(
            "there is something else where the page's conversations would go; move it away, or "
            "give another --out",
            file=files,
        )


@contextmanager
def _scratch(path: Path) -> Iterator[Path]:
    """A folder beside the page in which it is made."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from error
    try:
        yield folder
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
