from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tools.release import building, changelog, checkout, cli, examples, upload
from tools.release.alone import install_alone
from tools.release.building import Built
from tools.release.packages import (
    Package,
    ReleaseError,
    bad_ranges,
    chosen,
    load,
    load_all,
    needed,
    next_version,
    set_version,
)

CHANGES = "# Changes\n\n## Unreleased\n\n- Reads more.\n\n## 0.1.0\n\nThe first.\n"
README = "# low\n\n```python\n>>> 1 + 1\n2\n\n```\n"


def write_package(root: Path, short: str, version: str, *requires: str) -> Path:
    folder = root / "packages" / short
    module = folder / "src" / "outcomebox" / short
    module.mkdir(parents=True)
    (module / "__init__.py").write_text('"""It."""\n', "utf-8")
    (module / "py.typed").write_text("", "utf-8")
    lines = ", ".join(f'"{each}"' for each in requires)
    (folder / "pyproject.toml").write_text(
        "[build-system]\nrequires = []\nbuild-backend = 'none'\n\n"
        f'[project]\nname = "outcomebox-{short}"\nversion = "{version}"\n'
        f'description = "It."\ndependencies = [{lines}]\n',
        "utf-8",
    )
    (folder / "README.md").write_text(README, "utf-8")
    (folder / "CHANGELOG.md").write_text(CHANGES, "utf-8")
    return folder


def commit(root: Path) -> None:
    settings = ["-c", "user.name=n", "-c", "user.email=e@e"]
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", *settings, "commit", "-qm", "m"], cwd=root, check=True)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of three packages, each of which needs the one before."""
    root = tmp_path / "repository"
    write_package(root, "low", "0.1.0")
    write_package(root, "middle", "0.1.0", "outcomebox-low>=0.1,<0.2", "other>=1")
    write_package(root, "atop", "0.1.0", "outcomebox-middle>=0.1,<0.2")
    (root / "LICENSE").write_text("MIT\n", "utf-8")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    commit(root)
    monkeypatch.setattr(cli, "ROOT", root)
    monkeypatch.setattr("tools.wheels.check.ROOT", root)
    return root


# -- packages and versions ------------------------------------------------------------------------


def test_packages_come_behind_those_they_need(root: Path) -> None:
    packages = load_all(root)
    assert [each.short for each in chosen(packages, [])] == ["low", "middle", "atop"]
    assert [each.short for each in chosen(packages, ["atop", "low"])] == ["low", "atop"]
    assert [each.short for each in needed(packages, packages["atop"])] == ["low", "middle"]
    with pytest.raises(ReleaseError, match="no package 'hi'; there are: atop, low, middle"):
        chosen(packages, ["hi"])


def test_a_folder_without_packages_is_no_checkout(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="run it from a checkout"):
        load_all(tmp_path)


def test_a_range_that_leaves_out_the_version_is_named(root: Path) -> None:
    assert list(bad_ranges(load_all(root))) == []
    set_version(load(root / "packages/low"), "0.2.0")
    (problem,) = bad_ranges(load_all(root))
    assert "packages/middle/pyproject.toml: outcomebox-low<0.2,>=0.1 leaves out" in problem
    assert "outcomebox-low 0.2.0" in problem


@pytest.mark.parametrize(
    ("current", "wanted", "new"),
    [
        ("0.1.0", "patch", "0.1.1"),
        ("0.1.9", "minor", "0.2.0"),
        ("0.1.9", "major", "1.0.0"),
        ("1.2", "patch", "1.2.1"),
        ("0.1.0", "0.2.0rc1", "0.2.0rc1"),
    ],
)
def test_the_next_version(current: str, wanted: str, new: str) -> None:
    assert next_version(current, wanted) == new


@pytest.mark.parametrize("wanted", ["0.1.0", "0.0.9", "1.0.0+local", "01.0.0", "v2.0.0"])
def test_a_version_that_does_not_follow_is_refused(wanted: str) -> None:
    with pytest.raises(ReleaseError, match=r"does not follow 0\.1\.0"):
        next_version("0.1.0", wanted)
    with pytest.raises(ReleaseError, match="'soon' is neither a version nor one of major, minor"):
        next_version("0.1.0", "soon")


