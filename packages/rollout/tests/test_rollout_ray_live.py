"""Runs on a real Ray cluster: the rows of a local run, whatever is lost on the way."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from outcomebox.reward.rows import read_rows
from outcomebox.rollout.digest import digest
from ray_runs import Nodes, two_nodes, wait_for

pytestmark = pytest.mark.skipif("OUTCOMEBOX_HEAVY" not in os.environ, reason="installs Ray")

RUN = ("--tasks", "travel", "--attempts", "6", "--concurrency", "6", "--seed", "7")
ROUNDS = int(os.environ.get("OUTCOMEBOX_RAY_ROUNDS", "2"))
"""Times that something is killed; each at a moment that the seed chooses."""
SEED = int(os.environ.get("OUTCOMEBOX_RAY_SEED", "1"))


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """The cluster."""
    with two_nodes() as found:
        yield found


@pytest.fixture(scope="module")
def local(nodes: Nodes, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """Digest and number of the rows of the same run on one machine."""
    out = tmp_path_factory.mktemp("local") / "run"
    nodes.run(out, *RUN)
    return of(out), rows(out)


def of(out: Path) -> str:
    """The digest of a run."""
    return digest(read_rows(out / "episodes.jsonl"))


def rows(out: Path) -> int:
    """Rows that are there so far."""
    file = out / "episodes.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def test_a_cluster_gives_the_rows_of_one_machine_and_no_key_is_to_be_read(
    nodes: Nodes, local: tuple[str, int], tmp_path: Path
) -> None:
    secret = "planted-7f3a9c-secret"
    out = tmp_path / "run"
    process = nodes.start(
        out, *RUN, *nodes.on_ray(env="ENDPOINT_KEY"), env={"ENDPOINT_KEY": secret}
    )
    wait_for(lambda: rows(out) >= 1, "the first row")
    assert not [name for _, name in nodes.processes() if secret in name]
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    assert of(out) == local[0]
    # Ray's own words are not for who runs a benchmark.
    assert "raylet" not in said
    assert "WARNING" not in said
    nodes.nothing_left()
    written = [*nodes.folder.rglob("*"), *out.rglob("*")]
    files = [path for path in written if path.is_file() and not path.is_symlink()]
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
    assert secret not in said
    assert any("worker" in path.name for path in files)


def test_lost_workers_and_a_lost_node_change_nothing(
    nodes: Nodes, local: tuple[str, int], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    process = nodes.start(out, *RUN, *nodes.on_ray(workers=2, patience_s=10))
    total = local[1]
    wait_for(lambda: rows(out) >= total // 6, "the first rows")
    nodes.kill(nodes.workers()[0])
    wait_for(lambda: rows(out) >= total // 3, "more rows")
    wait_for(lambda: len(nodes.workers()) == 2, "another worker in its place")
    # One that does not answer is as good as lost.
    nodes.kill(nodes.workers()[0], signal.SIGSTOP)
    wait_for(lambda: rows(out) >= total // 2, "half of the rows")
    nodes.order("lose")
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    assert "was lost" in said
    assert of(out) == local[0]
    nodes.nothing_left()
    nodes.order("add")


def test_killed_runs_leave_nothing_and_are_resumed_to_the_same_rows(
    nodes: Nodes, local: tuple[str, int], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    moments = random.Random(SEED)
    resume: tuple[str, ...] = ()
    for _ in range(ROUNDS):
        process = nodes.start(out, *RUN, *nodes.on_ray(), *resume)
        enough = min(local[1], rows(out) + moments.randrange(1, local[1] // ROUNDS))
        wait_for(lambda least=enough: rows(out) >= least, "some more rows")  # type: ignore[misc]
        if moments.random() < 0.5:
            for pid in nodes.workers():
                nodes.kill(pid)
        process.kill()
        process.communicate(timeout=60)
        nodes.nothing_left()
        resume = ("--resume",)
    nodes.run(out, *RUN, *nodes.on_ray(), "--resume")
    assert of(out) == local[0]
    nodes.nothing_left()


def test_an_interrupted_run_ends_in_order(nodes: Nodes, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = nodes.start(out, *RUN, *nodes.on_ray())
    wait_for(lambda: rows(out) >= 1, "the first row")
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, said
    nodes.nothing_left()


def test_what_a_node_cannot_do_is_told_once(nodes: Nodes, tmp_path: Path) -> None:
    out = tmp_path / "run"
    asked = nodes.on_ray(cpus=64, wait_s=1)
    said = nodes.run(out, *RUN, *asked, status=2)
    assert "each asks for 64 CPUs, and of the cluster's 2 are" in said
    assert not out.exists()


def test_without_a_cluster_the_commands_to_start_one_are_told(nodes: Nodes, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ("--executor", "ray", "--executor-option", f"address=127.0.0.1:{port}")
    said = nodes.run(tmp_path / "run", *RUN, *arguments, status=2)
    assert "nothing answers" in said
    assert "ray start --head" in said
    assert "Traceback" not in said


def test_nothing_of_ours_loads_ray_unasked(nodes: Nodes) -> None:
    code = (
        "import sys, outcomebox.rollout, outcomebox.rollout.commands.app, "
        "outcomebox.rollout.executors.ray; sys.exit('ray' in sys.modules)"
    )
    subprocess.run([str(nodes.python), "-c", code], env=nodes.env, check=True)
