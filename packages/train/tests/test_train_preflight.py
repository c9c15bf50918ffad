"""What is looked at before a run starts, each check by what it lets through and what it stops."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import outcomebox.sandbox.domains as bundled
from outcomebox.rollout import RunSpec
from outcomebox.sandbox import SQLITE, InputError
from outcomebox.train.checkpoints.layout import TRACKER
from outcomebox.train.config.loading import config_text
from outcomebox.train.launch.plan import Plan
from outcomebox.train.launch.writing import write_run
from outcomebox.train.preflight.actors import check_actors, check_endpoints
from outcomebox.train.preflight.folder import check_folder
from outcomebox.train.preflight.lengths import check_lengths
from outcomebox.train.preflight.modelfiles import check_model
from outcomebox.train.preflight.run import CHECKS, NAMES, preflight
from outcomebox.train.preflight.secrets import check_set, check_written
from outcomebox.train.preflight.tasks import check_benchmark, check_pool
from outcomebox.train.preflight.template import check_reading, check_template
from train_files import TEMPLATE, make_model, make_pool, make_run, task_hashes
from train_plans import context_of, make_plan_without_verl, plan_of
from train_saved import make_checkpoint


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


# --- the folder


def test_a_new_folder_and_one_that_goes_on(place: Path, tmp_path: Path) -> None:
    found = plan(place, tmp_path)
    assert "is new" in check_folder(context_of(found))
    write_run(found, "checked\n")
    assert "it begins at step 1" in check_folder(context_of(found))
    save(found, 10, 1)
    assert "goes on after step 10" in check_folder(context_of(found))


def save(found: Plan, step: int, world: int) -> None:
    """A checkpoint in a run's folder."""
    make_checkpoint(found.checkpoints, step, world)


def test_a_run_goes_on_as_it_was(place: Path, tmp_path: Path) -> None:
    write_run(plan(place, tmp_path), "")
    free = {"schedule.steps": 200, "rollout.gpu_memory": 0.4, "trackers.to": ["console"]}
    check_folder(context_of(plan(place, tmp_path, free)))
    for field, value in (("optim.lr", 2e-6), ("groups.size", 4), ("episodes.seed", 3)):
        with pytest.raises(InputError) as caught:
            check_folder(context_of(plan(place, tmp_path, {field: value})))
        assert f"{field}: was " in str(caught.value)
        assert "go on with that, or name another out" in str(caught.value)


def test_a_folder_that_would_not_go_on(place: Path, tmp_path: Path) -> None:
    found = plan(place, tmp_path)
    write_run(found, "")
    save(found, 5, 2)
    with pytest.raises(
        InputError, match="has 1 ranks, and the checkpoint of step 5 was saved by 2"
    ):
        check_folder(context_of(found))
    (found.checkpoints / TRACKER).write_text("6", encoding="utf-8")
    with pytest.raises(InputError, match="training would begin anew"):
        check_folder(context_of(found))
    save(found, 100, 1)
    with pytest.raises(InputError, match=r"schedule\.steps: is reached"):
        check_folder(context_of(found))
    broken = found.checkpoints / "global_step_100" / "actor" / "optim_world_size_1_rank_0.pt"
    broken.write_bytes(b"PK")
    with pytest.raises(InputError, match="is cut off or damaged"):
        check_folder(context_of(found))


def test_overrides_of_a_run_that_goes_on_are_the_same(place: Path, tmp_path: Path) -> None:
    found = plan(place, tmp_path)
    write_run(found, "")
    (found.out / "user_overrides.txt").write_text("data.shuffle=False\n", encoding="utf-8")
    with pytest.raises(InputError, match="give the same after --"):
        check_folder(context_of(found))


def test_a_folder_with_something_else(place: Path, tmp_path: Path) -> None:
    (tmp_path / "runs" / "first").mkdir(parents=True)
    (tmp_path / "runs" / "first" / "thesis.txt").touch()
    with pytest.raises(InputError, match="holds something else than a run"):
        check_folder(context_of(plan(place, tmp_path)))
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot be made or written \(.*file is a file\)"):
        check_folder(context_of(plan(place, tmp_path, {"out": "file/run"})))


# --- the model