def test_a_version_is_set_in_its_own_line_only(root: Path) -> None:
    folder = root / "packages/low"
    file = folder / "pyproject.toml"
    file.write_text(file.read_text("utf-8") + '\n[tool.x]\nold-version = "0.1.0"\n', "utf-8")
    set_version(load(folder), "0.1.1")
    assert load(folder).version == "0.1.1"
    assert 'old-version = "0.1.0"' in file.read_text("utf-8")
    file.write_text(file.read_text("utf-8") + 'version = "0.1.1"\n', "utf-8")
    with pytest.raises(ReleaseError, match="does not stand there exactly once"):
        set_version(load(folder), "0.1.2")


# -- changes --------------------------------------------------------------------------------------


def test_coming_changes_get_their_version(tmp_path: Path) -> None:
    file = tmp_path / "CHANGELOG.md"
    file.write_text(CHANGES, "utf-8")
    text = changelog.release(file, "0.1.1")
    assert changelog.section(text, "0.1.1") == "- Reads more."
    assert changelog.section(text, "0.1.0") == "The first."
    assert changelog.section(text, "0.1") is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "is missing; begin it with"),
        ("# Changes\n\n## 0.1.0\n\nThe first.\n", "no changes below `## Unreleased`"),
        ("## Unreleased\n\n## 0.1.0\n\nThe first.\n", "no changes below `## Unreleased`"),
        ("## Unreleased\n\n- More.\n\n## 0.1.1\n\nIt.\n", "has a section `## 0.1.1` already"),
    ],
)
def test_a_version_without_changes_is_refused(
    tmp_path: Path, text: str | None, complaint: str
) -> None:
    file = tmp_path / "CHANGELOG.md"
    if text is not None:
        file.write_text(text, "utf-8")
    with pytest.raises(ReleaseError, match=complaint):
        changelog.release(file, "0.1.1")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# Changes\n", "says nothing of 0.1.0"),
        ("## 0.1.0\n\n## 0.0.1\n\nOld.\n", "says nothing of 0.1.0"),
        (CHANGES, "give them a version with `bump`"),
    ],
)
def test_a_release_tells_its_changes(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "CHANGELOG.md"
    file.write_text(text, "utf-8")
    with pytest.raises(ReleaseError, match=complaint):
        changelog.require(file, "0.1.0")


# -- the checkout ---------------------------------------------------------------------------------


def test_a_checkout_that_is_not_clean_is_refused(root: Path) -> None:
    checkout.require_clean(root)
    for number in range(12):
        (root / f"new-{number:02}").write_text("", "utf-8")
    with pytest.raises(ReleaseError, match=r"is not clean(?s:.*)\?\? new-00(?s:.*)and 2 more"):
        checkout.require_clean(root)


def test_a_version_that_is_out_is_refused(root: Path) -> None:
    checkout.require_new(root, "low-v0.1.0")
    checkout.git(root, "tag", "low-v0.1.0")
    checkout.require_new(root, "low-v0.1.0")  # the commit that is being released
    (root / "more").write_text("", "utf-8")
    commit(root)
    with pytest.raises(ReleaseError, match="that version is out; `bump` before a release"):
        checkout.require_new(root, "low-v0.1.0")


def test_what_is_built_is_the_commit(root: Path, tmp_path: Path) -> None:
    folder = root / "packages/low"
    (folder / "README.md").write_text("changed", "utf-8")
    (folder / "new").write_text("", "utf-8")
    exported = checkout.export(root, folder, tmp_path / "out")
    assert (exported / "README.md").read_text("utf-8") == README
    assert not (exported / "new").exists()


# -- files ----------------------------------------------------------------------------------------


def metadata(short: str, **changed: str | None) -> str:
    fields: dict[str, str | None] = {
        "Metadata-Version": "2.4",
        "Name": f"outcomebox-{short}",
        "Version": "0.1.0",
        "Summary": "It.",
        "Requires-Python": ">=3.11,<3.13",
        "License-Expression": "MIT",
        "Description-Content-Type": "text/markdown",
        **{name.replace("_", "-"): value for name, value in changed.items() if name != "readme"},
    }
    head = "".join(f"{name}: {value}\n" for name, value in fields.items() if value is not None)
    return f"{head}\n{changed.get('readme', README)}"


def pack(folder: Path, out: Path, wheel_text: str, sdist_text: str | None = None) -> Built:
    """Write a wheel and a source distribution by hand: what is tested is no build backend."""
    out.mkdir(parents=True, exist_ok=True)
    stem = f"outcomebox_{folder.name}-0.1.0"
    built = Built(out / f"{stem}-py3-none-any.whl", out / f"{stem}.tar.gz")
    info = f"{stem}.dist-info"
    files = {
        each.relative_to(folder / "src").as_posix(): each.read_bytes()
        for each in (folder / "src").rglob("*")
        if each.is_file()
    }
    with zipfile.ZipFile(built.wheel, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr(f"{info}/METADATA", wheel_text)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/licenses/LICENSE", "MIT\n")
        archive.writestr(f"{info}/entry_points.txt", "")
        archive.writestr(f"{info}/RECORD", "")
    packed = {
        "PKG-INFO": wheel_text if sdist_text is None else sdist_text,
        "pyproject.toml": "",
        "README.md": "",
        "LICENSE": "",
        **{f"src/{name}": "" for name in files},
    }
    with tarfile.open(built.sdist, "w:gz") as archive:
        for name, text in packed.items():
            member = tarfile.TarInfo(f"{stem}/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return built


def test_files_that_an_index_takes(root: Path, tmp_path: Path) -> None:
    folder = root / "packages/low"
    built = pack(folder, tmp_path / "out", metadata("low", Requires_Dist="other>=1"))
    assert list(upload.problems(load(folder), built)) == []
    wheel, sdist = upload.files(built)
    assert (wheel.path, sdist.path) == built
    assert len(wheel.sha256) == 64
    assert wheel.size == built.wheel.stat().st_size


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"Summary": None}, "has no Summary"),
        ({"Requires_Python": None}, "has no Requires-Python"),
        ({"Version": "0.2.0"}, "says it is outcomebox-low 0.2.0"),
        ({"Description_Content_Type": "text/plain"}, "Description-Content-Type is 'text/plain'"),
        ({"Requires_Dist": "other @ file:///x"}, "an index takes no address"),
        ({"Requires_Dist": "other=1"}, "Requires-Dist 'other=1':"),
        ({"readme": " \n"}, "has no long description"),
        ({"readme": "See /home/me/notes."}, "names a path of somebody's machine"),
    ],
)
def test_metadata_that_an_index_refuses(
    root: Path, tmp_path: Path, changed: dict[str, str | None], complaint: str
) -> None:
    folder = root / "packages/low"
    built = pack(folder, tmp_path / "out", metadata("low", **changed))
    found = list(upload.problems(load(folder), built))
    assert found
    assert all(complaint in each for each in found)


