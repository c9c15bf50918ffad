"""The page "From base checkpoint to report": each of its commands, as it stands there, run dry."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
import yaml
from typer.testing import CliRunner

from outcomebox.train.commands.app import app
from outcomebox.train.config.loading import config_text, load_config
from outcomebox.train.config.model import RunConfig
from outcomebox.train.config.versions import SUPPORTED
from train_files import make_model, make_pool
from train_saved import make_checkpoint
from train_verl_files import verl_files

PACKAGE = Path(__file__).parents[1]
PAGE = PACKAGE.parents[1] / "docs" / "training.md"


def page() -> str:
    """The page's text."""
    return PAGE.read_text(encoding="utf-8")


class Command(NamedTuple):
    """A command of the page."""

    line: int
    words: tuple[str, ...]


def commands(text: str) -> Iterator[Command]:
    """The commands in blocks fenced as console, a backslash joins lines."""
    inside, waiting, begun = False, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = line.startswith("```console")
        elif inside:
            begun = begun if waiting else number
            waiting += line.removeprefix("$ ") if not waiting else line
            if waiting.endswith("\\"):
                waiting = waiting[:-1]
                continue
            yield Command(begun, tuple(shlex.split(waiting, comments=True)))
            waiting = ""


def files(text: str) -> dict[str, str]:
    """The settings files that the page shows, by the name in their first line."""
    found = re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return dict(found)


COMMANDS = list(commands(page()))
FILES = files(page())


@pytest.fixture(autouse=True)
def _sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are given in another folder, and start tool servers with this process's path."""
    monkeypatch.setattr(sys, "path", [str(Path(each).absolute()) for each in sys.path])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is there when the page's commands are given."""
    folder = tmp_path_factory.mktemp("page")
    for name in ("base", "tiny"):
        make_model(folder / "models" / name)
    make_pool(folder / "pools" / "first", tasks=("retail",), count=20, test=4)
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def test_the_page_has_its_steps_in_order() -> None:
    text = page()
    steps = re.findall(r"^## (\d)\. ", text, re.MULTILINE)
    assert steps == [str(number) for number in range(1, 10)]
    assert set(FILES) == {"run.yaml", "run-27b.yaml", "run-cpu.yaml"}
    programs = [command.words[0] for command in COMMANDS]
    assert len(COMMANDS) >= 20
    order = ["outcomebox-probe", "outcomebox-select", "outcomebox-train", "outcomebox-eval"]
    assert [programs.index(name) for name in order[:2]] == sorted(
        programs.index(name) for name in order[:2]
    )
    assert {"pip", *order} <= set(programs)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda each: f"line {each.line}")
def test_every_command_of_the_page(
    command: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    program, *arguments = command.words
    RUNNERS[Path(program).name](arguments)


def ours(arguments: list[str]) -> None:
    """A command of this package: run dry, with the pool, model and checkpoint that are due."""
    dry = {
        "checkpoint": ["merge"],
        "ray-start": ["head", "worker"],
        "serve": ["models/base", "models/trained"],
    }
    first = arguments[0]
    more: list[str] = []
    if first.startswith("-"):
        arguments = [each for each in arguments if each not in {"--check", "--dry-run"}]
        at = arguments.index("--") if "--" in arguments else len(arguments)
        more = ["--dry-run", "--verl", str(verl_files("0.9.1"))]
        arguments[at:at] = more
    elif first == "fetch-verl":
        assert arguments[1] in SUPPORTED
        arguments = ["fetch-verl", "--help"]
    elif first in dry and arguments[1] in dry[first]:
        arguments.append("--dry-run")
    if first == "checkpoint":
        trained(Path("runs/train"))
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.strip()


def trained(out: Path) -> None:
    """A run that has saved."""
    if not out.exists():
        make_checkpoint(out / "checkpoints", 90, 8)
        (out / "run.yaml").write_text(config_text(load_config(Path("run.yaml")).config), "utf-8")


def parsed(module: str, name: str) -> Callable[[list[str]], None]:
    """A command of another package: every flag and value as its own program reads it."""

    def check(arguments: list[str]) -> None:
        command: Any = typer.main.get_command(getattr(import_module(module), name))
        with command.make_context("program", list(arguments)) as context:
            if context.invoked_subcommand is None and not hasattr(command, "commands"):
                assert context.params
                return
            sub, rest = arguments[0], arguments[1:]
            inner = command.get_command(context, sub)
            assert inner is not None, f"there is no command {sub}"
            with inner.make_context(sub, rest, parent=context) as inner_context:
                assert inner_context.params

    return check


def pip(arguments: list[str]) -> None:
    """What is installed is what our wheels are called, with extras that they have."""
    assert arguments[0] == "install"
    for each in arguments[1:]:
        match = re.fullmatch(r"outcomebox-(\w+)(?:\[([\w,]+)\])?", each)
        assert match is not None, each
        file = PACKAGE.parent / match[1] / "pyproject.toml"
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        assert project["name"] == f"outcomebox-{match[1]}"
        extras = set(match[2].split(",")) if match[2] else set()
        assert extras <= set(project.get("optional-dependencies", {}))


def python(arguments: list[str]) -> None:
    """It makes environments, and runs a tool of the repository."""
    assert arguments[0] == "-m"
    assert arguments[1] in {"venv", "tools.nodes"}


def pants(arguments: list[str]) -> None:
    """It makes the wheels that the tool takes."""
    assert arguments == ["package", "packages::"]


RUNNERS: dict[str, Callable[[list[str]], None]] = {
    "outcomebox-train": ours,
    "outcomebox-train.pex": ours,
    "outcomebox-probe": parsed("outcomebox.selection.probe_command", "app"),
    "outcomebox-select": parsed("outcomebox.selection.select_command", "app"),
    "outcomebox-eval": parsed("outcomebox.eval.commands.app", "app"),
    "pants": pants,
    "pip": pip,
    "python3.11": python,
}


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("verl", SUPPORTED)
def test_every_settings_file_of_the_page_on_both_releases(
    name: str, verl: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    flags = ["--config", name, "--dry-run", "--skip", "lengths", "--verl", str(verl_files(verl))]
    result = CliRunner().invoke(app, flags)
    assert result.exit_code == 0, result.output
    assert yaml.safe_load(FILES[name])["preset"] in result.stdout


def test_what_was_not_run_is_said() -> None:
    text = page()
    closing = text[text.index("## What has been run") :]
    assert "No step of this page that needs a GPU has been run for it" in closing
    rows = re.findall(r"^\| (\d[^|]*)\|", closing, re.MULTILINE)
    told = {number for row in rows for number in re.findall(r"\b\d\b", row)}
    assert told == set("123456789")


def test_the_readme_has_every_field() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    told = text[text.index("## Settings") :]
    for name, field in RunConfig.model_fields.items():
        assert f"`{name}`" in told, name
        kind: Any = field.annotation
        for inner in getattr(kind, "model_fields", {}):
            section = re.search(rf"^### `{name}`\n(.*?)(?=^##|\Z)", told, re.MULTILINE | re.DOTALL)
            assert section is not None, name
            assert f"`{inner}`" in section[1], f"{name}.{inner}"