def model(place: Path, tmp_path: Path, **config: Any) -> Plan:
    """A plan over a model of its own."""
    return make_plan_without_verl(
        tmp_path, model=make_model(tmp_path / "model", **config), pool=place / "pool"
    )


def test_the_model_is_whole(place: Path, tmp_path: Path) -> None:
    assert check_model(context_of(model(place, tmp_path))).startswith("qwen3, ")
    folder = tmp_path / "model"
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    (folder / "model-2.safetensors").touch()
    with pytest.raises(InputError, match=r"lacks 1 of 2 files of weights, model-1\.safetensors"):
        check_model(context_of(plan_of(tmp_path / "run.yaml")))
    (folder / "model.safetensors.index.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="is no index of weights"):
        check_model(context_of(plan_of(tmp_path / "run.yaml")))
    (folder / "model.safetensors.index.json").unlink()
    for each in folder.glob("*.safetensors"):
        each.unlink()
    with pytest.raises(InputError, match="holds no weights"):
        check_model(context_of(plan_of(tmp_path / "run.yaml")))


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"num_attention_heads": None}, "has no num_attention_heads"),
        ({"max_position_embeddings": 4096}, "and the model takes 4096; lower prompt and response"),
        ({"text_config": {"max_position_embeddings": 99}}, "and the model takes 99"),
    ],
)
def test_a_model_that_cannot_be_trained_so(
    place: Path, tmp_path: Path, config: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        check_model(context_of(model(place, tmp_path, **config)))


@pytest.mark.parametrize(("heads", "shared", "gpus"), [(30, 6, 4), (32, 6, 4), (12, 12, 8)])
def test_heads_are_dealt_to_gpus(
    place: Path, tmp_path: Path, heads: int, shared: int, gpus: int
) -> None:
    folder = make_model(tmp_path / "model", num_attention_heads=heads, num_key_value_heads=shared)
    for field in ("parallel.sequence", "parallel.tensor"):
        found = make_plan_without_verl(
            tmp_path, "8xh100", {"parallel.sequence": 1, "parallel.tensor": 1, field: gpus},
            model=folder, pool=place / "pool",
        )  # fmt: skip
        with pytest.raises(InputError, match=rf"{field}: cannot deal the model's {heads}"):
            check_model(context_of(found))


def test_vllm_on_a_cpu_wants_wide_heads(place: Path, tmp_path: Path) -> None:
    found = plan(place, tmp_path, {"rollout.backend": "vllm"}, "cpu")
    with pytest.raises(InputError, match=r"rollout\.backend: cannot run heads of 2 numbers"):
        check_model(context_of(found))


# --- template and reading


def test_the_template_writes_tools_and_answers(place: Path, tmp_path: Path) -> None:
    assert "the model begins at assistant_start" in check_template(
        context_of(plan(place, tmp_path))
    )


@pytest.mark.parametrize(
    ("template", "told"),
    [
        (TEMPLATE.replace("if tools", "if false"), "does not write the tools that are offered"),
        ("{{ messages[0].content }}{{ (tools or []) | length }}", "leaves out calls or answers"),
        ("{{ raise_exception('no tools') }}", "refuses a conversation with a tool"),
    ],
)
def test_a_template_of_no_use(place: Path, tmp_path: Path, template: str, told: str) -> None:
    (tmp_path / "own.jinja").write_text(template, encoding="utf-8")
    with pytest.raises(InputError, match=rf"model\.chat_template: its chat template {told}"):
        check_template(context_of(plan(place, tmp_path, {"model.chat_template": "own.jinja"})))


def test_a_tokenizer_of_another_model(place: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="they are not of one model"):
        check_template(context_of(model(place, tmp_path, vocab_size=100)))
    (tmp_path / "model" / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="cannot be used"):
        check_template(context_of(plan_of(tmp_path / "run.yaml")))


def test_the_profile_reads_the_format(place: Path, tmp_path: Path) -> None:
    assert check_reading(context_of(plan(place, tmp_path))) == "qwen3_xml as vllm-0.24 reads it"
    for field, value in (("model.profile", "vllm-9"), ("model.format", "qwen9")):
        with pytest.raises(InputError, match=f"{field}: .*; use one of") as caught:
            check_reading(context_of(plan(place, tmp_path, {field: value})))
        assert "\n" not in str(caught.value)


# --- pool and benchmark


def test_the_pool_is_the_one_that_was_probed(place: Path, tmp_path: Path) -> None:
    assert check_pool(context_of(plan(place, tmp_path))).startswith("8 tasks to train on, 2 to")
    pool = make_pool(tmp_path / "pool", count=8, change={"hash": "0" * 64})
    with pytest.raises(InputError, match="hash: is not the task that was probed"):
        check_pool(context_of(make_plan_without_verl(tmp_path, model=place / "model", pool=pool)))
    with pytest.raises(InputError, match="asks for 9 tasks a step, and the pool has 8"):
        check_pool(context_of(plan(place, tmp_path, {"groups.per_step": 9})))


def test_a_task_that_is_nowhere(place: Path, tmp_path: Path) -> None:
    pool = make_pool(tmp_path / "pool", count=8, change={"uid": "travel/no/such"})
    with pytest.raises(InputError, match="there is no such task"):
        check_pool(context_of(make_plan_without_verl(tmp_path, model=place / "model", pool=pool)))


@pytest.mark.parametrize("form", ["list.txt", "list.yaml", "pool.yaml", "mapped.yaml"])
def test_a_benchmark_is_kept_apart_by_name(place: Path, tmp_path: Path, form: str) -> None:
    uids = list(task_hashes())
    listed: Any = uids[3:5]
    if form == "pool.yaml":
        listed = {"pool": {}, "tasks": [{"uid": uid} for uid in uids[3:5]]}
    elif form == "mapped.yaml":
        listed = [{"uid": uid} for uid in uids[3:5]]
    text = "# held\n" + "\n".join(uids[3:5]) if form == "list.txt" else yaml.safe_dump(listed)
    (tmp_path / form).write_text(text, encoding="utf-8")
    change = {"pool.no_benchmark": False, "pool.benchmark": [form]}
    with pytest.raises(InputError, match=rf"{uids[3]}: is a task of the benchmark"):
        check_benchmark(context_of(plan(place, tmp_path, change)))
    (tmp_path / form).write_text(text.replace(uids[3], "a/b/c").replace(uids[4], uids[20]), "utf-8")
    told = check_benchmark(context_of(plan(place, tmp_path, change)))
    assert told == "no task in common with 2 of the benchmark (1 compared by content)"


def test_a_copy_under_another_name_is_found(place: Path, tmp_path: Path) -> None:
    tasks = RunSpec(tasks=("travel",)).tasks_on(SQLITE)
    copied = list(task_hashes())[2]
    written = own_tasks_file(copied)
    folder = tmp_path / "bench"
    folder.mkdir()
    (folder / "copy.yaml").write_text(written.replace(copied, "travel/other/name"), "utf-8")
    change = {"pool.no_benchmark": False, "pool.benchmark": ["bench/copy.yaml"]}
    with pytest.raises(InputError) as caught:
        check_benchmark(context_of(plan(place, tmp_path, change)))
    assert f"{copied}: asks for the same as travel/other/name of the benchmark" in str(caught.value)
    assert copied in tasks.by_uid


def own_tasks_file(uid: str) -> str:
    """A bundled task as a file of its own."""
    folder = Path(next(iter(bundled.__path__))) / "travel"
    for file in sorted(folder.rglob("*.yaml")):
        plain = yaml.safe_load(file.read_text(encoding="utf-8"))
        if isinstance(plain, dict) and isinstance(plain.get("tasks"), list):
            for task in plain["tasks"]:
                if task.get("uid") == uid:
                    return yaml.safe_dump({**plain, "tasks": [task]}, sort_keys=False)
    raise AssertionError(f"no file of the domain has {uid}")


@pytest.mark.parametrize(
    ("content", "told"), [("", "is no list of uids"), ("- 3\n", "is no list"), ("a: [", "mend it")]
)
def test_a_benchmark_that_cannot_be_read(
    place: Path, tmp_path: Path, content: str, told: str
) -> None:
    name = "held.txt" if content == "" else "held.yaml"
    (tmp_path / name).write_text(content, encoding="utf-8")
    change = {"pool.no_benchmark": False, "pool.benchmark": [name]}
    with pytest.raises(InputError, match=rf"pool\.benchmark: .*{told}"):
        check_benchmark(context_of(plan(place, tmp_path, change)))


# --- lengths


def test_lengths_are_those_of_the_rendered_conversations(place: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    told = check_lengths(
        context_of(plan(place, tmp_path)), lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (10, 10)
    assert told.startswith("first prompts ")
    longest = int(told.split("at most ")[1].split(" ")[0])
    exact = {"lengths.prompt": longest}
    assert check_lengths(context_of(plan(place, tmp_path, exact)))
    with pytest.raises(InputError, match=rf"has {longest} tokens: write at least that"):
        check_lengths(context_of(plan(place, tmp_path, {"lengths.prompt": longest - 1})))


# --- user, judge, secrets


def test_user_and_judge_are_of_use(place: Path, tmp_path: Path) -> None:
    assert (
        check_actors(context_of(plan(place, tmp_path))) == "the user is scripted, the judge nobody"
    )
    assert check_endpoints(context_of(plan(place, tmp_path))) == "none is used"
    with pytest.raises(InputError, match=r"episodes\.user_options: .*no option temprature"):
        check_actors(
            context_of(plan(place, tmp_path, {"episodes.user_options": {"temprature": "1"}}))
        )


def test_an_endpoint_that_is_not_there(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    options = {"base_url": address, "model": "m"}
    found = plan(place, tmp_path, {"episodes.user_options": options})
    assert check_actors(context_of(found)).startswith("the user is a model")
    with pytest.raises(InputError, match=r"episodes\.user_options\.base_url: .*does not answer"):
        check_endpoints(context_of(found))


def test_secrets_are_set_and_written_nowhere(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = context_of(plan(place, tmp_path, {"secrets": ["OUTCOMEBOX_TEST_SECRET"]}))
    monkeypatch.delenv("OUTCOMEBOX_TEST_SECRET", raising=False)
    with pytest.raises(InputError, match="OUTCOMEBOX_TEST_SECRET is not set; export it on every"):
        check_set(found)
    monkeypatch.setenv("OUTCOMEBOX_TEST_SECRET", "hunter2")
    assert check_set(found) == "1 variables are set"
    assert check_written(found)
    write_run(found.plan, "")
    for file in found.plan.out.rglob("*"):
        assert b"hunter2" not in file.read_bytes()
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    with pytest.raises(InputError, match=r"trackers\.to: the variable WANDB_API_KEY"):
        check_set(context_of(plan(place, tmp_path, {"trackers.to": ["wandb"]})))
    with pytest.raises(InputError, match="env: an address holds a password") as caught:
        check_written(context_of(plan(place, tmp_path, {"env": {"PROXY": "http://u:hunter2@h"}})))
    assert "hunter2" not in str(caught.value)


# --- all of them


def test_a_check_that_fails_stops_what_needs_it_and_nothing_else(
    place: Path, tmp_path: Path
) -> None:
    change = {"model.profile": "vllm-9", "groups.per_step": 9}
    seen = {each.name: each for each in preflight(plan(place, tmp_path, change), live=False)}
    assert tuple(seen) == NAMES
    states = {name: each.state for name, each in seen.items()}
    assert states["reading"] == states["pool"] == "failed"
    assert states["template"] == states["lengths"] == states["actors"] == "not reached"
    assert states["benchmark"] == "not reached"
    assert states["changes"] == "failed", "there is no verl here"
    assert states["folder"] == states["model"] == states["written"] == "passed"
    assert {name for name, state in states.items() if state == "at the start"} == {
        check.name for check in CHECKS if check.live
    }
    with pytest.raises(InputError, match="--skip: is no check; write one of folder"):
        preflight(plan(place, tmp_path), live=False, skip=["everything"])


def test_settings_that_were_written_are_read_again(place: Path, tmp_path: Path) -> None:
    found = plan(place, tmp_path)
    write_run(found, "checks\n")
    text = (found.out / "run.yaml").read_text(encoding="utf-8")
    assert text == config_text(found.config)
    assert plan_of(found.out / "run.yaml").config == found.config
    assert (found.out / "overrides.txt").read_text("utf-8").splitlines() == found.overrides
    assert make_run(tmp_path).is_file()
