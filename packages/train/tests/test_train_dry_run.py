"""Dry runs against the real schema of both releases of verl: what passes, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from outcomebox.sandbox import InputError
from outcomebox.train.commands.app import app
from outcomebox.train.config.presets import PRESETS
from outcomebox.train.config.verlsource import find_verl
from outcomebox.train.config.versions import SUPPORTED
from outcomebox.train.launch.plan import make_plan
from train_files import make_model, make_pool, make_run
from train_verl_files import verl_files


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and a pool that all tests share."""
    folder = tmp_path_factory.mktemp("dry")
    make_model(folder / "model")
    make_pool(folder / "pool")
    return folder


def settings(
    place: Path, tmp_path: Path, preset: str, change: dict[str, Any] | None = None
) -> Path:
    """A settings file over the shared model and pool."""
    return make_run(tmp_path, preset, change, model=place / "model", pool=place / "pool")


def dry(file: Path, verl: str, *more: str, json_: bool = False) -> Result:
    """A dry run in this process."""
    flags = ["--config", str(file), "--dry-run", "--verl", str(verl_files(verl))]
    return CliRunner().invoke(app, [*flags, *(["--json"] if json_ else []), *more])


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder with what it holds."""
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


# --- presets


@pytest.mark.parametrize("verl", SUPPORTED)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_runs_dry_in_seconds(
    preset: str, verl: str, place: Path, tmp_path: Path
) -> None:
    file = settings(place, tmp_path, preset)
    before, began = snapshot(tmp_path), time.monotonic()
    result = dry(file, verl)
    took = time.monotonic() - began
    assert result.exit_code == 0, result.output
    assert snapshot(tmp_path) == before
    assert f"verl {verl} (--verl), preset {preset}" in result.stdout
    assert "Nothing was started or written." in result.stdout
    assert "-m verl.trainer.main_ppo" in result.stdout
    assert not re.search(r"^  \w+ +(failed|not reached|left out)", result.stdout, re.MULTILINE)
    assert len(re.findall(r"^  \w+ +passed: ", result.stdout, re.MULTILINE)) == 10
    assert took < 60


@pytest.mark.parametrize("verl", SUPPORTED)
def test_what_is_printed_is_what_would_run(verl: str, place: Path, tmp_path: Path) -> None:
    file = settings(place, tmp_path, "q38-27b-24xh100")
    more = ("--", "actor_rollout_ref.actor.entropy_coeff=0.5", "+data.mine='a b'")
    told = json.loads(dry(file, verl, *more, json_=True).stdout)
    plan = make_plan(file, more[1:], verl_files(verl))
    assert told["command"] == plan.command
    assert told["command"][1:3] == ["-m", "verl.trainer.main_ppo"]
    assert told["command"][3:] == told["overrides"]
    assert told["resolved"]["actor_rollout_ref"]["actor"]["entropy_coeff"] == 0.5
    assert told["resolved"]["data"]["mine"] == "a b"
    assert told["shape"] == {
        "ranks": 24,
        "shares": 6,
        "replica": 4,
        "sequence": 4,
        "conversations": 144,
        "update": 144,
        "context": 133_120,
    }
    rollout = told["resolved"]["actor_rollout_ref"]["rollout"]
    assert (rollout["temperature"], rollout["top_k"], rollout["top_p"]) == (1.0, 20, 0.95)
    assert rollout["max_model_len"] == rollout["prompt_length"] + rollout["response_length"]
    assert told["resolved"]["trainer"]["v1"]["trainer_mode"] == "outcomebox"
    assert told["worker"]["verl_version"] == verl
    assert told["environment"]["VERL_USE_EXTERNAL_MODULES"] == "outcomebox.train.verl.load"
    text = dry(file, verl, *more).stdout
    for each in plan.own:
        assert f"\n  {each.key} = " in text
    assert "data.mine = 'a b'  [command line, after --]" in text
    assert plan.shell_text() in text


def test_nothing_of_torch_or_verl_is_imported(place: Path, tmp_path: Path) -> None:
    file = settings(place, tmp_path, "8xh100")
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from outcomebox.train.commands.app import app\n"
        f"found = CliRunner().invoke(app, ['--config', {str(file)!r}, '--dry-run', '--verl', "
        f"{str(verl_files('0.9.1'))!r}])\n"
        "assert found.exit_code == 0, found.output\n"
        "names = {name.split('.')[0] for name in sys.modules}\n"
        "print(sorted(names & {'torch', 'verl', 'ray', 'vllm', 'transformers'}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
    )
    assert done.stdout.strip() == "[]"


def test_another_verl_is_refused_by_name(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "verl" / "version").mkdir(parents=True)
    (other / "verl" / "version" / "version").write_text("0.10.0\n", encoding="utf-8")
    (other / "verl" / "trainer" / "config").mkdir(parents=True)
    (other / "verl" / "trainer" / "config" / "ppo_trainer.yaml").touch()
    file = settings(place, tmp_path, "1xgpu")
    result = CliRunner().invoke(app, ["--config", str(file), "--dry-run", "--verl", str(other)])
    assert result.exit_code == 2
    assert "install 0.9.0 or 0.9.1 (found '0.10.0')" in result.stderr


def test_verl_is_found_where_the_run_would_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    origin = verl_files("0.9.0") / "verl" / "__init__.py"
    python.write_text(f"#!/bin/sh\necho {origin}\n", encoding="utf-8")
    python.chmod(0o755)
    found = find_verl(None, str(python))
    assert (found.version, found.found) == ("0.9.0", str(python))
    cache = tmp_path / "cache" / "outcomebox-train" / "verl-0.9.1"
    cache.parent.mkdir(parents=True)
    cache.symlink_to(verl_files("0.9.1"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("outcomebox.train.config.verlsource.find_spec", lambda _: None)
    assert find_verl(None, str(tmp_path / "no-python")).package == cache / "verl"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    with pytest.raises(InputError, match=r"run: outcomebox-train fetch-verl 0\.9\.1"):
        find_verl(None, None)


# --- what is wrong

FIELDS: list[tuple[str, str, dict[str, Any], str, str]] = [
    # name, preset, change, field, mend
    ("misspelt section", "1xgpu", {"grups.size": 4}, "grups", "write groups"),
    ("misspelt field", "1xgpu", {"groups.siz": 4}, "groups.siz", "write size"),
    ("no out", "1xgpu", {"out": ...}, "out", "add it"),
    ("rate as text", "1xgpu", {"optim.lr": "1e-6"}, "optim.lr", "write 1e-06"),
    ("unknown preset", "9xh100", {}, "preset", "did you mean 8xh100?"),
    ("nodes without Ray", "8xh100", {"cluster.nodes": 2}, "cluster.ray_address", "write auto"),
    ("engine on GPU", "1xgpu", {"rollout.backend": "transformers"}, "rollout.backend",
     "write vllm"),
    ("uneven updates", "1xgpu", {"optim.updates_per_step": 3}, "optim.updates_per_step",
     "write one"),
    ("a secret", "1xgpu", {"env": {"HF_TOKEN": "hunter2"}}, "env", "list its name under secrets"),
    ("no benchmark said", "1xgpu", {"pool.no_benchmark": False}, "pool", "say no_benchmark: true"),
    ("sequence", "8xh100", {"parallel.sequence": 3}, "parallel.sequence",
     "write one of 1, 2, 4, 8"),
    ("replicas", "8xh100", {"parallel.tensor": 3}, "parallel.tensor", "write one of 1, 2, 4, 8"),
    ("groups by ranks", "q38-27b-24xh100", {"groups.per_step": 17}, "groups.per_step",
     "multiple of 3"),
    ("tokens", "8xh100", {"parallel.tokens_per_gpu": 9000}, "parallel.tokens_per_gpu",
     "at least 32768"),
    ("no such pool", "1xgpu", {"pool.path": "nowhere"}, "pool.path", "outcomebox-select --out"),
    ("no such model", "1xgpu", {"model.path": "nowhere"}, "model.path", "download it first"),
    ("no such profile", "1xgpu", {"model.profile": "vllm-9"}, "model.profile", "use one of"),
    ("no such format", "1xgpu", {"model.format": "qwen9"}, "model.format", "use one of"),
    ("no such template", "1xgpu", {"model.chat_template": "t.jinja"}, "model.chat_template",
     "name one"),
    ("too long", "1xgpu", {"lengths.response": 300_000, "parallel.tokens_per_gpu": 400_000},
     "lengths.response", "lower prompt and response by"),
    ("prompts too long", "1xgpu", {"lengths.prompt": 2000}, "lengths.prompt",
     "write at least that"),
    ("answers too long", "1xgpu", {"lengths.response": 500, "lengths.turn": 400},
     "lengths.response", "golden calls alone"),
    ("heads", "8xh100", {"cluster.gpus": 6, "parallel.sequence": 3, "groups.per_step": 18},
     "parallel.sequence", "attention heads"),
    ("few tasks", "1xgpu", {"groups.per_step": 64}, "groups.per_step",
     "lower it, or select a larger"),
    ("nothing to validate", "1xgpu", {"schedule.validate_every": 5, "pool.path": "one-sided"},
     "schedule.validate_every", "write 0"),
    ("out is a file", "1xgpu", {"out": "run.yaml"}, "out", "storage that all nodes share"),
    ("unknown tasks", "1xgpu", {"episodes.tasks": ["travell"]}, "travell", ""),
    ("user's option", "1xgpu", {"episodes.user_options": {"temprature": "1"}},
     "episodes.user_options", "its options"),
    ("judge", "1xgpu", {"episodes.judge": "models"}, "episodes.judge", "write one of model"),
    ("a key in an address", "1xgpu",
     {"episodes.user_options": {"base_url": "http://u:hunter2@h/v1", "model": "m"}},
     "episodes.user_options.base_url", "key_variable"),
    ("tracker", "1xgpu", {"trackers.to": ["tensorbord"]}, "trackers.to",
     "did you mean tensorboard?"),
    ("the benchmark's task", "1xgpu", {"pool.no_benchmark": False, "pool.benchmark": ["travel"]},
     "train.yaml", "exclude.lists"),
]  # fmt: skip

AFTER: list[tuple[str, str, str, str]] = [
    # name, override, field, mend
    ("misspelt key", "actor_rollout_ref.actor.entropi_coeff=0", "entropi_coeff", "entropy_coeff?"),
    ("strategy", "actor_rollout_ref.ref.strategy=nope", "ref.strategy", "write one of fsdp, fsdp2"),
    ("strategy of ours", "actor_rollout_ref.actor.strategy=nope", "actor.strategy",
     "set parallel.strategy in the settings file instead"),
    ("estimator", "algorithm.adv_estimator=foo", "algorithm.adv_estimator", "write one of gae"),
    ("a critic's", "algorithm.adv_estimator=gae", "algorithm.adv_estimator", "write grpo, rloo"),
    ("greedy", "algorithm.adv_estimator=remax", "algorithm.adv_estimator", "write grpo"),
    ("mode", "trainer.v1.trainer_mode=xx", "trainer.v1.trainer_mode", "leave it out"),
    ("rollout", "actor_rollout_ref.rollout.name=nosuch", "rollout.name", "set rollout.backend"),
    ("loss", "actor_rollout_ref.actor.policy_loss.loss_mode=gspoo", "loss_mode",
     "did you mean gspo?"),
    ("loss of ours", "actor_rollout_ref.actor.loss_agg_mode=mean", "loss_agg_mode",
     "set loss.aggregation"),
    ("KL", "actor_rollout_ref.actor.kl_loss_type=k9", "kl_loss_type", "write one of kl, k1"),
    ("precision", "actor_rollout_ref.actor.fsdp_config.dtype=bf61", "dtype", "did you mean bf16?"),
    ("optimiser", "actor_rollout_ref.actor.optim.optimizer=AdamV", "optimizer",
     "did you mean Adam"),
    ("kind", "actor_rollout_ref.actor.entropy_coeff=none", "entropy_coeff", "must be a number"),
    ("truth", "actor_rollout_ref.actor.shuffle=3", "actor.shuffle", "must be true or false"),
    ("no epochs", "actor_rollout_ref.actor.ppo_epochs=0", "ppo_epochs", "at least 1"),
    ("old reward", "custom_reward_function.path=x.py", "custom_reward_function.path",
     "write reward.custom_reward_function.path"),
    ("our reward", "reward.custom_reward_function.path=x.py", "reward.custom_reward_function.path",
     "leave it out"),
    ("our size", "actor_rollout_ref.rollout.n=4", "actor_rollout_ref.rollout.n", "set groups.size"),
    ("engine", "model_engine=megatron", "model_engine", "leave it out"),
    ("sweep", "actor_rollout_ref.actor.entropy_coeff=0,1", "entropy_coeff", "give one value"),
    ("sharding", "actor_rollout_ref.actor.fsdp_config.fsdp_size=3", "fsdp_size", "write -1"),
    ("dynamic", "actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=False",
     "log_prob_use_dynamic_bsz", "leave it out"),
    ("prefill", "actor_rollout_ref.rollout.enable_chunked_prefill=False", "rollout.batched_tokens",
     "leave enable_chunked_prefill on"),
    ("resume", "trainer.resume_mode=latest", "trainer.resume_mode", "write one of auto"),
    ("resume from", "trainer.resume_mode=resume_path", "trainer.resume_from_path", "global_step_N"),
    ("gradients", "actor_rollout_ref.actor.fsdp_config.use_no_sync_for_gradient_accumulation=True",
     "use_no_sync_for_gradient_accumulation", "leave it out"),
    ("DRO", "actor_rollout_ref.actor.policy_loss.loss_mode=dro", "dro_beta", "a number above 0"),
    ("interpolation", "actor_rollout_ref.actor.entropy_coeff=${no.where}", "verl",
     "mend the value"),
]  # fmt: skip


def check_refused(result: Result, field: str, mend: str) -> None:
    """One line that names field and mend, exit 2, no secret."""
    assert result.exit_code == 2, result.output
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, result.stderr
    assert field in errors[0]
    assert mend in errors[0]
    assert "hunter2" not in result.output
    assert not result.stdout


@pytest.mark.parametrize(("name", "preset", "change", "field", "mend"), FIELDS)
def test_a_wrong_setting_stops_with_one_line(
    name: str,
    preset: str,
    change: dict[str, Any],
    field: str,
    mend: str,
    place: Path,
    tmp_path: Path,
) -> None:
    if change.get("pool.path") == "one-sided":
        make_pool(tmp_path / "one-sided", test=0)
    file = settings(place, tmp_path, preset, change)
    before = snapshot(tmp_path)
    # To open every task takes the longest, and says nothing of the other settings.
    skip = () if field.startswith("lengths") else ("--skip", "lengths")
    result = dry(file, "0.9.1", *skip)
    assert snapshot(tmp_path) == before
    check_refused(result, field, mend)


@pytest.mark.parametrize(("name", "text", "field", "mend"), AFTER)
def test_a_wrong_override_stops_with_one_line(
    name: str, text: str, field: str, mend: str, place: Path, tmp_path: Path
) -> None:
    file = settings(place, tmp_path, "8xh100")
    before = snapshot(tmp_path)
    result = dry(file, SUPPORTED[len(name) % 2], "--", text)
    assert snapshot(tmp_path) == before
    check_refused(result, field, mend)


def test_checks_that_are_left_out_are_told(place: Path, tmp_path: Path) -> None:
    file = settings(place, tmp_path, "1xgpu", {"model.path": "elsewhere"})
    result = dry(file, "0.9.1", "--skip", "model", "--skip", "template", "--skip", "lengths")
    assert result.exit_code == 0, result.output
    assert len(re.findall(r"left out: by --skip", result.stdout)) == 3
    refused = CliRunner().invoke(app, ["--config", str(file), "--skip", "model"])
    check_refused(refused, "--skip", "is for --dry-run")
    check_refused(dry(file, "0.9.1", "--skip", "modell"), "--skip", "write one of folder")


def test_several_faults_are_told_together(place: Path, tmp_path: Path) -> None:
    change = {"model.profile": "vllm-9", "groups.per_step": 64, "out": "run.yaml"}
    result = dry(settings(place, tmp_path, "1xgpu", change), "0.9.1")
    assert result.exit_code == 2
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 3


def test_a_changed_task_and_a_renamed_copy_are_found(place: Path, tmp_path: Path) -> None:
    make_pool(tmp_path / "changed", change={"hash": "0" * 64})
    file = settings(place, tmp_path, "1xgpu", {"pool.path": "changed"})
    check_refused(dry(file, "0.9.1"), "hash", "it has changed since")
    uid = yaml.safe_load((place / "pool" / "train.yaml").read_text("utf-8"))["tasks"][0]["uid"]
    (tmp_path / "held.txt").write_text(f"# held out\n{uid}\n", encoding="utf-8")
    change = {"pool.no_benchmark": False, "pool.benchmark": ["held.txt"]}
    file = settings(place, tmp_path, "1xgpu", change)
    check_refused(dry(file, "0.9.1"), uid, "exclude.lists")


def test_a_verl_that_somebody_edited_is_refused(place: Path, tmp_path: Path) -> None:
    edited = tmp_path / "edited"
    shutil.copytree(
        verl_files("0.9.1") / "verl", edited / "verl", ignore=shutil.ignore_patterns("*.pyc")
    )
    file = edited / "verl" / "workers" / "engine" / "fsdp" / "transformer_impl.py"
    text = file.read_text(encoding="utf-8")
    assert "def prepare_model_inputs(self" in text
    file.write_text(text.replace("def prepare_model_inputs(self", "def prepare_model_inputs( self"))
    run = settings(place, tmp_path, "1xgpu")
    flags = ["--config", str(run), "--dry-run", "--skip", "lengths", "--verl", str(edited)]
    result = CliRunner().invoke(app, flags)
    check_refused(result, "transformer_impl", "verl")
