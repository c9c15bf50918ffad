"""The pages on formats, profiles, statuses and plugs: complete, and their examples hold."""

import doctest
import json
import re
from pathlib import Path
from typing import get_args

import pytest

from outcomebox.interpret import Status, interpret
from outcomebox.interpret.formats import FORMAT_NAMES, format_named
from outcomebox.interpret.profiles import PROFILE_NAMES, profile_named

DOCS = Path(__file__).parents[3] / "docs"
PAGES = [
    DOCS / "statuses.md",
    DOCS / "plugs.md",
    *sorted(DOCS.glob("formats/*.md")),
    *sorted(DOCS.glob("profiles/*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_hold(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.failed == 0
    assert result.attempted or page.name == "README.md"


def test_every_format_has_a_page() -> None:
    names = {format_named(each).name for each in FORMAT_NAMES}
    assert {each.stem for each in DOCS.glob("formats/*.md")} == names | {"README"}
    index = (DOCS / "formats/README.md").read_text("utf-8")
    for name in FORMAT_NAMES:
        assert f"`{name}`" in index


@pytest.mark.parametrize("name", sorted({format_named(each).name for each in FORMAT_NAMES}))
def test_a_formats_page_says_how_it_is_spelled_and_who_reads_it(name: str) -> None:
    page = (DOCS / f"formats/{name}.md").read_text("utf-8").replace("\\|", "|")
    for token in format_named(name).end_of_turn:
        assert f"`{token}`" in page
    read_by = re.search(r"^\| read by \| (.*) \|$", page, re.MULTILINE)
    assert read_by
    named = set(re.findall("`([a-z0-9.-]+)`", read_by[1])) - {"-stream"}
    found = {each for each in PROFILE_NAMES if name in profile_named(each).readings}
    assert named == {each.removesuffix("-stream") for each in found}


def test_every_profile_has_a_page() -> None:
    pages = {each.stem for each in DOCS.glob("profiles/*.md")}
    assert pages == {each.removesuffix("-stream") for each in PROFILE_NAMES} | {"README"}
    index = (DOCS / "profiles/README.md").read_text("utf-8")
    for name in PROFILE_NAMES:
        assert f"`{name}`" in index
        page = (DOCS / f"profiles/{name.removesuffix('-stream')}.md").read_text("utf-8")
        assert f"`{name}`" in page.splitlines()[0]


def test_the_table_of_differences_holds() -> None:
    lines = (DOCS / "profiles/README.md").read_text("utf-8").splitlines()
    (start,) = (n for n, line in enumerate(lines) if line.startswith("| value | schema |"))
    profiles = re.findall("`([^`]+)`", lines[start])
    rows = [line for line in lines[start + 2 :] if line.startswith("| ")]
    assert len(rows) >= 12
    for row in rows:
        value, schema, *cells = (each.strip("` ") for each in row.strip("|").split(" | "))
        tools = [{"name": "f", "parameters": {"properties": {"v": json.loads(schema)}}}]
        tools[0]["parameters"]["type"] = "object"  # type: ignore[index]
        body = f"<parameter=v>\n{json.loads(value)}\n</parameter>\n"
        output = f"<tool_call>\n<function=f>\n{body}</function>\n</tool_call>"
        for profile, cell in zip(profiles, cells, strict=True):
            calls = interpret(output, tools=tools, profile=profile).tool_calls
            found = [each.arguments_json() for each in calls]
            assert found == ([] if cell == "no call" else [cell]), (profile, row)


def test_every_status_has_a_section_in_order() -> None:
    page = (DOCS / "statuses.md").read_text("utf-8")
    titles = re.findall("^## (.*)$", page, re.MULTILINE)
    assert titles == [*get_args(Status), "Under a server's profile"]


@pytest.mark.parametrize("name", PROFILE_NAMES)
def test_the_index_says_what_a_profile_reads(name: str) -> None:
    index = (DOCS / "profiles/README.md").read_text("utf-8")
    (row,) = re.findall(
        rf"^\| \[`{re.escape(name.removesuffix('-stream'))}`.*$", index, re.MULTILINE
    )
    found = profile_named(name).readings
    if name == "strict":
        assert "| every format |" in row
        read = {format_named(each).name for each in found}
        assert read == {format_named(each).name for each in FORMAT_NAMES}
    else:
        assert f"| {', '.join(f'`{each}`' for each in found)} |" in row
