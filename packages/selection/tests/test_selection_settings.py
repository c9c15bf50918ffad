"""`curation.yaml`: defaults, flags, paths, and errors that say how to mend it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outcomebox.selection import Curation, InputError, load_curation, resolve_excluded
from outcomebox.selection.settings_file import curation_text


def settings_file(folder: Path, text: str, name: str = "curation.yaml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_an_empty_file_and_no_file_are_the_defaults(tmp_path: Path) -> None:
    plain = load_curation(settings_file(tmp_path, "# nothing yet\n"))
    assert plain == load_curation(None) == Curation()
    assert plain.probe.attempts == 8
    assert plain.gates.min_clean_runs == 4
    assert plain.bands.edges == (0, 0.08, 0.40, 0.60, 0.90, 1)
    assert plain.bands.retain == ("difficult", "intermediate", "frequently_solved")
    assert plain.split.test_fraction == 0.2
    assert plain.split.by == ("domain", "band")
    assert plain.group_size == 8


def test_flags_win_over_the_file_and_the_file_over_defaults(tmp_path: Path) -> None:
    path = settings_file(tmp_path, "split: {seed: 3, test_fraction: 0.5}\ngroup_size: 4\n")
    found = load_curation(path, {"split.seed": 9, "group_size": None, "gates.min_clean_runs": 2})
    assert (found.split.seed, found.split.test_fraction) == (9, 0.5)
    assert (found.group_size, found.gates.min_clean_runs) == (4, 2)


def test_retained_bands_are_put_in_order_once(tmp_path: Path) -> None:
    path = settings_file(tmp_path, "bands: {retain: [intermediate, difficult, intermediate]}\n")
    assert load_curation(path).bands.retain == ("difficult", "intermediate")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("grup_size: 8\n", "grup_size: is no field of the settings .* Write group_size"),
        ("split: {sed: 1}\n", "split.sed: .* Write seed"),
        ("split: {colour: 1}\n", "The fields are test_fraction, by, keep_together, seed"),
        ("- a\n", "is not a mapping"),
        ("split: 3\n", "split: .*found 3. Write a mapping"),
        ("split: {seed: one}\n", 'split.seed: .*found "one". Write a whole number'),
        ("split: {seed: -1}\n", "split.seed: .*found -1. Write a number from 0"),
        (
            "split: {test_fraction: 1}\n",
            "split.test_fraction: .*found 1. Write a number less than 1",
        ),
        ("split: {test_fraction: '0.1'}\n", "split.test_fraction: .*Write a number without quotes"),
        ("split: {by: [colour]}\n", "split.by.0: .*'domain', 'band' or 'family', found \"colour\""),
        ("split: {by: [family], keep_together: family}\n", "split: .*Take family out of one"),
        ("gates: {min_clean_runs: 0}\n", "gates.min_clean_runs: .*found 0. Write a number from 1"),
        ("gates: {min_clean_runs: true}\n", "gates.min_clean_runs: .*found true. Write a whole"),
        ("bands: {retain: [easy]}\n", "no band 'easy' .found \\[\"easy\"\\].. Use some of rarely_"),
        ("bands: {retain: []}\n", "bands.retain: .*Name at least one"),
        ("bands: {retain: difficult}\n", "bands.retain: .*Write a list"),
        ("bands: {edges: [0, 0.5, 1]}\n", "bands.edges: there are 3 edges .*Give for example"),
        ("bands: {edges: [0, 0.4, 0.1, 0.6, 0.9, 1]}\n", "bands.edges: .*Sort them"),
        ("probe: {stop: sometimes}\n", "probe.stop: .*'exact' or 'bayes', found \"sometimes\""),
        ("exclude: {uids: [1]}\n", "exclude.uids.0: .*found 1. Write text"),
        ("exclude: {uids: ['']}\n", "exclude.uids.0: .*Write at least one character"),
        ("probe: {policy_options: [a]}\n", "probe.policy_options: .*Write a mapping"),
        ("split: {seed: 1}\nsplit: {seed: 2}\n", "curation.yaml:2:1: .*stands twice"),
    ],
)
def test_a_wrong_setting_names_file_field_value_and_mend(
    tmp_path: Path, text: str, said: str
) -> None:
    path = settings_file(tmp_path, text)
    with pytest.raises(InputError, match=said) as caught:
        load_curation(path)
    assert caught.value.where.startswith(str(path))
    assert caught.value.mend


def test_a_wrong_flag_is_laid_on_the_command_line(tmp_path: Path) -> None:
    path = settings_file(tmp_path, "split: {seed: 3}\n")
    with pytest.raises(InputError, match="command line: group_size"):
        load_curation(path, {"group_size": 0})
    with pytest.raises(InputError, match=r"command line: bands\.retain"):
        load_curation(path, {"bands.retain": ["easy"]})


def test_paths_are_relative_to_the_file_that_holds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "sources:\n"
        "  tasks: [retail, lists/tasks.jsonl]\n"
        "  episodes: [../runs/*/episodes.jsonl]\n"
        "exclude: {lists: [held-out.txt]}\n"
    )
    settings_file(tmp_path / "conf", text)
    settings_file(tmp_path / "conf", "x\n", "held-out.txt")
    monkeypatch.chdir(tmp_path)
    found = load_curation(Path("conf/curation.yaml"), {"sources.reference": ["golden"]})
    assert found.sources.tasks == ("retail", "conf/lists/tasks.jsonl")
    assert found.sources.episodes == ("runs/*/episodes.jsonl",)
    assert found.exclude.lists == ("conf/held-out.txt",)
    assert found.sources.reference == ("golden",)
    resolved, _ = resolve_excluded(found)
    saved = settings_file(tmp_path / "out" / "pool", curation_text(resolved, Path("out/pool")))
    assert load_curation(saved.relative_to(tmp_path)) == resolved


def test_excluded_uids_of_all_kinds_come_together(tmp_path: Path) -> None:
    plain = settings_file(tmp_path, "# held out\na\n\n  b#1\n", "one.txt")
    listed = settings_file(tmp_path, "[c, d]\n", "two.yaml")
    pool = settings_file(tmp_path, "pool: {}\ntasks: [{uid: e}, {uid: a}]\n", "test.yaml")
    found = Curation.model_validate(
        {"exclude": {"uids": ["z"], "lists": [str(path) for path in (plain, listed, pool, plain)]}}
    )
    resolved, lists = resolve_excluded(found)
    assert resolved.exclude.uids == ("a", "b#1", "c", "d", "e", "z")
    assert resolved.exclude.lists == ()
    assert [(item.name, item.uids) for item in lists] == [
        ("one.txt", ("a", "b#1")),
        ("test.yaml", ("a", "e")),
        ("two.yaml", ("c", "d")),
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "# nothing\n", "names no uid"),
        ("a.yaml", "tasks: []\n", "names no uid"),
        ("a.yaml", "x: 1\n", "neither a list"),
        ("a.yaml", "[1e3]\n", "uid: is not text: 1000.0"),
        ("a.yaml", "[{name: x}]\n", "uid: is not text: null"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    path = settings_file(tmp_path, text, name)
    with pytest.raises(InputError, match=said) as caught:
        resolve_excluded(Curation.model_validate({"exclude": {"lists": [str(path)]}}))
    assert caught.value.where == str(path)


def test_a_list_that_is_not_there_is_refused(tmp_path: Path) -> None:
    lists = {"exclude": {"lists": [str(tmp_path / "absent.txt")]}}
    with pytest.raises(InputError, match=r"absent\.txt: cannot be read"):
        resolve_excluded(Curation.model_validate(lists))


@pytest.mark.parametrize(
    "change",
    [
        {"sources": {"episodes": ["elsewhere"]}},
        {"probe": {"policy": "other", "seed": 5, "concurrency": 9}},
    ],
)
def test_where_things_lie_decides_nothing(change: dict[str, Any]) -> None:
    assert Curation.model_validate(change).deciding() == Curation().deciding()


@pytest.mark.parametrize(
    "change",
    [
        {"split": {"seed": 1}},
        {"bands": {"retain": ["difficult"]}},
        {"gates": {"min_clean_runs": 5}},
        {"exclude": {"uids": ["a"]}},
        {"probe": {"stop": "exact"}},
        {"group_size": 4},
    ],
)
def test_what_decides_is_in_the_digest(change: dict[str, Any]) -> None:
    assert Curation.model_validate(change).deciding() != Curation().deciding()
