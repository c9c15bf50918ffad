"""What the Ray executor decides without Ray: its options, and what it says where Ray is missing."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcomebox.rollout.executors import open_executor
from outcomebox.rollout.executors import ray_cluster as cluster
from outcomebox.rollout.executors.ray_actor import worker_class
from outcomebox.rollout.executors.ray_fingerprint import fingerprint
from outcomebox.rollout.executors.ray_options import KEEP_CHILDREN, RayOptions
from outcomebox.rollout.spec import RunSpec
from outcomebox.sandbox import InputError

SPEC = RunSpec(tasks=("travel",), limit_tasks=2)


def test_defaults_ask_for_one_cpu_spread_over_nodes() -> None:
    options = RayOptions.parse({})
    assert options.demands() == {
        "num_cpus": 1.0,
        "scheduling_strategy": "SPREAD",
        "runtime_env": {"env_vars": KEEP_CHILDREN},
    }
    assert options.environment() == {}
    assert options.variables() == {}


def test_every_demand_reaches_ray() -> None:
    options = RayOptions.parse(
        {"cpus": "0.5", "memory": "2GiB", "resources": "disk=1, tools=0.5", "labels": "zone=a"}
    )
    assert options.demands() == {
        "num_cpus": 0.5,
        "memory": 2 << 30,
        "resources": {"disk": 1.0, "tools": 0.5},
        "label_selector": {"zone": "a"},
        "runtime_env": {"env_vars": KEEP_CHILDREN},
    }


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.integers(1, 99)))
def test_resources_are_read_as_they_are_written(resources: dict[str, int]) -> None:
    text = ",".join(f"{name}={amount}" for name, amount in resources.items())
    assert RayOptions.parse({"resources": text}).resources == resources


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"wokers": "2"}, "has no option wokers; its options: address, workers"),
        ({"workers": "0"}, "workers: Input should be greater than 0"),
        ({"slots": "many"}, "slots: "),
        ({"resources": "disk"}, "resources: write NAME=VALUE"),
        ({"memory": "two"}, "memory: "),
        ({"patience_s": "-1"}, "patience_s: "),
    ],
)
def test_an_option_of_no_use_is_refused_by_name(options: dict[str, str], told: str) -> None:
    with pytest.raises(InputError, match="executor-option") as caught:
        RayOptions.parse(options)
    assert told in str(caught.value)


def test_variables_are_handed_on_by_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDPOINT_KEY", "a-planted-secret")
    options = RayOptions.parse({"env": "ENDPOINT_KEY"})
    assert options.variables() == {"ENDPOINT_KEY": "a-planted-secret"}
    # Not in what Ray logs and shows, nor in what a run's folder keeps.
    assert "a-planted-secret" not in repr((options, options.environment(), options.demands()))
    monkeypatch.delenv("ENDPOINT_KEY")
    with pytest.raises(InputError, match="ENDPOINT_KEY is not set here"):
        options.variables()


def test_the_runtime_environment_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "env.yaml"
    file.write_text("pip: [jinja2]\nenv_vars: {A: b}\n", encoding="utf-8")
    options = RayOptions.parse({"runtime_env": str(file), "working_dir": str(tmp_path)})
    assert options.environment() == {
        "pip": ["jinja2"],
        "working_dir": str(tmp_path),
        "env_vars": {"A": "b"},
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [(None, "cannot be read"), ("- a\n", "must be a mapping"), ("{", "cannot be read")],
)
def test_a_runtime_environment_that_is_none_is_refused(
    tmp_path: Path, text: str | None, told: str
) -> None:
    file = tmp_path / "env.yaml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=told):
        RayOptions.parse({"runtime_env": str(file)}).environment()


def test_a_working_folder_is_there_and_given_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder"):
        RayOptions.parse({"working_dir": str(tmp_path / "none")}).environment()
    file = tmp_path / "env.yaml"
    file.write_text("working_dir: .\n", encoding="utf-8")
    options = RayOptions.parse({"runtime_env": str(file), "working_dir": str(tmp_path)})
    with pytest.raises(InputError, match="take it out of one"):
        options.environment()


def test_without_ray_the_command_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.import_module

    def missing(name: str, package: str | None = None) -> object:
        if name.partition(".")[0] == "ray":
            raise ModuleNotFoundError(f"No module named {name!r}")
        return found(name, package)

    monkeypatch.setattr(importlib, "import_module", missing)

    async def run(options: Mapping[str, str]) -> None:
        async with open_executor("ray", SPEC, concurrency=1, options=options):
            raise AssertionError("there is no Ray")

    with pytest.raises(InputError, match=r"pip install 'outcomebox-rollout\[ray\]'"):
        asyncio.run(run({}))
    # What is wrong with the settings is told all the same.
    with pytest.raises(InputError, match="no option nothing"):
        asyncio.run(run({"nothing": "1"}))


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("127.0.0.1:1", "nothing answers at 127.0.0.1:1"),
        ("127.0.0.1", "write HOST:PORT"),
        ("127.0.0.1:99999", "nothing answers"),
        ("ray://127.0.0.1:10001", "Ray client address is of no use"),
    ],
)
def test_an_address_without_a_cluster_is_refused_before_ray_tries_it(
    address: str, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        cluster._reachable(address)


def test_tasks_have_the_same_fingerprint_only_where_they_are_the_same() -> None:
    async def of(spec: RunSpec) -> str:
        async with spec.loaded() as loaded:
            return fingerprint(loaded.tasks)

    first = asyncio.run(of(SPEC))
    assert asyncio.run(of(RunSpec.from_json(json.loads(json.dumps(SPEC.to_json()))))) == first
    assert asyncio.run(of(RunSpec(tasks=("travel",), limit_tasks=3))) != first


def test_a_worker_answers_with_rows_and_leaves_nothing() -> None:
    async def run() -> None:
        worker = worker_class()()
        about = await worker.about()
        assert about["missing"] is None
        spec = RunSpec(tasks=("travel",), limit_tasks=1, policy="golden")
        answer = await worker.start(spec.to_json(), {}, (), True)
        async with spec.loaded() as loaded:
            assert answer == {"tasks": fingerprint(loaded.tasks)}
            uid = loaded.tasks.tasks[0].uid
        tried = await worker.attempt(uid, 0, 0)
        assert (tried.row["uid"], tried.row["verdict"]["outcome"]) == (uid, "passed")
        root = worker.worker.setting.sandbox.root
        assert await worker.beat()
        await worker.close()
        assert not await worker.beat()
        assert not root.exists()

    asyncio.run(run())


def test_what_keeps_a_worker_from_being_made_is_an_answer() -> None:
    async def run() -> dict[str, str]:
        spec = RunSpec(tasks=("no-such-domain",))
        worker = worker_class()()
        answer: dict[str, str] = await worker.start(spec.to_json(), {}, (), False)
        return answer

    assert "no-such-domain" in asyncio.run(run())["wrong"]
