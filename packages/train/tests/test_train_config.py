"""``run.yaml``: presets below it, what is wrong in it, and what it becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.sandbox import InputError
from outcomebox.train.config.command_line import user_keys
from outcomebox.train.config.hydra_text import hydra_value
from outcomebox.train.config.loading import config_text, load_config, parse_config
from outcomebox.train.config.overrides import Override, micro_batch, overrides
from outcomebox.train.config.poolfiles import read_pool_files
from outcomebox.train.config.presets import PRESETS, merged, preset, preset_text
from outcomebox.train.config.rules import check_rules
from outcomebox.train.config.variables import check_names, check_plain
from outcomebox.train.config.verlsource import find_verl
from outcomebox.train.config.versions import SUPPORTED, WHEELS, check_supported
from outcomebox.train.launch.settings import worker_settings
from outcomebox.train.settings import SETTINGS_VARIABLE, load_settings
from train_files import make_model, make_pool, make_run

PATHS: dict[str, Any] = {
    "out": "runs/x",
    "model": {"path": "/m"},
    "pool": {"path": "/p", "no_benchmark": True},
}


def parsed(plain: dict[str, Any], name: str | None = "1xgpu") -> Any:
    whole = merged(PATHS, plain)
    return parse_config(
        whole if name is None else {"preset": name, **whole}, Path("/there/run.yaml")
    )


# --- presets


def test_the_27b_preset_has_the_published_numbers() -> None:
    config = parsed({}, "q38-27b-24xh100").config
    assert (config.cluster.nodes, config.cluster.gpus) == (3, 8)
    assert (config.parallel.sequence, config.parallel.tensor, config.parallel.offload) == (
        4,
        4,
        True,
    )
    assert (config.groups.per_step, config.groups.size) == (18, 8)
    assert (config.optim.lr, config.optim.weight_decay) == (1e-6, 0.0)
    assert (config.loss.aggregation, config.loss.kl) == ("token-mean", None)
    sampling = config.sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p) == (1.0, 20, 0.95)
    lengths = config.lengths
    assert (lengths.prompt, lengths.response, lengths.turn) == (26_624, 106_496, 8_192)
    assert (config.schedule.steps, config.schedule.save_every) == (50, 5)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_lacks_the_paths_alone(name: str) -> None:
    assert preset_text(name).startswith("# ")
    assert not {"out", "pool"} & set(preset(name))
    check_rules(parsed({}, name).config, "run.yaml")
    with pytest.raises(InputError, match=r"run\.yaml: out: is missing; add it"):
        parse_config({"preset": name}, Path("run.yaml"))


def test_an_unknown_preset_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"there is no such preset; did you mean 8xh100\?"):
        parsed({}, "8xh10")


def test_the_file_wins_over_its_preset_section_by_section() -> None:
    config = parsed({"groups": {"size": 4}}).config
    assert (config.groups.size, config.groups.per_step) == (4, 8)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
_MAPPINGS = st.dictionaries(st.text(max_size=3), _JSON, max_size=4)


@given(_MAPPINGS, _MAPPINGS)
@settings(deadline=None)
def test_what_is_said_above_always_wins(below: dict[str, Any], above: dict[str, Any]) -> None:
    found = merged(below, above)
    assert merged(found, above) == found
    assert merged(below, {}) == below
    assert merged({}, above) == above
    assert set(found) == {*below, *above}


# --- reading and writing


@given(
    st.sampled_from(PRESETS),
    st.fixed_dictionaries(
        {},
        optional={
            "out": st.text(min_size=1, max_size=20).filter(lambda text: "\0" not in text),
            "optim": st.fixed_dictionaries(
                {}, optional={"lr": st.floats(1e-9, 1.0), "warmup_steps": st.integers(0, 99)}
            ),
            "env": st.dictionaries(st.sampled_from(["A", "B_C"]), st.text(max_size=20)),
            "episodes": st.fixed_dictionaries(
                {}, optional={"seed": st.integers(0, 2**40), "user_may_end": st.booleans()}
            ),
        },
    ),
)
@settings(deadline=None)
def test_settings_come_back_from_yaml_as_they_went(name: str, plain: dict[str, Any]) -> None:
    config = parsed(plain, name).config
    again = parse_config(yaml.safe_load(config_text(config)), Path("/elsewhere/run.yaml"))
    assert again.config == config


def test_paths_are_relative_to_the_file_and_names_stay(tmp_path: Path) -> None:
    plain = merged(
        {"preset": "1xgpu", **PATHS},
        {
            "model": {"path": "m", "chat_template": "t.jinja"},
            "pool": {"path": "p", "no_benchmark": False, "benchmark": ["travel", "held.txt"]},
            "episodes": {"tasks": ["travel", "own/tasks"]},
            "python": "python3",
        },
    )
    config = parse_config(plain, tmp_path / "run.yaml").config
    assert config.out == f"{tmp_path}/runs/x"
    assert config.model.path == f"{tmp_path}/m"
    assert config.model.chat_template == f"{tmp_path}/t.jinja"
    assert config.pool.benchmark == ("travel", f"{tmp_path}/held.txt")
    assert config.episodes.tasks == ("travel", f"{tmp_path}/own/tasks")
    assert config.python == "python3"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"- 1\n", "is no mapping; write fields such as preset"),
        (b"a: [\n", "is not YAML"),
        (b"\xff\n", "is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes, told: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_config(file)
    assert str(caught.value).startswith(f"{file}: {told}")
    assert "\n" not in str(caught.value)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"grups": {}}, "grups: is no field; write groups"),
    ({"groups": {"sizes": 2}}, "groups.sizes: is no field; write size"),
    ({"groups": {"size": 1}}, "groups.size: is out of range; write at least 2 (found 1)"),
    (
        {"groups": {"size": "8"}},
        "groups.size: input should be a valid integer; write a whole number",
    ),
    ({"groups": {"drop_uniform": 1}}, "groups.drop_uniform: input should be a valid boolean"),
    ({"optim": {"lr": "1e-6"}}, "optim.lr: is text in YAML; write 1e-06"),
    ({"optim": {"lr": 0}}, "optim.lr: is out of range; write more than 0"),
    ({"optim": {"lr": "fast"}}, "optim.lr: is no number; write one without quotes"),
    ({"optim": {"schedule": "linear"}}, "optim.schedule: is none of the choices; write 'constant'"),
    ({"loss": {"aggregation": "mean"}}, "loss.aggregation: is none of the choices"),
    ({"sampling": {"temperature": 0}}, "sampling.temperature: is out of range; write more than 0"),
    ({"sampling": {"top_p": 1.5}}, "sampling.top_p: is out of range; write at most 1"),
    ({"lengths": {"turn": 99999}}, "lengths: turn (99999) is more than response (20480)"),
    ({"rollout": {"gpu_memory": 1.0}}, "rollout.gpu_memory: is out of range; write less than 1"),
    ({"trackers": {"to": []}}, "trackers.to: "),
    ({"pool": {"no_benchmark": False}}, "pool: benchmark must name the tasks that are kept"),
    ({"env": {"WANDB_API_KEY": "hunter2"}}, "env: WANDB_API_KEY looks like a secret"),
    ({"env": {"VERL_PLATFORM": "cpu"}}, "env: VERL_PLATFORM is set by outcomebox-train itself"),
    ({"secrets": ["sk-hunter2-xyz"]}, "secrets: entry 1 is no name of a variable"),
]


@pytest.mark.parametrize(("change", "told"), WRONG)
def test_a_wrong_field_is_named_with_its_mend(change: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as caught:
        parsed(change)
    message = str(caught.value)
    assert message.startswith(f"/there/run.yaml: {told}")
    assert "\n" not in message
    assert "hunter2" not in message


RULES: list[tuple[str, dict[str, Any], str]] = [
    ("8xh100", {"cluster": {"nodes": 2}}, "cluster.ray_address: is missing"),
    (
        "1xgpu",
        {"rollout": {"backend": "transformers"}},
        "rollout.backend: samples on CPU cores only",
    ),
    ("cpu", {"parallel": {"sequence": 2}}, "parallel.sequence: needs GPUs; write 1"),
    ("cpu", {"parallel": {"tensor": 2}}, "parallel.tensor: needs GPUs; write 1"),
    ("cpu", {"model": {"padding_removed": True}}, "model.padding_removed: needs flash-attn"),
    ("1xgpu", {"optim": {"updates_per_step": 3}}, "optim.updates_per_step: does not divide"),
    ("1xgpu", {"groups": {"max_wasted": 0}}, "groups.max_wasted: lets no group be thrown away"),
    ("1xgpu", {"trackers": {"project": "${oc.env:X}"}}, "trackers.project: holds ${"),
]


@pytest.mark.parametrize(("name", "change", "told"), RULES)
def test_sections_have_to_fit_each_other(name: str, change: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as caught:
        check_rules(parsed(change, name).config, "run.yaml")
    assert str(caught.value).startswith(f"run.yaml: {told}")


def test_secrets_are_named_and_never_shown() -> None:
    check_plain({"NCCL_DEBUG": "WARN", "MONKEY": "a", "TOKENIZERS_PARALLELISM": "false"})
    for name in ("HF_TOKEN", "api_key", "MY_SECRET_FILE", "DB_PASSWORD"):
        with pytest.raises(ValueError, match="looks like a secret"):
            check_plain({name: "hunter2"})
    check_names(["WANDB_API_KEY"])
    with pytest.raises(ValueError, match="it is not shown here") as caught:
        check_names(["hunter2!"])
    assert "hunter2" not in str(caught.value)


# --- what verl is told


def test_each_key_is_set_once_and_each_field_exists() -> None:
    for name in PRESETS:
        config = parsed({"loss": {"kl": 0.01}, "schedule": {"keep": 2}}, name).config
        found = overrides(
            config,
            train_file=Path("/p/train.yaml"),
            test_file=None,
            settings_file=Path("/o/worker.json"),
            environment={"A": "1"},
        )
        keys = [each.key for each in found]
        assert len(keys) == len(set(keys))
        plain = config.model_dump(mode="json")
        for each in found:
            value: Any = plain
            for part in filter(None, each.field.split(".")):
                assert part in value, each
                value = value[part]


@given(st.text(max_size=30).filter(lambda text: "${" not in text and "\0" not in text))
@settings(deadline=None)
def test_hydra_reads_a_text_as_it_was(text: str) -> None:
    told = f"a.b={hydra_value(text)}"
    assert OverridesParser.create().parse_override(told).value() == text


@given(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
@settings(deadline=None)
def test_hydra_reads_a_number_as_it_was(value: Any) -> None:
    told = f"a.b={hydra_value([value])}"
    assert OverridesParser.create().parse_override(told).value() == [value]
    with pytest.raises(TypeError):
        hydra_value({"a": value})


@given(
    per_step=st.integers(1, 12),
    size=st.integers(2, 9),
    gpus=st.integers(1, 4),
    tokens=st.integers(1, 20_000),
)
@settings(deadline=None)
def test_a_fixed_micro_batch_always_divides_a_ranks_share(
    per_step: int, size: int, gpus: int, tokens: int
) -> None:
    config = parsed(
        {
            "groups": {"per_step": per_step, "size": size},
            "cluster": {"gpus": gpus},
            "parallel": {"tokens_per_gpu": tokens},
        },
        "cpu",
    ).config
    share = max(1, per_step * size // gpus)
    micro = micro_batch(config)
    assert share % micro == 0
    assert micro == 1 or micro * config.lengths.context <= tokens


OWN = (
    Override("actor_rollout_ref.rollout.n", 8, "groups.size"),
    Override("data.custom_cls.path", "pkg://x"),
    Override("algorithm.adv_estimator", "grpo", bound=False),
)
AFTER: list[tuple[str, str]] = [
    ("nothing", "is no override"),
    ("a=", ""),
    ("~data.seed", "takes away what the launcher or verl needs"),
    ("data.seed=1,2", "names several values, and a run has one"),
    ("model_engine=megatron", "chooses another engine"),
    ("actor@actor_rollout_ref.actor=dp_actor", "chooses another engine"),
    ("hydra.run.dir=/x", "is for Hydra"),
    ("custom_reward_function.path=x", "write reward.custom_reward_function.path"),
    ("actor_rollout_ref.rollout.n=4", "set groups.size in the settings file instead"),
    ("++actor_rollout_ref.rollout.n=4", "set groups.size in the settings file instead"),
    ("data.custom_cls={path: x}", "is written by outcomebox-train and ties verl to its episodes"),
    ("algorithm.adv_estimator=rloo", ""),
    ("+data.more=1", ""),
]


@pytest.mark.parametrize(("text", "told"), AFTER)
def test_what_may_be_said_after_the_dashes(text: str, told: str) -> None:
    if not told:
        assert user_keys([text], OWN) == (text.lstrip("+").split("=")[0],)
        return
    with pytest.raises(InputError) as caught:
        user_keys([text], OWN)
    assert str(caught.value).startswith("command line, after --: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


# --- pool, workers, verl


def test_workers_read_what_the_launcher_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_config(make_run(tmp_path))
    pool = read_pool_files(Path(loaded.config.pool.path))
    made = worker_settings(loaded.config, pool, "0.9.1")
    file = tmp_path / "worker.json"
    file.write_text(made.to_text(), encoding="utf-8")
    assert load_settings(file) == made
    assert json.loads(made.to_text())["group_size"] == 8
    assert made.context_tokens == made.prompt_tokens + made.response_tokens
    assert set(made.run_spec.only) == set(made.pool.bands) == set(made.pool.mixed_chances)
    # Four of eight, Jeffreys: Beta(4.5, 4.5), groups of 8; by hand from the Beta function.
    assert made.predicted_useful_share == pytest.approx(0.954657, abs=1e-6)
    monkeypatch.setenv(SETTINGS_VARIABLE, str(file))
    assert load_settings() == made
    with (tmp_path / "pool" / "train.yaml").open("a", encoding="utf-8") as target:
        target.write("# touched\n")
    with pytest.raises(InputError, match=r"pool\.sha256: .*train\.yaml is not the file that this"):
        load_settings(file)
    monkeypatch.delenv(SETTINGS_VARIABLE)
    with pytest.raises(InputError, match="start training by outcomebox-train"):
        load_settings()


def test_settings_of_workers_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be the same on every node"):
        load_settings(tmp_path / "worker.json")
    file = tmp_path / "worker.json"
    file.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="is not JSON"):
        load_settings(file)
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="run_id: is missing"):
        load_settings(file)


def test_a_pool_that_cannot_be_trained_on(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"pool\.path: there is no pool; name the folder"):
        read_pool_files(tmp_path / "none")
    pool = make_pool(tmp_path / "pool")
    with pytest.raises(InputError, match="is the test side of a pool"):
        read_pool_files(pool / "test.yaml")
    both = make_pool(tmp_path / "both")
    side = yaml.safe_load((both / "train.yaml").read_text(encoding="utf-8"))
    side["pool"]["side"] = "test"
    (both / "test.yaml").write_text(yaml.safe_dump(side), encoding="utf-8")
    with pytest.raises(InputError, match="is on both sides of the pool"):
        read_pool_files(both)
    empty = make_pool(tmp_path / "empty", count=0)
    with pytest.raises(InputError, match="holds no task"):
        read_pool_files(empty)
    unprobed = make_pool(tmp_path / "unprobed", change={"passes": None})
    with pytest.raises(InputError, match=r"has no probe counts \(passes, clean_runs\)"):
        read_pool_files(unprobed).settings(8)
    (pool / "test.yaml").unlink()
    assert read_pool_files(pool).test is None


def test_a_model_without_a_folder_is_made_once(tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    assert read_pool_files(make_pool(tmp_path / "pool")).train.uids
    assert (model / "tokenizer.json").is_file()


def test_every_other_verl_is_refused_by_name(tmp_path: Path) -> None:
    assert tuple(WHEELS) == SUPPORTED
    for version in SUPPORTED:
        assert check_supported(version) == version
    for version in ("0.8.0", "0.9.2", "0.10.0", "1.0"):
        with pytest.raises(InputError, match=rf"install 0\.9\.0 or 0\.9\.1 \(found '{version}'\)"):
            check_supported(version)
    package = tmp_path / "verl"
    (package / "trainer" / "config").mkdir(parents=True)
    (package / "trainer" / "config" / "ppo_trainer.yaml").touch()
    (package / "version").mkdir()
    (package / "version" / "version").write_text("0.9.2\n", encoding="utf-8")
    with pytest.raises(InputError, match="is not a verl that this version works with"):
        find_verl(tmp_path)
    (package / "version" / "version").write_text("0.9.0\n", encoding="utf-8")
    assert find_verl(tmp_path).version == find_verl(package).version == "0.9.0"
    with pytest.raises(InputError, match="--verl: holds no package verl"):
        find_verl(tmp_path / "nothing")
