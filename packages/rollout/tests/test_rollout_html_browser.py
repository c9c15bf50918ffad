"""A run's page in a real headless browser: clicked through, and seen to ask for nothing."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headless_chromium import Browser, found
from outcomebox.rollout.pages import write_page
from shown_rows import first_of, real_rows

pytestmark = pytest.mark.skipif(found() is None, reason="no Chromium is on the PATH")
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u2028\u202e\ud800"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests here."""
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(params=["one file", "side files"])
def page(request: pytest.FixtureRequest, tmp_path: Path, browser: Browser) -> Iterator[Path]:
    """A page of a real run, whose use has to leave no error and no request elsewhere."""
    browser.problems.clear()
    browser.requests.clear()
    path = tmp_path / "a run #1.html"
    write_page(real_rows(), path, title="A run", beside=request.param == "side files")
    yield path
    assert browser.problems == []
    assert {each.split("?")[0].split("#")[0] for each in browser.requests} <= {
        "about:blank",
        path.as_uri(),
        *(file.as_uri() for file in (path.with_suffix(".files")).glob("*.js")),
    }


def link(row: dict[str, Any]) -> str:
    """Where an episode is on the page."""
    return f"#{row['uid']}/{row['repetition']}/{row['try']}"


def words(browser: Browser, selector: str) -> str:
    """What is to be read at a place."""
    return str(browser.value(f"document.querySelector({selector!r}).innerText"))


def test_the_list_filters_and_sorts(browser: Browser, page: Path) -> None:
    browser.open(page)
    shown = "document.querySelectorAll('#list tbody tr').length"
    assert browser.value(shown) == 12
    browser.click(".figures .system_error")
    assert browser.value(shown) == 1
    browser.click(".figures .system_error")
    browser.click(".figures .failed")
    failed = {row["uid"] for row in real_rows() if row["verdict"]["outcome"] == "failed"}
    assert 0 < browser.value(shown) < 12
    assert (
        set(browser.value("[...document.querySelectorAll('#list a.open')].map(a => a.innerText)"))
        <= failed
    )
    browser.click("#clear")
    for name, value, left in (("tries", "all", 14), ("phase", "policy", 3), ("text", "503", 3)):
        browser.value(
            f"(() => {{ const field = document.querySelector('.filter [name={name}]'); "
            f"field.value = {value!r}; field.dispatchEvent(new Event('input')); }})()"
        )
        assert browser.value(shown) == left
    browser.click("#clear")
    browser.click("#list th[data-by=time] button")
    assert browser.value("document.querySelector('[data-by=time]').ariaSort") == "ascending"
    browser.click("#list th[data-by=time] button")
    assert browser.value("document.querySelector('[data-by=time]').ariaSort") == "descending"


@pytest.mark.parametrize("outcome", ["passed", "failed", "system_error"])
def test_an_episode_opens_by_click_and_by_address(
    browser: Browser, page: Path, outcome: str
) -> None:
    row = first_of(real_rows(), outcome)
    browser.open(page, link(row))
    browser.wait("document.querySelector('.verdict')")
    told = words(browser, "#view-episode")
    assert row["uid"] in told
    asked = next(each["content"] for each in row["messages"] if each["role"] == "user")
    assert " ".join(asked.split()) in " ".join(told.split())
    if outcome == "system_error":
        assert "No verdict" in told
        assert row["error"]["message"] in told
    else:
        drawn = "document.querySelectorAll('.pair .beside .change').length"
        assert browser.value(drawn) == len(row["changes"])
    if outcome == "failed":
        assert browser.value("document.querySelectorAll('.reason').length") == len(
            row["verdict"]["reasons"]
        )
    browser.click(".walk a")
    browser.wait("!document.querySelector('#view-episodes').hidden")
    browser.click("#list a.open")
    browser.wait("!document.querySelector('#view-episode').hidden")


def test_keys_and_grid_lead_to_episodes(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.key("j")
    browser.click("#list a.open")
    browser.wait("document.querySelector('.verdict')")
    first = browser.value("location.hash")
    browser.key("j")
    browser.wait(f"location.hash !== {first!r}")
    for key in "jjkkk":  # faster than the page is told where it is
        browser.key(key)
    browser.wait(f"location.hash === {first!r}")
    assert browser.value("document.querySelector('.verdict') !== null")
    browser.key("Escape")
    browser.wait("!document.querySelector('#view-episodes').hidden")
    browser.click("nav [data-view=tasks]")
    browser.wait("!document.querySelector('#view-tasks').hidden")
    assert browser.value("document.querySelectorAll('#grid .cells a').length") == 12
    assert browser.value("document.querySelectorAll('#grid tbody tr').length") == 4
    browser.click("#grid .cells a.system_error")
    browser.wait("document.querySelector('.verdict.system_error')")
    browser.value("void (location.hash = '#no/such/1/0')")
    browser.wait("!document.querySelector('#lost').hidden")


def test_hostile_text_stays_text(browser: Browser, tmp_path: Path) -> None:
    browser.problems.clear()
    row = copy.deepcopy(dict(first_of(real_rows(), "failed")))
    row["uid"] = HOSTILE
    for message in row["messages"]:
        message["content"] = HOSTILE
        for call in message.get("tool_calls", ()):
            call["arguments"] = {HOSTILE: HOSTILE, "__proto__": 1, "large": 2**80, "real": 1.0}
    path = tmp_path / "hostile.html"
    for beside in (False, True):
        write_page([row], path, title=HOSTILE, beside=beside)
        browser.open(path)
        browser.click("#list a.open")
        browser.wait("document.querySelector('.verdict')")
        told = words(browser, "#episode-body")
        for part in ("<img src=x onerror=alert(1)>", "\\u202e", "__proto__", str(2**80), "1.0"):
            assert part in told
        assert browser.value("document.querySelectorAll('img').length") == 0
    assert browser.problems == []


def test_side_files_that_are_gone_are_told(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    written = write_page(real_rows(), path, title="A run", beside=True)
    assert written.files is not None
    for file in written.files.iterdir():
        file.unlink()
    browser.open(path, link(dict(real_rows()[0])))
    browser.wait("document.querySelector('#episode-body .why')")
    assert "keep the folder beside the page" in words(browser, "#episode-body")
