"""The sources of one settings file, from the command: policies, forms, benchmarks, and again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from outcomebox.selection.select_command import app
from selection_rows import probe_rows, write_rows

QUERY = "please cancel my order number {} and send the money back to my card"
TEXTS = {"a/b/1": "PFPFPFPF", "a/b/2": "PPFFPPFF", "a/b/3": "PFFFFFFF", "a/b/4": "PPPPFFFF"}


def select(*arguments: Any) -> Result:
    return CliRunner().invoke(
        app, [str(argument) for argument in arguments], env={"COLUMNS": "100", "NO_COLOR": "1"}
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = [r for uid, text in TEXTS.items() for r in probe_rows(uid, text, domain="a", family="b")]
    write_rows(tmp_path / "run" / "episodes.jsonl", rows)
    lines = [{"uid": uid, "query": QUERY.format(n)} for n, uid in enumerate(TEXTS)]
    (tmp_path / "texts").mkdir()
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "texts" / "tasks.jsonl").write_text(text)
    (tmp_path / "bench.jsonl").write_text(
        json.dumps({"uid": "bench/1", "query": QUERY.format(2).upper()}) + "\n"
    )
    return tmp_path / "run"


def test_a_benchmark_and_its_near_copies_are_left_out_and_shown(run: Path) -> None:
    near = ["--exclude-content", run.parent / "bench.jsonl", "--tasks", run.parent / "texts"]
    shown = select("--episodes", run, *near, "--json")
    plain = json.loads(shown.stdout)
    assert plain["not_kept"] == {"near_copy": ["a/b/3"]}
    assert any("a/b/3 is a near copy of bench/1: text 1.00" in note for note in plain["notes"])
    told = select("--episodes", run, *near, "--explain", "a/b/3")
    assert "near copy of bench/1: text 1.00" in told.output
    refused = select("--episodes", run, *near[:2])
    assert refused.exit_code == 2
    assert "needs the texts of all tasks, and has none of 'a/b/1'" in refused.stderr


def test_near_duplicates_are_left_out_where_that_is_asked_for(run: Path, tmp_path: Path) -> None:
    config = tmp_path / "curation.yaml"
    config.write_text(
        "sources: {episodes: [run], tasks: [./texts]}\n"
        "gates: {duplicates: near}\nexclude: {similarity: 0.5}\n"
    )
    plain = json.loads(select("--config", config, "--json").stdout)
    assert plain["not_kept"]["duplicate"] == ["a/b/2", "a/b/3", "a/b/4"]


def test_of_several_policies_one_decides_and_another_shows_what_can_be_solved(
    run: Path, tmp_path: Path
) -> None:
    strong = [r for uid in TEXTS for r in probe_rows(uid, "PPPF" if uid != "a/b/4" else "FFFF")]
    strong = [r | {"domain": "a", "family": "b", "policy": {"name": "strong"}} for r in strong]
    write_rows(tmp_path / "strong.jsonl", strong)
    both = ["--episodes", run, "--episodes", tmp_path / "strong.jsonl"]
    assert "or the policy with --policy" in select(*both).stderr
    model = ["--policy", "simulated", "--reference-model", tmp_path / "strong.jsonl"]
    plain = json.loads(select(*both, *model, "--json").stdout)
    assert plain["not_kept"] == {"unsolved": ["a/b/4"]}
    assert plain["episodes"]["other_policies"] == {"strong": 16}
    assert any("16 rows of other policies (strong) decide nothing" in n for n in plain["notes"])


def test_rows_of_other_forms_are_read_as_the_settings_say(tmp_path: Path) -> None:
    rows = [{"id": f"t{k}", "n": n, "ok": n < k, "area": "x"} for k in range(9) for n in range(8)]
    text = "".join(json.dumps(plain) + "\n" for plain in rows)
    (tmp_path / "rows.jsonl").write_text(text)
    config = tmp_path / "curation.yaml"
    config.write_text(
        "sources:\n  episodes: [rows.jsonl]\n"
        "  fields: {uid: id, repetition: n, outcome: ok, domain: area, family: area}\n"
    )
    plain = json.loads(select("--config", config, "--json").stdout)
    assert plain["figures"]["kept"] == 7
    flags = ["--field", "uid=id", "--field", "repetition=n", "--field", "outcome=ok"]
    refused = select("--episodes", tmp_path / "rows.jsonl", *flags)
    assert "domain: is not told of 't0' and 8 other tasks" in refused.stderr
    for wrong, said in (("x=y", "sources.fields.x"), ("uid", "'uid' is no pair")):
        refused = select("--episodes", tmp_path / "rows.jsonl", "--field", wrong)
        assert refused.exit_code == 2
        assert said in refused.stderr


def test_a_pool_comes_out_the_same_again_and_what_differs_is_named(
    run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pools" / "first"
    assert select("--episodes", run, "--seed", 3, "--out", out).exit_code == 0
    again = select("--rerun", out)
    assert again.exit_code == 0, again.output
    assert "files are what the manifest says, and come out the same again" in " ".join(
        again.output.split()
    )
    (out / "bands.csv").write_text("edited")
    rows = run / "episodes.jsonl"
    kept = rows.read_bytes()
    rows.write_bytes(kept[: kept.rfind(b"\n", 0, -1) + 1])
    again = select("--rerun", out, "--json")
    assert again.exit_code == 1
    said = json.loads(again.stdout)["differences"]
    assert any("bands.csv is not the file that manifest.json names" in one for one in said)
    assert "The input episodes.jsonl (episodes) is not there as it was." in said
    assert "train.yaml comes out otherwise." in said
    rows.unlink()
    assert select("--rerun", out).exit_code == 2
    assert select("--rerun", tmp_path).exit_code == 2


def test_identical_rows_change_nothing_and_are_told(run: Path, tmp_path: Path) -> None:
    rows = (run / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    write = tmp_path / "copy.jsonl"
    write.write_bytes(b"".join(rows[::-1][:10]))
    outs = [tmp_path / "one", tmp_path / "two"]
    select("--episodes", run, "--out", outs[0])
    shown = select("--episodes", run, write, "--out", outs[1])
    assert "10 rows stood there twice, the same; each counts once" in " ".join(shown.output.split())
    for name in ("train.yaml", "test.yaml", "bands.csv"):
        assert (outs[0] / name).read_bytes() == (outs[1] / name).read_bytes()
