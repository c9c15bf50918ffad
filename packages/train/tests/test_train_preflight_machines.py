"""The machines of a run: what is asked of them, and which lack stops it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from outcomebox.sandbox import InputError
from outcomebox.train.launch.plan import Plan
from outcomebox.train.preflight.cluster import check_cluster
from outcomebox.train.preflight.nodes import count_gpus, main, marked, node_facts
from train_files import make_model, make_pool
from train_plans import context_of, make_plan_without_verl


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and a pool that the tests share."""
    folder = tmp_path_factory.mktemp("preflight")
    make_model(folder / "model")
    make_pool(folder / "pool", count=8, test=2)
    return folder


def plan(
    place: Path, tmp_path: Path, change: Mapping[str, Any] | None = None, preset: str = "1xgpu"
) -> Plan:
    """A plan over the shared model and pool."""
    return make_plan_without_verl(
        tmp_path, preset, change, model=place / "model", pool=place / "pool"
    )


def node(**facts: Any) -> dict[str, Any]:
    """What a machine tells."""
    return {
        "host": "n1",
        "python": "3.11.0",
        "verl": "0.9.1",
        "versions": {"ray": "2.60.0", "torch": "2.13.0"},
        "gpus": 8,
        "unset": [],
        "folder": "same",
        **facts,
    }


NODES: list[tuple[list[dict[str, Any]], str]] = [
    (
        [node(), node(host="n2")],
        r"cluster\.gpus: x 3 nodes are not there \(GPUs seen: n1 8, n2 8\)",
    ),
    ([node(), node(), node(gpus=4)], r"cluster\.gpus: x 3 nodes are not there"),
    ([node(), node(), node(verl="0.9.0", host="n3")], r"python: has verl 0\.9\.0 on n3"),
    ([node(verl=None)], r"python: has verl \(none\) on n1"),
    ([node(versions={"ray": None, "torch": None})], "python: has no ray and torch on n1"),
    ([node(unset=["WANDB_API_KEY"])], "secrets: WANDB_API_KEY is not set on n1"),
    ([node(folder="missing")], "out: is not there on n1; put it on storage"),
    ([node(folder="other")], "out: is another folder on n1"),
    ([node(folder="closed")], "out: cannot be written on n1"),
]


def answering(folder: Path, facts: list[dict[str, Any]], status: int = 0) -> str:
    """A program that stands in for the training environment's Python."""
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    python = folder / "python"
    python.write_text(f"#!/bin/sh\ncat {folder}/facts.json\nexit {status}\n", encoding="utf-8")
    python.chmod(0o755)
    return str(python)


@pytest.mark.parametrize(("facts", "told"), NODES)
def test_a_machine_that_lacks_something(
    place: Path, tmp_path: Path, facts: list[dict[str, Any]], told: str
) -> None:
    change = {"python": answering(tmp_path, facts)}
    found = plan(place, tmp_path, change, "q38-27b-24xh100")
    with pytest.raises(InputError, match=told):
        check_cluster(context_of(found))
    assert not found.out.parent.exists(), "a check leaves nothing"


def test_machines_that_have_all(place: Path, tmp_path: Path) -> None:
    change = {"python": answering(tmp_path, [node(), node(host="n2"), node(host="n3")])}
    told = check_cluster(context_of(plan(place, tmp_path, change, "q38-27b-24xh100")))
    assert told == "3 machines (n1, n2, n3) with verl 0.9.1 and one folder"


def test_machines_that_do_not_answer(place: Path, tmp_path: Path) -> None:
    for python in (answering(tmp_path, [], status=1), "/no/python"):
        with pytest.raises(InputError, match=r"cluster\.ray_address: cannot be asked .*ray-start"):
            check_cluster(context_of(plan(place, tmp_path, {"python": python}, "q38-27b-24xh100")))
        with pytest.raises(InputError, match=r"python: cannot be asked .*and verl installed"):
            check_cluster(context_of(plan(place, tmp_path, {"python": python})))


def test_what_this_machine_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SET", "1")
    monkeypatch.delenv("UNSET", raising=False)
    asked = {"address": None, "variables": ["SET", "UNSET"], "folder": str(tmp_path), "mark": "m"}
    assert main([json.dumps(asked)]) == 0
    (facts,) = json.loads(capsys.readouterr().out)
    assert facts["unset"] == ["UNSET"]
    assert facts["folder"] == "other"
    assert node_facts([], str(tmp_path / "no"), "m")["folder"] == "missing"
    assert node_facts([], str(tmp_path), None)["folder"] == "unmarked"
    with marked(tmp_path / "a" / "b", "m"):
        assert node_facts([], str(tmp_path / "a" / "b"), "m")["folder"] == "same"
        assert node_facts([], str(tmp_path / "a" / "b"), "n")["folder"] == "other"
    assert not (tmp_path / "a").exists()
    with marked(tmp_path, "m"):
        pass
    assert tmp_path.is_dir()


def test_gpus_are_counted_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,3")
    assert count_gpus() == 2
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert count_gpus() == 0
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert count_gpus() == 0
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'GPU 0: H100'\necho 'GPU 1: H100'\n", encoding="utf-8")
    program.chmod(0o755)
    assert count_gpus() == 2
