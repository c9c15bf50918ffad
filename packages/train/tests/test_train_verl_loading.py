"""What is done in each process of verl's: an unknown verl is refused, and nothing imports torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from outcomebox.sandbox import InputError
from outcomebox.train import compat, groups
from outcomebox.train.verl import loading


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was registered, in order."""
    done: list[Any] = []

    def apply(version: str) -> list[Any]:
        done.append(("patches", version))
        return [SimpleNamespace(name="one"), SimpleNamespace(name="two")]

    monkeypatch.setattr(compat, "apply", apply)
    monkeypatch.setattr(groups, "register", lambda: done.append("groups"))
    cpu = SimpleNamespace(register=lambda: done.append("cpu"))
    parsers = SimpleNamespace()
    modules = {
        "outcomebox.train.cpu.load": cpu,
        "outcomebox.interpret.plugs.for_verl": parsers,
    }

    def imported(name: str) -> Any:
        done.append(name)
        return modules[name]

    monkeypatch.setattr(loading, "import_module", imported)
    return done


def put_verl(folder: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verl of some version, before all others."""
    (folder / "verl" / "version").mkdir(parents=True)
    (folder / "verl" / "__init__.py").touch()
    (folder / "verl" / "version" / "version").write_text(f"{version}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "verl", raising=False)


@pytest.mark.parametrize("version", ["0.9.0", "0.9.1"])
@pytest.mark.parametrize("platform", ["cpu", "", None])
def test_a_supported_verl(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    done: list[Any],
    version: str,
    platform: str | None,
) -> None:
    put_verl(tmp_path, version, monkeypatch)
    loaded = loading.load({} if platform is None else {"VERL_PLATFORM": platform})
    assert loaded == loading.Loaded(version, ("one", "two"), platform or None)
    parsers = "outcomebox.interpret.plugs.for_verl"
    cpu = ["outcomebox.train.cpu.load", "cpu"] if platform else []
    assert done == [("patches", version), "groups", parsers, *cpu]


@pytest.mark.parametrize("version", ["0.8.0", "0.9.2", "0.9.1.dev0", "1.0.0"])
def test_any_other_verl_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: list[Any], version: str
) -> None:
    put_verl(tmp_path, version, monkeypatch)
    with pytest.raises(InputError, match=rf"install 0\.9\.0 or 0\.9\.1 \(found '{version}'\)"):
        loading.load({})
    assert done == []


def test_no_verl_is_refused(monkeypatch: pytest.MonkeyPatch, done: list[Any]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match="verl: is not installed"):
        loading.load({})
    assert done == []


def test_the_adapters_of_every_process_need_no_torch() -> None:
    modules = (
        "budget", "chat", "figures", "loading", "numbering", "opening", "parity", "policy",
        "pool_rows", "process", "reward", "sampler", "sequences", "turnlimit",
    )  # fmt: skip
    heavy = ("torch", "verl", "ray", "transformers", "vllm", "tensordict", "transfer_queue")
    program = (
        "import sys\n"
        f"for name in {modules}: __import__('outcomebox.train.verl.' + name)\n"
        f"print([name for name in {heavy} if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