def test_both_files_say_the_same_and_are_called_alike(root: Path, tmp_path: Path) -> None:
    package = load(root / "packages/low")
    built = pack(package.folder, tmp_path, metadata("low"), metadata("low", Summary="Other."))
    (problem,) = upload.problems(package, built)
    assert problem.endswith("its PKG-INFO is not the wheel's METADATA")
    other = package._replace(version="0.3.0")
    assert "called outcomebox-low 0.1.0, expected outcomebox-low 0.3.0" in next(
        upload.problems(other, built)
    )


# -- examples -------------------------------------------------------------------------------------


def test_examples_run_in_order_and_illustrations_do_not(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(
        "```python\nx = 2\n```\n\n```python\n>>> x + 1\n3\n\n```\n\n"
        "```python illustration\nraise\n```\n\n```sh\nfalse\n```\n",
        "utf-8",
    )
    assert examples.run(page) == 2


@pytest.mark.parametrize(
    ("code", "error"),
    [(">>> 1 + 1\n3\n", AssertionError), ("import nothing_of_that_name\n", ImportError)],
)
def test_an_example_that_does_not_hold_fails(
    tmp_path: Path, code: str, error: type[Exception]
) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"# A\n\n```python\n{code}```\n", "utf-8")
    with pytest.raises(error):
        examples.run(page)


def test_a_wheel_is_installed_alone_and_its_examples_run_there(root: Path, tmp_path: Path) -> None:
    package = load(root / "packages/low")
    built = pack(package.folder, tmp_path / "out", metadata("low"))
    said = install_alone(package, built.wheel, [])
    assert said == "1 distributions installed, 1 examples of the README run"


# -- commands -------------------------------------------------------------------------------------


