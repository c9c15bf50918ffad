"""A report's page in a real headless browser: read, sorted, opened, and seen to ask for nothing."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headless_chromium import Browser, found
from outcomebox.eval.compare.comparing import compare
from outcomebox.eval.report import write_report
from report_runs import HOSTILE, drawn, row, run_of

pytestmark = pytest.mark.skipif(found() is None, reason="no Chromium is on the PATH")
TASKS, ATTEMPTS = 15, 5


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests here."""
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on two runs, one broken attempt among them, with a comparison."""
    folder = tmp_path_factory.mktemp("a report #1")
    rows = drawn(TASKS, ATTEMPTS)
    rows[7] = row(rows[7]["uid"], rows[7]["repetition"], "system_error")
    base = run_of(folder / "base", rows, "base")
    new = run_of(folder / "new", drawn(TASKS, ATTEMPTS, lift=0.3), "new")
    found = compare(
        base.results, new.results, names=("base", "new"), resamples=200, allow_incomplete=True
    )
    write_report([base, new], folder / "out", comparisons=[found], title="Two runs")
    return folder / "out" / "report.html"


@pytest.fixture
def page(made: Path, browser: Browser) -> Iterator[Path]:
    """The page, whose use has to leave no error and no request elsewhere."""
    browser.problems.clear()
    browser.requests.clear()
    size(browser, 1440, 1000)
    yield made
    assert browser.problems == []
    assert {each.split("#")[0] for each in browser.requests} <= {
        "about:blank",
        made.as_uri(),
        *(file.as_uri() for file in (made.parent / "report.files").glob("*.js")),
    }


def size(browser: Browser, width: int, height: int, *, phone: bool = False) -> None:
    """Give the tab a size."""
    browser.ask(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=height,
        deviceScaleFactor=1,
        mobile=phone,
    )


def words(browser: Browser, selector: str) -> str:
    """What is to be read at a place."""
    return str(browser.value(f"document.querySelector({selector!r}).innerText"))


def choose(browser: Browser, selector: str, value: str) -> None:
    """Fill a field in, as a person does."""
    browser.value(
        f"(() => {{ const field = document.querySelector({selector!r}); field.value = {value!r}; "
        "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


def to_tasks(browser: Browser) -> None:
    """Scroll to the tasks: their squares are drawn when they are to be seen."""
    browser.value("document.querySelector('#tasks-of-0').scrollIntoView()")


def shown(browser: Browser, run: int = 0) -> list[str]:
    """The tasks that are shown."""
    found: list[str] = browser.value(
        f"[...document.querySelectorAll('#tasks-{run} tbody tr:not([hidden]) th')]"
        ".map(cell => cell.innerText)"
    )
    return found


def test_what_is_not_final_stands_first(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert words(browser, ".banner.open").startswith("base: NOT FINAL")
    assert words(browser, "#runs ~ .wide tbody tr").startswith("base\nNOT FINAL")
    assert (
        browser.value("getComputedStyle(document.querySelector('.banner.open')).borderTopWidth")
        == "2px"
    )


def test_tasks_are_searched_filtered_and_sorted(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert len(shown(browser)) == TASKS
    choose(browser, "[data-table=tasks-0] [name=domain]", "retail")
    assert len(shown(browser)) == TASKS // 3
    assert words(browser, "[data-table=tasks-0] output") == f"{TASKS // 3} of {TASKS}"
    assert len(shown(browser, 1)) == TASKS  # the other run's table is its own
    choose(browser, "[data-table=tasks-0] input", "desk 4")
    assert shown(browser) == ["retail/desk/4"]
    choose(browser, "[data-table=tasks-0] input", "")
    choose(browser, "[data-table=tasks-0] [name=domain]", "")
    choose(browser, "[data-table=tasks-0] [name=result]", "never")
    never = set(shown(browser))
    choose(browser, "[data-table=tasks-0] [name=result]", "")
    for sort in ("ascending", "descending"):
        browser.click("#tasks-0 th:nth-child(4) button")
        assert browser.value("document.querySelector('#tasks-0 [aria-sort]').ariaSort") == sort
    assert set(shown(browser)[-len(never) :]) == never


def test_an_attempt_opens_by_click_key_and_address(browser: Browser, page: Path) -> None:
    browser.open(page)
    to_tasks(browser)
    browser.wait("document.querySelector('#tasks-0 a.cell.failed')")
    browser.click("#tasks-0 a.cell.failed")
    browser.wait("document.querySelector('#attempt-body .verdict')")
    told = words(browser, "#attempt")
    for part in (
        "Failed: 1 reason",
        "wrong value",
        "Please hold my order",
        "hold_order",
        str(2**80),
    ):
        assert part in told
    assert "silent failure" in told
    first = browser.value("location.hash")
    browser.key("j")
    browser.wait(f"location.hash !== {first!r}")
    browser.wait("document.querySelector('#attempt-body').dataset.shown === location.hash")
    browser.key("k")
    browser.wait(f"document.querySelector('#attempt-body').dataset.shown === {first!r}")
    browser.key("Escape")
    browser.wait("!document.querySelector('#attempt').open")
    assert browser.value("location.hash") == ""
    browser.open(page, first)
    browser.wait("document.querySelector('#attempt-body .verdict.failed')")


def test_a_system_error_is_no_failure(browser: Browser, page: Path) -> None:
    browser.open(page)
    to_tasks(browser)
    browser.wait("document.querySelector('#tasks-0 a.cell.system_error')")
    browser.click("#tasks-0 a.cell.system_error")
    browser.wait("document.querySelector('#attempt-body .verdict.system_error')")
    assert "It counts in no rate" in words(browser, "#attempt-body")
    browser.key("Escape")


@pytest.mark.parametrize(("width", "phone"), [(1440, False), (390, True)])
def test_it_fits_the_screen(
    browser: Browser, page: Path, tmp_path: Path, width: int, phone: bool
) -> None:
    size(browser, width, 900, phone=phone)
    browser.open(page)
    root = "document.documentElement"
    assert browser.value(f"{root}.scrollWidth") == browser.value(f"{root}.clientWidth") <= width
    assert browser.value(
        "[...document.querySelectorAll('svg.plot')].every(each => each.clientWidth > 250)"
    )
    # Nobody's name is broken letter by letter.
    narrow = "[...document.querySelectorAll('tbody th')].some(each => each.clientWidth < 80)"
    assert not browser.value(narrow)
    browser.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10_000


def test_it_prints_every_task(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    browser.value("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.value("document.querySelectorAll('#tasks-1 .cell').length") == TASKS * ATTEMPTS
    for hidden in ("nav", ".filter"):
        style = f"getComputedStyle(document.querySelector({hidden!r})).display"
        assert browser.value(style) == "none"
    paper = browser.ask("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
    assert base64.b64decode(paper["data"]).startswith(b"%PDF")
    browser.ask("Emulation.setEmulatedMedia", media="")


def test_dark_and_light_differ(made: Path, tmp_path: Path) -> None:
    colours = []
    for dark in (False, True):
        with Browser(tmp_path / f"profile {dark}", dark=dark) as browser:
            browser.open(made)
            colours.append(
                [
                    browser.value(f"getComputedStyle(document.querySelector('{part}')).{name}")
                    for part, name in (("body", "backgroundColor"), (".plot text", "fill"))
                ]
            )
            assert browser.problems == []
    assert all(light != dark for light, dark in zip(*colours, strict=True))


def test_hostile_text_stays_text(browser: Browser, tmp_path: Path) -> None:
    browser.problems.clear()
    rows: list[dict[str, Any]] = []
    for repetition, outcome in enumerate(("failed", "passed", "failed")):
        made = row(HOSTILE, repetition, outcome, tags=[HOSTILE], policy={"name": HOSTILE})
        made["domain"] = HOSTILE
        for message in made["messages"]:
            message["content"] = HOSTILE
            for call in message.get("tool_calls", ()):
                call["arguments"] = {HOSTILE: HOSTILE, "__proto__": {"role": "x"}, "real": 1.0}
        made["changes"][0] |= {"table": HOSTILE, "new": {HOSTILE: HOSTILE}}
        rows.append(made)
    run = run_of(tmp_path / "run", rows, HOSTILE)
    write_report([run], tmp_path / "out", title=HOSTILE)
    browser.open(tmp_path / "out" / "report.html")
    to_tasks(browser)
    browser.wait("document.querySelector('a.cell.failed')")
    browser.click("a.cell.failed")
    browser.wait("document.querySelector('#attempt-body .verdict')")
    told = words(browser, "#attempt-body")
    for part in ("<img src=x onerror=alert(1)>", "\\u202e", "__proto__", "1.0", "`${x}`"):
        assert part in told
    assert browser.value("document.querySelectorAll('img').length") == 0
    assert browser.value("document.scripts.length") == 2
    assert browser.problems == []


def test_side_files_that_are_gone_are_told(browser: Browser, tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", drawn(3, 2))
    write_report([run], tmp_path / "out")
    for file in (tmp_path / "out" / "report.files").iterdir():
        file.unlink()
    browser.open(tmp_path / "out" / "report.html")
    to_tasks(browser)
    browser.wait("document.querySelector('a.cell')")
    browser.click("a.cell")
    browser.wait("document.querySelector('#attempt-body .lost')")
    assert "keep the folder beside the page" in words(browser, "#attempt-body")
