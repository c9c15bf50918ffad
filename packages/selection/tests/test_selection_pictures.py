"""The pictures: the page, the terminal's lines, and what the summary says."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console, RenderableType

from outcomebox.selection import Provenance, Selection, curate
from outcomebox.selection.chart import bands_png
from outcomebox.selection.figures import figures, probing
from outcomebox.selection.page import MOST_TASKS, bands_html
from outcomebox.selection.summary import summary
from outcomebox.selection.terminal import probes_spent, strip
from selection_rows import curation, result

PROVENANCE = Provenance({"name": "simulated", "simulated": True}, "digest", 90)


def selected(stop: str = "never", **changes: object) -> Selection:
    """A selection of 45 tasks, or of an adaptive probe of them."""
    results = [result(f"retail/a/{i:02d}", i % 9, 8) for i in range(45)]
    if stop != "never":
        results += [result(f"retail/b/{i:02d}", 1, 2) for i in range(9)]
    settings = curation(probe={"stop": stop}, **changes)
    return curate([each.task for each in results], results, settings)


def told(what: RenderableType, width: int = 100) -> str:
    """What a terminal shows."""
    console = Console(width=width, record=True, file=None, quiet=False, highlight=False)
    with console.capture() as shown:
        console.print(what)
    return shown.get()


class Page(HTMLParser):
    """The tags and texts of a page, which has to be well formed."""

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.titles: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what is opened, and what is asked for from elsewhere."""
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """What is closed was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note the titles of lines."""
        if self.open and self.open[-1] == "title" and "g" in self.open:
            self.titles.append(data)


def test_the_page_is_whole_needs_nothing_else_and_is_the_same_again() -> None:
    chosen = selected(predict={"edges": [[0, 0.2, 0.4, 0.6, 0.8, 1]]})
    content = bands_html(chosen, PROVENANCE)
    assert content == bands_html(replace(chosen), PROVENANCE)
    page = Page(content.decode())
    assert page.open == []
    assert page.links == []
    assert len(page.titles) == 45
    assert page.titles[0] == "retail/a/00: 0 of 8, 0.06 (0.00 to 0.26), dropped"
    text = content.decode()
    assert "http" not in text
    assert "Difficulty of the tasks for the simulated policy" in text
    for heading in ("Tasks by band", "As the policy improves", "Other band edges", "Tasks"):
        assert f"<h2>{heading}</h2>" in text
    assert "nan" not in text.lower()


def test_names_cannot_break_the_page() -> None:
    results = [result("a/<b>/\"'&1", 4, 8), result("a/b/2", 4, 8)]
    chosen = curate([each.task for each in results], results, curation())
    text = bands_html(chosen, replace(PROVENANCE, policy={"name": "<script>x</script>"})).decode()
    assert "<b>/" not in text
    assert "<script>x" not in text
    assert Page(text).open == []


def test_many_tasks_are_left_to_the_table() -> None:
    results = [result(f"a/b/{i:05d}", i % 9, 8) for i in range(MOST_TASKS + 2)]
    chosen = curate([each.task for each in results], results, curation())
    text = bands_html(chosen, PROVENANCE).decode()
    assert "2 more are in bands.csv" in text
    assert text.count('<td class="uid">') == MOST_TASKS


def test_a_selection_without_a_pool_has_pictures_too() -> None:
    chosen = replace(selected(), decisions=tuple(d for d in selected().decisions if not d.kept))
    assert figures(chosen)["outlook"] is None
    assert b"As the policy improves" not in bands_html(chosen, PROVENANCE)
    assert bands_png(chosen, PROVENANCE).startswith(b"\x89PNG")
    assert "Mixed groups" not in told(summary(chosen, PROVENANCE))


def test_the_terminal_shows_a_line_for_each_task() -> None:
    lines = told(strip(selected())).splitlines()
    assert len(lines) == 1 + 45
    rows = [line for line in lines if "retail/a/" in line]
    assert "0/8" in rows[0]
    assert "8/8" in rows[-1]
    middle = next(line for line in rows if "4/8" in line)
    mean, low, high = middle.index("●"), middle.index("─"), middle.rindex("─")
    # Symmetric about one half.
    assert abs((mean - low) - (high - mean)) <= 1
    assert "┊" in rows[0]


def test_what_was_left_early_is_shown_so() -> None:
    chosen = selected("exact")
    counts = probing(chosen)
    assert (counts["left_early"], counts["clean_runs"]) == (9, 45 * 8 + 18)
    assert counts["fewer"] == pytest.approx(1 - (45 * 8 + 18) / (54 * 8))
    assert counts["spent"][2] == {"clean_runs": 2, "kept": 9, "left_early": 0, "not_kept": 0}
    assert (
        sum(sum(one[k] for k in ("kept", "left_early", "not_kept")) for one in counts["spent"])
        == 54
    )
    shown = told(summary(chosen, PROVENANCE))
    assert "12.5% fewer than 8 a task; 9 tasks were left early." in " ".join(shown.split())
    assert re.search(r"left early +9 +9", shown)
    assert "9 tasks that were left early have no rate" in told(strip(chosen))
    spent = told(probes_spent(chosen)).splitlines()
    assert [line.split()[:2] for line in spent[1:]] == [["2", "9"], ["8", "45"]]
    page = bands_html(chosen, PROVENANCE).decode()
    assert "12.5% fewer than 8 a task" in page
    assert len(Page(page).titles) == 45
    assert bands_png(chosen, PROVENANCE) == bands_png(replace(chosen), PROVENANCE)


def test_the_summary_tells_what_the_pool_gives() -> None:
    chosen = selected(predict={"edges": [[0, 0.2, 0.4, 0.6, 0.8, 1]]})
    found = chosen.outlook
    assert found is not None
    shown = told(summary(chosen, PROVENANCE))
    adaptive = selected("exact", predict={"edges": [[0, 0.2, 0.4, 0.6, 0.8, 1]]})
    assert f"Mixed groups of 8: {found['mixed_share']['value']:.1%} (" in shown
    assert "A step of 32 groups:" in shown
    assert "by 2 log-odds" in shown
    assert re.search(r"0.2 0.4 0.6 0.8 +25 +\+0 -10", shown)
    assert "Other edges are not compared" in told(summary(adaptive, PROVENANCE))
