"""The commands of ``python3 -m tools.release``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from tools.release import changelog, checkout, upload
from tools.release.alone import install_alone
from tools.release.building import Built, build
from tools.release.packages import (
    Package,
    ReleaseError,
    bad_ranges,
    chosen,
    load_all,
    needed,
    next_version,
    set_version,
)
from tools.tree import ROOT
from tools.wheels.check import check as wheel_problems

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="""Releases the packages of this repository, one or all.

    A release is a commit: the checkout must be clean. The order is `bump`, commit, `check`,
    `upload` (a dry run), then `upload --really`, and the tag that it names.
    """,
    epilog="""Examples:

    python3 -m tools.release list

    python3 -m tools.release bump interpret minor

    python3 -m tools.release check interpret

    python3 -m tools.release upload interpret
    """,
)

P = ParamSpec("P")

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PACKAGE]...", help="Folders below packages/; none: all of them."),
]
Out = Annotated[Path, typer.Option("--out", help="Where the built files go.")]
_OUT = ROOT / "dist" / "release"


def _told(command: Callable[P, None]) -> Callable[P, None]:
    """Turn what must be mended into one message and exit status 2."""

    @wraps(command)
    def told(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except ReleaseError as error:
            print(error, file=sys.stderr)
            raise typer.Exit(2) from None

    return told


@app.command("list")
@_told
def list_packages() -> None:
    """Tell each package's version, its tag, and whether changes wait for a release."""
    packages = load_all(ROOT)
    for package in chosen(packages, []):
        tagged = bool(checkout.git(ROOT, "tag", "--list", package.tag).strip())
        text = package.changelog.read_text(encoding="utf-8")
        waits = bool(changelog.section(text, changelog.COMING))
        state = "changes wait" if waits else ("released" if tagged else "not released")
        print(f"{package.short:12} {package.version:10} {package.tag:20} {state}")


@app.command()
@_told
def bump(
    name: Annotated[str, typer.Argument(metavar="PACKAGE")],
    version: Annotated[str, typer.Argument(help="`major`, `minor`, `patch`, or a version.")],
) -> None:
    """Give the changes below `## Unreleased` of a CHANGELOG.md a version, and set it.

    Example: python3 -m tools.release bump interpret patch
    """
    (package,) = chosen(load_all(ROOT), [name])
    new = next_version(package.version, version)
    text = changelog.release(package.changelog, new)
    set_version(package, new)
    package.changelog.write_text(text, encoding="utf-8")
    print(f"{package.name}: {package.version} -> {new}")
    print(f"then: git commit -am 'Release {package.short} {new}'")
    problems = list(bad_ranges(load_all(ROOT)))
    if problems:
        raise ReleaseError("\n".join(problems))


@app.command("build")
@_told
def build_packages(names: Names = None, out: Out = _OUT) -> None:
    """Build wheels and source distributions of the commit that is checked out.

    Example: python3 -m tools.release build interpret --out dist/release
    """
    checkout.require_clean(ROOT)
    for package in chosen(load_all(ROOT), names or []):
        for file in upload.files(build(ROOT, package, out)):
            print(f"{file.path.name}  {file.size} bytes  sha256 {file.sha256}")


@app.command()
@_told
def check(names: Names = None, out: Out = _OUT) -> None:
    """Do all that a release needs but the upload, and say what is wrong.

    Clean checkout, new version, changes told, dependents' ranges; wheel and source distribution,
    and that the second builds the first; metadata and contents; the wheel installed alone in an
    empty environment, where the README's examples run.

    Example: python3 -m tools.release check interpret
    """
    _checked(names or [], out)


@app.command("upload")
@_told
def upload_packages(
    names: Names = None,
    out: Out = _OUT,
    repository: Annotated[str, typer.Option(help="A name that twine knows.")] = "pypi",
    really: Annotated[bool, typer.Option("--really", help="Upload, with twine.")] = False,
) -> None:
    """Check, then tell what would be uploaded; nothing is, without `--really`.

    Example: python3 -m tools.release upload interpret --repository testpypi
    """
    built = _checked(names or [], out)
    for package, each in built:
        for file in upload.files(each):
            print(f"{repository}: {file.path.name}  {file.size} bytes  sha256 {file.sha256}")
        print(f"{package.short}: changes of {package.version}")
        print(_indented(changelog.require(package.changelog, package.version)))
    if not really:
        print("dry run: nothing was uploaded; --really does it")
        return
    print(upload.send([each for _, each in built], repository))
    print("then: git tag " + " && git tag ".join(package.tag for package, _ in built))


def _checked(names: list[str], out: Path) -> list[tuple[Package, Built]]:
    """Check packages in the order of their needs; returns what was built.

    Raises:
        ReleaseError: Something is wrong.
    """
    checkout.require_clean(ROOT)
    packages = load_all(ROOT)
    wanted = chosen(packages, names)
    wrong = list(bad_ranges(packages))
    built: dict[str, Built] = {}
    for package in wanted:
        try:
            _check_one(packages, package, out, built)
        except ReleaseError as error:
            # The others are looked at too: one run tells all there is to mend.
            wrong.append(f"{package.short}: {error}")
    if wrong:
        raise ReleaseError("\n".join(wrong))
    return [(package, built[package.short]) for package in wanted]


def _check_one(
    packages: Mapping[str, Package], package: Package, out: Path, built: dict[str, Built]
) -> None:
    checkout.require_new(ROOT, package.tag)
    changelog.require(package.changelog, package.version)
    print(f"{package.short}: building {package.name} {package.version}", flush=True)
    ours = needed(packages, package)
    for each in [*ours, package]:
        if each.short not in built:
            built[each.short] = build(ROOT, each, out)
    _check_built(package, built[package.short], out)
    wheels = [built[each.short].wheel for each in ours]
    print(f"{package.short}: {install_alone(package, built[package.short].wheel, wheels)}")


def _check_built(package: Package, built: Built, out: Path) -> None:
    found = [*upload.problems(package, built), *wheel_problems(package.folder, out)]
    if found:
        raise ReleaseError("\n".join(found))
    print(f"{package.short}: metadata and contents are right", flush=True)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def main() -> None:
    """Run a command."""
    app()
