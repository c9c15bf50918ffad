"""Checkpoints: what lies there, whether it is whole, and the merge that makes a model of it."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from outcomebox.sandbox import InputError
from outcomebox.train.checkpoints.layout import (
    KINDS,
    TRACKER,
    find_checkpoint,
    find_latest,
    read_checkpoint,
)
from outcomebox.train.checkpoints.merge import add_template, check_merged
from outcomebox.train.checkpoints.verify import check_whole, verify
from outcomebox.train.commands.app import app
from outcomebox.train.config.loading import config_text, load_config
from train_files import make_run
from train_saved import make_checkpoint, shard


def run(*arguments: str | Path) -> Result:
    """A command in this process."""
    return CliRunner().invoke(app, ["checkpoint", *map(str, arguments)])


# --- what lies there


def test_the_newest_is_the_one_that_the_tracker_names(tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"
    assert find_latest(checkpoints) is None
    first = make_checkpoint(checkpoints, 5)
    second = make_checkpoint(checkpoints, 10)
    assert find_latest(checkpoints) == second
    for given_ in (tmp_path, checkpoints, second, second / "actor"):
        assert find_checkpoint(given_) == second
    assert find_checkpoint(first) == first
    found = read_checkpoint(second)
    assert (found.step, found.world_size, len(found.shards)) == (10, 4, 12)


@pytest.mark.parametrize("text", ["7", "five", ""])
def test_a_tracker_that_names_nothing_is_no_new_beginning(tmp_path: Path, text: str) -> None:
    make_checkpoint(tmp_path, 5)
    (tmp_path / TRACKER).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="training would begin anew"):
        find_latest(tmp_path)
    (tmp_path / TRACKER).unlink()
    with pytest.raises(InputError, match="is missing beside global_step_5"):
        find_latest(tmp_path)


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no checkpoint"):
        find_checkpoint(tmp_path)
    (tmp_path / "global_step_1").mkdir()
    with pytest.raises(InputError, match="is no checkpoint of verl"):
        read_checkpoint(tmp_path / "global_step_1")
    folder = make_checkpoint(tmp_path, 2)
    for text, told in (
        ("{", "is not JSON"),
        ("{}", "has no number of ranks"),
        ("3", "is not JSON"),
    ):
        (folder / "actor" / "fsdp_config.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=told):
            read_checkpoint(folder)
    (folder / "actor" / "fsdp_config.json").unlink()
    with pytest.raises(InputError, match="the save was cut off"):
        read_checkpoint(folder)


# --- whether it is whole


def test_a_whole_checkpoint(tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path)
    found = verify(read_checkpoint(folder), digests=True)
    assert (found.faults, found.odd) == ((), ())
    assert len(found.digests) == 12
    assert found.bytes == sum(path.stat().st_size for path in (folder / "actor").glob("*.pt"))
    check_whole(read_checkpoint(folder))


@given(
    world=st.integers(1, 4),
    kind=st.sampled_from(KINDS),
    damage=st.sampled_from(["gone", "cut", "empty", "other", "flipped", "renamed"]),
    data=st.data(),
)
@settings(deadline=None, max_examples=60)
def test_any_one_damage_is_found(
    tmp_path_factory: pytest.TempPathFactory,
    world: int,
    kind: str,
    damage: str,
    data: st.DataObject,
) -> None:
    folder = make_checkpoint(tmp_path_factory.mktemp("damage"), world=world)
    rank = data.draw(st.integers(0, world - 1))
    path = folder / "actor" / f"{kind}_world_size_{world}_rank_{rank}.pt"
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(content[: data.draw(st.integers(1, len(content) - 1))])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "other":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("something", b"else")
    elif damage == "flipped":
        at = content.index(b"weights")
        path.write_bytes(content[:at] + b"W" + content[at + 1 :])
    else:
        path.rename(path.with_name(f"{kind}_world_size_{world + 1}_rank_{rank}.pt"))
    found = verify(read_checkpoint(folder))
    assert any(fault.path == path for fault in found.faults)
    assert all("; " in fault.told for fault in found.faults)
    if damage != "flipped":  # what a quick look finds
        with pytest.raises(InputError):
            check_whole(read_checkpoint(folder))


def test_what_is_odd_breaks_nothing(tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path)
    (folder / "data.pt").unlink()
    shard(folder / "actor" / "model_world_size_4_rank_3.pt", b"small")
    shard(folder / "actor" / "model_world_size_8_rank_7.pt")
    found = verify(read_checkpoint(folder))
    assert found.faults == ()
    told = {fault.path.name: fault.told for fault in found.odd}
    assert "which tasks were drawn" in told["data.pt"]
    assert "and the others about" in told["model_world_size_4_rank_3.pt"]
    assert "is of another save (8 ranks)" in told["model_world_size_8_rank_7.pt"]


def test_the_command_tells_and_compares(tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path / "checkpoints")
    plain = run("verify", tmp_path)
    assert plain.exit_code == 0
    assert plain.stdout.splitlines()[0].startswith("step 5: 12 shards of 4 ranks")
    assert plain.stdout.splitlines()[-1] == "whole"
    before = tmp_path / "before.json"
    before.write_text(run("verify", tmp_path, "--digests", "--json").stdout, encoding="utf-8")
    assert json.loads(before.read_text(encoding="utf-8"))["whole"] is True
    assert run("verify", tmp_path, "--against", before).exit_code == 0
    changed = folder / "actor" / "optim_world_size_4_rank_2.pt"
    shard(changed, b"another")
    compared = run("verify", tmp_path, "--against", before)
    assert compared.exit_code == 1
    assert f"fault: {changed}: is not the shard that was written down" in compared.stdout
    changed.unlink()
    gone = run("verify", tmp_path, "--quick")
    assert gone.exit_code == 1
    assert "is missing: the optim of rank 2" in gone.stdout
    nothing = run("verify", tmp_path / "none")
    assert nothing.exit_code == 2
    assert "there is no checkpoint" in nothing.stderr
    other = run("verify", tmp_path, "--against", folder / "data.pt")
    assert other.exit_code == 2
    assert "holds no digests" in other.stderr


# --- merging


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A run's folder with a checkpoint, trained with a template of its own."""
    (tmp_path / "own.jinja").write_text("own", encoding="utf-8")
    file = make_run(tmp_path, "1xgpu", {"model.chat_template": "own.jinja"})
    config = load_config(file).config
    out = Path(config.out)
    make_checkpoint(out / "checkpoints", world=1)
    (out / "run.yaml").write_text(config_text(config), encoding="utf-8")
    return out