@pytest.fixture
def fake_build(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Builds by hand and installs nothing; gives what was sent to an index."""
    sent: list[str] = []

    def build(root: Path, package: Package, out: Path) -> Built:
        return pack(package.folder, out, metadata(package.short))

    def send(built: list[Built], repository: str) -> str:
        sent.extend(f"{repository} {each.wheel.name}" for each in built)
        return "sent"

    monkeypatch.setattr(cli, "build", build)
    monkeypatch.setattr(cli, "install_alone", lambda *_: "installed")
    monkeypatch.setattr(cli, "wheel_problems", lambda *_: [])
    monkeypatch.setattr(upload, "send", send)
    return sent


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def released(root: Path) -> None:
    for file in root.glob("packages/*/CHANGELOG.md"):
        file.write_text("# Changes\n\n## 0.1.0\n\nThe first.\n", "utf-8")
    commit(root)


def test_bump_sets_version_and_changes_and_tells_whose_range_is_too_narrow(root: Path) -> None:
    status, said = run("bump", "low", "patch")
    assert status == 0
    assert "outcomebox-low: 0.1.0 -> 0.1.1" in said
    assert load(root / "packages/low").version == "0.1.1"
    assert "## 0.1.1\n" in (root / "packages/low/CHANGELOG.md").read_text("utf-8")
    status, said = run("bump", "middle", "minor")
    assert status == 2
    assert load(root / "packages/middle").version == "0.2.0"
    assert "packages/atop/pyproject.toml: outcomebox-middle<0.2,>=0.1 leaves out" in said


def test_bump_without_changes_touches_nothing(root: Path) -> None:
    released(root)
    status, said = run("bump", "low", "patch")
    assert status == 2
    assert "no changes below `## Unreleased`" in said
    checkout.require_clean(root)


def test_list_tells_what_waits(root: Path) -> None:
    assert run("list")[1].split("\n")[0].split() == [
        "low",
        "0.1.0",
        "low-v0.1.0",
        "changes",
        "wait",
    ]
    released(root)
    assert "not released" in run("list")[1]
    checkout.git(root, "tag", "low-v0.1.0")
    assert run("list")[1].split("\n")[0].endswith(" released")


def test_an_upload_is_a_dry_run_unless_it_is_asked_for(
    root: Path, tmp_path: Path, fake_build: list[str]
) -> None:
    released(root)
    out = str(tmp_path / "out")
    status, said = run("upload", "low", "middle", "--out", out)
    assert status == 0
    assert "pypi: outcomebox_low-0.1.0-py3-none-any.whl" in said
    assert "pypi: outcomebox_middle-0.1.0.tar.gz" in said
    assert "    The first." in said
    assert said.endswith("dry run: nothing was uploaded; --really does it\n")
    assert fake_build == []
    status, said = run("upload", "low", "--really", "--repository", "testpypi", "--out", out)
    assert status == 0
    assert fake_build == ["testpypi outcomebox_low-0.1.0-py3-none-any.whl"]
    assert said.endswith("git tag low-v0.1.0\n")


def test_one_check_tells_all_there_is_to_mend(
    root: Path, tmp_path: Path, fake_build: list[str]
) -> None:
    released(root)
    for short in ("low", "atop"):
        (root / f"packages/{short}/CHANGELOG.md").write_text("# Changes\n", "utf-8")
    commit(root)
    status, said = run("upload", "--really", "--out", str(tmp_path / "out"))
    assert status == 2
    assert "middle: installed" in said
    assert "low: " in said
    assert said.count("says nothing of 0.1.0") == 2
    assert fake_build == []


@pytest.mark.parametrize("command", ["build", "check", "upload"])
def test_a_release_needs_a_clean_checkout(root: Path, fake_build: list[str], command: str) -> None:
    released(root)
    (root / "new").write_text("", "utf-8")
    status, said = run(command, "low")
    assert status == 2
    assert "the checkout is not clean; commit or remove what changed:\n  ?? new" in said
    assert fake_build == []


def test_help_has_examples() -> None:
    said = run("--help")[1]
    for command in ("list", "bump", "build", "check", "upload"):
        assert command in said
    assert "python3 -m tools.release bump interpret minor" in said


def test_a_backend_that_fails_says_what_it_printed(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="No module named 'none'"):
        building.build(root, load(root / "packages/low"), tmp_path / "out")
