"""What a selection writes: the same bytes for the same inputs, and nothing half."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
import yaml

from outcomebox.selection import (
    EmptyPoolError,
    InputError,
    Provenance,
    Selection,
    TaskInfo,
    curate,
    read_episodes,
    read_pool,
    read_tasks,
    task_results,
    tasks_digest,
    tasks_jsonl,
    verify,
    write_selection,
)
from outcomebox.selection.atomic import write_files
from outcomebox.selection.write import selection_files
from outcomebox.selection.yamlfile import read_yaml
from selection_rows import POLICY, curation, probe_rows, probed, result, task, write_rows

PROVENANCE = Provenance(POLICY, "0" * 64, 80)
POOL = "pool: {format: outcomebox-pool/1}\n"
TEXTS = ["FFFFFFFF", "PFFFFFFF", "PPFFFFFF", "PPPPFFFF", "PPPPPPFF", "PPPPPPPP", "PPEE", "EEEE"]


def small_selection() -> Selection:
    results = [
        probed(f"{domain}/{n}", text, domain=domain)
        for domain in ("retail", "travel")
        for n, text in enumerate(TEXTS)
    ]
    return curate([r.task for r in results], results, curation())


@pytest.fixture(scope="module")
def selection() -> Selection:
    return small_selection()


def test_pool_files_hold_the_split_and_nothing_else(selection: Selection, tmp_path: Path) -> None:
    write_selection(selection, tmp_path, PROVENANCE)
    train, test = read_pool(tmp_path / "train.yaml"), read_pool(tmp_path / "test.yaml")
    assert train.uids == tuple(d.uid for d in selection.side("train"))
    assert test.uids == tuple(d.uid for d in selection.side("test"))
    entry = next(t for t in (*train.tasks, *test.tasks) if t["uid"] == "retail/3")
    assert entry == {
        "uid": "retail/3",
        "domain": "retail",
        "family": "returns",
        "hash": "hash of retail/3",
        "band": "intermediate",
        "passes": 4,
        "clean_runs": 8,
        "posterior_mean": 0.5,
        "band_probability": 0.444555,
    }
    assert train.provenance["policy"] == POLICY
    assert train.provenance["simulated"] is True
    header = (tmp_path / "train.yaml").read_text().split("\n")[0]
    assert header.endswith("by their difficulty for the simulated policy.")


def test_any_yaml_reader_reads_the_same_pool(selection: Selection, tmp_path: Path) -> None:
    write_selection(selection, tmp_path, PROVENANCE)
    plain = yaml.safe_load((tmp_path / "train.yaml").read_bytes())
    assert plain == read_yaml(tmp_path / "train.yaml")


@pytest.mark.parametrize(
    "uid",
    [
        "1e3",
        "no",
        "0x1F",
        "2026-03-02",
        "1:30",
        "a: b",
        "# x",
        "~",
        "é\u2028\U0001f600\x85",
        "y\n- z",
        "0o17",
        ".inf",
        "null",
        "'",
        '"',
        " x ",
    ],
)
def test_text_that_yaml_takes_for_something_else_stays_text(uid: str, tmp_path: Path) -> None:
    chosen = curate([task(uid), task("b")], [result(uid, 4, 8), result("b", 4, 8)], curation())
    write_selection(chosen, tmp_path, PROVENANCE)
    pools = [yaml.safe_load((tmp_path / f"{s}.yaml").read_bytes()) for s in ("train", "test")]
    assert {t["uid"] for pool in pools for t in pool["tasks"]} == {uid, "b"}
    assert {u for s in ("train", "test") for u in read_pool(tmp_path / f"{s}.yaml").uids} == {
        uid,
        "b",
    }
    with (tmp_path / "bands.csv").open(encoding="utf-8", newline="") as file:
        assert uid in [line["uid"] for line in csv.DictReader(file)]


def test_the_manifest_vouches_for_every_file(selection: Selection, tmp_path: Path) -> None:
    paths = write_selection(selection, tmp_path, PROVENANCE)
    assert [path.name for path in paths] == [
        "curation.yaml",
        "inputs.json",
        "train.yaml",
        "test.yaml",
        "bands.csv",
        "bands.png",
        "bands.html",
        "manifest.json",
    ]
    manifest = verify(tmp_path)
    for name, digest in manifest["outputs"].items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest
    assert manifest["outputs"].keys() == {
        "train.yaml",
        "test.yaml",
        "bands.csv",
        "bands.png",
        "bands.html",
    }
    assert manifest["inputs"]["episodes"]["digest"] == PROVENANCE.episodes
    assert manifest["inputs"]["tasks"] == tasks_digest(d.task for d in selection.decisions)
    assert manifest["seed"] == 0
    assert manifest["settings"]["exclude"]["uids"] == 0
    assert "sources" not in manifest["settings"]
    assert manifest["figures"]["kept"] == len(selection.kept)
    assert "scipy" in manifest["versions"]
    for name in ("bands.csv", "bands.png"):
        (tmp_path / name).write_bytes(b"edited")
        with pytest.raises(InputError, match=rf"{name}: is not the file"):
            verify(tmp_path)
        write_selection(selection, tmp_path, PROVENANCE)
    (tmp_path / "train.yaml").unlink()
    with pytest.raises(InputError, match=r"train\.yaml: is not the file"):
        verify(tmp_path)


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        verify(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        verify(tmp_path)
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(InputError, match="format"):
        verify(tmp_path)


def run_all(folder: Path, out: Path, order: int) -> dict[str, bytes]:
    rows = [r for n, text in enumerate(TEXTS) for r in probe_rows(f"t{n}", text)]
    rows = [plain | {"timing": {"total": order}} for plain in rows[::order]]
    path = write_rows(folder / "deep" / "episodes.jsonl", rows)
    episodes = read_episodes([path])
    settings_ = curation(sources={"episodes": [str(path)]})
    write_selection(
        curate(episodes.tasks, task_results(episodes), settings_), out, Provenance.of(episodes)
    )
    # inputs.json names the files, which differ; what they hold is the same.
    return {file.name: file.read_bytes() for file in out.iterdir() if file.name != "inputs.json"}


def test_the_same_inputs_give_the_same_bytes_wherever_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_all(tmp_path / "one", tmp_path / "one" / "out", 1)
    # Neither the user's chart style nor the order and timing of the rows may show.
    monkeypatch.setitem(mpl.rcParams, "font.size", 20.0)
    monkeypatch.setitem(mpl.rcParams, "axes.facecolor", "black")
    second = run_all(tmp_path / "elsewhere" / "two", tmp_path / "elsewhere" / "two" / "out", -1)
    assert first == second
    for name, content in first.items():
        assert str(tmp_path).encode() not in content, name
    assert mpl.rcParams["font.size"] == 20.0


def test_another_process_and_hash_seed_give_the_same_bytes(selection: Selection) -> None:
    here = {
        name: hashlib.sha256(content).hexdigest()
        for name, content in selection_files(selection, PROVENANCE).items()
    }
    code = (
        "import hashlib, json, test_selection_files as t;"
        "made = t.selection_files(t.small_selection(), t.PROVENANCE);"
        "print(json.dumps({n: hashlib.sha256(c).hexdigest() for n, c in made.items()}))"
    )
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == here


def test_no_time_of_day_stands_in_the_chart(selection: Selection) -> None:
    png = selection_files(selection, PROVENANCE)["bands.png"]
    assert png.startswith(b"\x89PNG")
    for chunk in (b"tEXt", b"iTXt", b"tIME", b"Software"):
        assert chunk not in png


def test_the_table_has_every_task_and_number(selection: Selection) -> None:
    text = selection_files(selection, PROVENANCE)["bands.csv"].decode()
    lines = {line["uid"]: line for line in csv.DictReader(io.StringIO(text))}
    assert list(lines) == [d.uid for d in selection.decisions]
    assert lines["retail/1"]["band"] == "difficult"
    assert lines["retail/1"]["mass_difficult"] == "0.683148"
    assert lines["retail/1"]["mixed_share"] == "0.654912"
    assert lines["retail/1"]["kept"] == "true"
    assert lines["retail/0"]["reason"] == "rarely_solved"
    assert lines["retail/6"]["reason"] == "undecided"
    assert lines["retail/6"]["band"] == ""
    assert lines["retail/6"]["system_errors"] == "2"
    assert lines["retail/7"]["posterior_mean"] == ""
    for decision in selection.decisions:
        if decision.estimate:
            line = lines[decision.uid]
            masses = [float(line[name]) for name in line if name.startswith("mass_")]
            assert sum(masses) == pytest.approx(1, abs=5e-6)


def test_a_stopped_task_has_no_rate_in_any_file(tmp_path: Path) -> None:
    results = [probed("a", "PF"), probed("b", "PPPPPPPF")]
    chosen = curate(
        [r.task for r in results],
        results,
        curation(probe={"stop": "exact"}, split={"test_fraction": 0}),
    )
    write_selection(chosen, tmp_path, PROVENANCE)
    stopped, full = read_pool(tmp_path / "train.yaml").tasks
    assert (stopped["band"], stopped["posterior_mean"], stopped["band_probability"]) == (None,) * 3
    assert full["band"] == "frequently_solved"
    line = (tmp_path / "bands.csv").read_text().split("\n")[1]
    assert line.startswith("a,retail,returns,1,2,0,2,,,,,,,,,,0.")
    assert read_pool(tmp_path / "test.yaml").tasks == ()


def test_an_empty_pool_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(EmptyPoolError) as caught:
        curate([task("a")], [result("a", 0, 8)], curation())
    with pytest.raises(EmptyPoolError):
        write_selection(caught.value.selection, tmp_path / "out", PROVENANCE)
    assert not (tmp_path / "out").exists()


def test_a_failed_write_leaves_what_was_there(
    selection: Selection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_selection(selection, tmp_path, PROVENANCE)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    calls = 0

    def full_disk(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    changed = Provenance("another policy", "1" * 64, 1)
    with pytest.raises(InputError, match="No space left on device"):
        write_selection(selection, tmp_path, changed)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_files_are_for_the_team(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        (path,) = write_files(tmp_path / "new" / "folder", {"a.txt": b"x"})
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks: []\n", "pool.format"),
        ("pool: {format: other/9}\ntasks: []\n", 'found "other/9"'),
        (POOL, "tasks: is no list"),
        (POOL + "tasks: [{uid: a}]\n", "tasks.0.domain: is null"),
        (POOL + "tasks: [a]\n", "tasks.0.uid"),
        (POOL + "tasks: [&t {uid: a, domain: b, family: c, hash: d}, *t]\n", "stands twice"),
    ],
)
def test_a_file_that_is_no_pool_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "train.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_pool(path)


def test_a_task_list_survives_the_way_through_a_file(tmp_path: Path) -> None:
    tasks = [
        task("b", tags=("long", "é")),
        task("a\u2028", domain="travel"),
        TaskInfo("c", "d", "f", (), "h"),
    ]
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(tasks_jsonl(tasks))
    assert read_tasks(path) == tuple(sorted(tasks, key=lambda t: t.uid))
    assert (
        tasks_digest(tasks)
        == tasks_digest(reversed(tasks))
        == hashlib.sha256(path.read_bytes()).hexdigest()
    )
    assert read_tasks(path)[-1].content == "h"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no task"),
        ("[1]\n", "tasks.jsonl:1: is not an object"),
        ("{\n", "tasks.jsonl:1: is not JSON"),
        ('{"uid": "a", "domain": "d", "family": "f"}\n', "tasks.jsonl:1: hash"),
        (
            "".join(
                f'{{"uid": "a", "domain": "d", "family": "f", "hash": "{n}"}}\n' for n in (1, 2)
            ),
            "tasks.jsonl:2: uid: .* stands twice",
        ),
    ],
)
def test_a_task_list_off_the_contract_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_tasks(path)


@pytest.mark.parametrize(
    ("policy", "phrase"),
    [
        ({"name": "openai", "model": "m-1", "simulated": False}, "the policy openai m-1"),
        ({"name": "golden", "simulated": True}, "the simulated policy golden"),
        ({"name": "simulated", "simulated": True}, "the simulated policy"),
        ({"simulated": "yes"}, 'the policy {"simulated": "yes"}'),
        ("a\nb", "the policy a b"),
        (None, "the policy that the rows do not name"),
    ],
)
def test_a_policy_in_a_sentence(policy: Any, phrase: str) -> None:
    assert Provenance(policy, "0", 1).policy_phrase == phrase