def test_a_dry_merge_prints_verls_merger(trained: Path, tmp_path: Path) -> None:
    result = run("merge", trained, "--to", tmp_path / "merged", "--dry-run")
    assert result.exit_code == 0
    actor = trained / "checkpoints" / "global_step_5" / "actor"
    first, second = result.stdout.splitlines()
    assert first == (
        f"{sys.executable} -m verl.model_merger merge --backend fsdp --local_dir {actor} "
        f"--target_dir {tmp_path / 'merged'}"
    )
    assert second.startswith(f"cp {tmp_path / 'own.jinja'} ")
    assert not (tmp_path / "merged").exists()


def fake_python(folder: Path, body: str) -> Path:
    """A program that stands in for the training environment's Python."""
    python = folder / "python"
    python.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    python.chmod(0o755)
    return python


def test_a_merge_leaves_a_model_with_its_template(trained: Path, tmp_path: Path) -> None:
    target = tmp_path / "merged"
    made = "touch $9/model.safetensors $9/config.json $9/tokenizer_config.json"
    python = fake_python(tmp_path, f'set -- "$@" ; mkdir -p $9\n{made}')
    result = run("merge", trained, "--to", target, "--python", python)
    assert result.exit_code == 0, result.output
    assert (target / "chat_template.jinja").read_text(encoding="utf-8") == "own"
    assert "Next: " in result.stderr
    again = run("merge", trained, "--to", target, "--python", python)
    assert again.exit_code == 2
    assert "holds something already" in again.stderr


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("exit 3", "verl's merger ended with status 3"),
        ("exit 0", "the merge left no weights and no config.json"),
    ],
)
def test_a_merge_that_fails_says_so(trained: Path, tmp_path: Path, body: str, told: str) -> None:
    result = run("merge", trained, "--to", tmp_path / "m", "--python", fake_python(tmp_path, body))
    assert result.exit_code == 2
    assert told in result.stderr
    nothing = run("merge", trained, "--to", tmp_path / "m", "--python", tmp_path / "no")
    assert nothing.exit_code == 2
    assert "--python: cannot be started" in nothing.stderr


def test_a_broken_checkpoint_is_not_merged(trained: Path, tmp_path: Path) -> None:
    actor = trained / "checkpoints" / "global_step_5" / "actor"
    (actor / "model_world_size_1_rank_0.pt").write_bytes(b"PK")
    result = run("merge", trained, "--to", tmp_path / "m", "--dry-run")
    assert result.exit_code == 2
    assert "is cut off or damaged" in result.stderr


def test_a_template_that_is_gone(tmp_path: Path) -> None:
    add_template(tmp_path, None)
    with pytest.raises(InputError, match="copy it by hand"):
        add_template(tmp_path, tmp_path / "gone.jinja")
    with pytest.raises(InputError, match="the merge left no weights"):
        check_merged(tmp_path)
