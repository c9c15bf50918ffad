"""The command: counts, examples, JSON, the page, exit codes, words about mistakes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from outcomebox.interpret.replay import Replay, Source, compare_turns, read_recorded, report_json
from outcomebox.interpret.replay.command import app
from outcomebox.interpret.replay.page import marked, page
from outcomebox.interpret.replay.printable import printable, visible
from outcomebox.interpret.replay.tally import Tally
from replay_turns import TOOLS, xml

OUTPUTS = [
    xml("note", order="null"),
    xml("note", order="7", text="  x\n    y"),
    xml("note", order="7", notify="1"),
    f"<think>\nMaybe\n{xml('look', order='7')}\n</think>\n\n{xml('look', order='8')}",
    xml("look", order="7"),
    xml("note", order="null", text="again, and longer than before"),
]
DIFFERING = 4


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    lines = [json.dumps({"output": each, "prompt_state": "think_closed"}) for each in OUTPUTS]
    file.write_text("\n".join(lines) + "\n")
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    return file


def run(*arguments: str | Path) -> tuple[int, Any, str]:
    given = [str(each) for each in arguments]
    done = CliRunner().invoke(app, given, env={"COLUMNS": "160"}, catch_exceptions=False)
    told = json.loads(done.stdout) if "--json" in given and done.stdout else done.stdout
    return done.exit_code, told, done.stderr


READERS = ("--left", "vllm-0.24", "--right", "verl-0.9")


def test_the_report_counts_turns_calls_and_classes(rows: Path) -> None:
    status, report, said = run(rows, *READERS, "--calls-only", "--shrink", "--json")
    assert status == 0, said
    assert (report["schema"], report["left"], report["right"]) == (1, "vllm-0.24", "verl-0.9")
    assert (report["turns"], report["differing"], report["turns_changed"]) == (6, 4, 4)
    assert (report["calls"], report["calls_changed"]) == (7, 4)
    found = {(each["cause"], each["by"]): each for each in report["classes"]}
    assert list(found) == [
        ("white_space_stripped", "left"),
        ("null_for_string", "right"),
        ("boolean_flipped", "left"),
        ("draft_executed", "both"),
    ]
    nulls = found["null_for_string", "right"]
    assert (nulls["turns"], nulls["findings"], nulls["calls_changed"]) == (2, 2, 2)
    # The shortest turn that shows it is the example.
    assert nulls["example"]["output"] == OUTPUTS[0]
    assert (nulls["example"]["line"], nulls["example"]["file"]) == (1, str(rows))
    assert nulls["shrunk"]["output"] == (
        "<tool_call><function=f><parameter=a>null</parameter></tool_call>"
    )
    assert nulls["shrunk"]["left"]["calls"][0]["arguments"] == '{"a": "null"}'
    assert nulls["shrunk"]["minimal"] is True
    shared = found["draft_executed", "both"]
    assert (shared["shared"], shared["calls_changed"]) == (True, 0)
    assert "both vllm-0.24 and verl-0.9 execute" in shared["title"]


def test_the_report_does_not_depend_on_the_number_of_processes(rows: Path) -> None:
    more = rows.with_name("more.jsonl")
    more.write_text(rows.read_text() * 100)
    reports = []
    for jobs in (1, 2):
        source = Source(tools=TOOLS)
        replay = Replay("vllm-0.24", "verl-0.9", jobs=jobs, shrink=True)
        seen: list[int] = []

        def observe(tally: Tally, seen: list[int] = seen) -> None:
            seen.append(tally.turns)

        result = compare_turns(read_recorded(more, source), replay, observe)
        assert seen == sorted(seen)
        assert seen[-1] == 600
        reports.append({**report_json(result), "seconds": 0})
    assert reports[0] == reports[1]


def test_a_difference_fails_only_where_it_is_asked_to(rows: Path) -> None:
    assert run(rows, *READERS)[0] == 0
    assert run(rows, *READERS, "--fail-on-difference")[0] == 1
    status, told, _ = run(rows, "--left", "strict", "--right", "strict", "--fail-on-difference")
    assert status == 0
    assert "no difference" in told
    # A hazard that both share is told, and is no difference.
    same = ("--left", "vllm-0.24", "--right", "vllm-0.24")
    status, told, _ = run(rows, *same, "--fail-on-difference")
    assert status == 0
    assert "both vllm-0.24 and vllm-0.24 execute a call that was drafted" in told


def test_the_terminal_shows_the_spot_and_both_readings(rows: Path) -> None:
    _, told, _ = run(rows, *READERS, "--shrink")
    assert "vllm-0.24 strips white space around a string that verl-0.9 keeps" in told
    assert re.search(r'call f {"a": ""}\s+call f {"a": " "}', told)
    assert "smallest, from" in told
    assert "tools f(a: boolean)" in told
    assert "<parameter=a>·</parameter>" in told


class Letters:
    """A tokenizer whose ids are code points."""

    def get_vocab(self) -> dict[str, int]:
        return {}

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str:
        return "".join(map(chr, token_ids))


def test_recorded_ids_are_read_with_a_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"ids": list(map(ord, OUTPUTS[0])), "tools": TOOLS}) + "\n")
    status, _, said = run(file, *READERS)
    assert status == 2
    assert "are ids without text; give --tokenizer" in said
    for module in ("command", "run"):
        monkeypatch.setattr(
            f"outcomebox.interpret.replay.{module}.load_tokenizer", lambda path: Letters()
        )
    status, report, said = run(file, *READERS, "--tokenizer", "t.json", "--shrink", "--json")
    assert status == 0, said
    (found,) = report["classes"]
    assert found["cause"] == "null_for_string"
    assert found["example"]["ids"] == list(map(ord, OUTPUTS[0]))
    assert found["shrunk"]["output"].count("null") == 1


class Page(HTMLParser):
    """Collects the tags and their addresses, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in {"href", "src"}:
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone_and_shows_every_class(rows: Path, tmp_path: Path) -> None:
    file = tmp_path / "folder" / "parity.html"
    status, report, said = run(rows, *READERS, "--shrink", "--json", "--html", file)
    assert status == 0, said
    read = Page()
    read.feed(file.read_text(encoding="utf-8"))
    assert "script" not in read.tags
    assert "img" not in read.tags
    assert all(link.startswith("#") for link in read.links)
    assert {link[1:] for link in read.links} <= set(read.ids)
    assert "http" not in re.sub(r"http-equiv", "", file.read_text())
    for each in report["classes"]:
        assert each["title"] in read.text
    assert "mark" in read.tags
    assert str(file) in said


def test_what_a_model_wrote_cannot_break_the_page_or_the_terminal(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\x1b[31m\u202e" + "\\ud800"
    file = tmp_path / "rows.jsonl"
    text = json.dumps({"output": f"</think>{evil}", "prompt_state": "think_open"})
    file.write_text(text.replace("\\\\ud800", "\\ud800") + "\n")
    html = tmp_path / "parity.html"
    status, told, said = run(file, *READERS, "--html", html)
    assert status == 0, said
    assert "<script>" not in html.read_text(encoding="utf-8")
    assert "&lt;script&gt;" in html.read_text(encoding="utf-8")
    for shown in (told, html.read_text(encoding="utf-8")):
        assert "\x1b[31m" not in shown
        assert "\u202e" not in shown
    status, report, _ = run(file, *READERS, "--json")
    assert report["classes"][0]["example"]["output"].endswith("\ud800")


def test_visible_shows_what_white_space_hides() -> None:
    assert visible("  a \n\tb\n ") == "··a·↵\n→b↵\n·"
    assert printable("a\rb\x07\x9b") == "a␍b␇\\x9b"
    assert marked("a true", "a false") == ("a <mark>true</mark>", "a <mark>false</mark>")
    left, right = marked('{"a": "x <b>"}', '{"a": " x <b>"}')
    assert left == "{&quot;a&quot;: &quot;x &lt;b&gt;&quot;}"
    assert right == "{&quot;a&quot;: &quot;<mark> </mark>x &lt;b&gt;&quot;}"


def test_a_report_without_differences_makes_a_page_too(rows: Path) -> None:
    result = compare_turns(read_recorded(rows, Source(tools=TOOLS)), Replay("strict", "strict"))
    assert "Every turn is read alike." in page(report_json(result))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--left", "vllm-9", "--right", "strict"], "profile 'vllm-9' is unknown"),
        (["--left", "live:nobody", "--right", "strict"], "live parser 'nobody' is unknown"),
        ([*READERS, "--format", "nope"], "format 'nope' is unknown"),
        ([*READERS, "--prompt-state", "open"], "write one of assistant_start"),
        ([*READERS, "--field", "output"], "write NAME=DOTTED"),
        ([*READERS, "--field", "outptu=a"], "no such field"),
        ([*READERS, "--tools", "nothing.json"], "nothing.json: cannot be read"),
        ([*READERS, "--html", "/proc/nothing/a.html"], "cannot be written"),
    ],
)
def test_mistakes_are_told_in_one_line(rows: Path, arguments: list[str], words: str) -> None:
    status, told, said = run(rows, *arguments)
    assert status == 2
    assert told == ""
    assert words in said
    assert "Traceback" not in said


def test_a_file_without_raw_outputs_is_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"messages": [{"role": "assistant", "content": "Parsed."}]}\n')
    status, _, said = run(file, *READERS)
    assert status == 2
    assert "holds no turn with its raw output" in said
    assert "(1 messages without)" in said


@pytest.mark.parametrize("text", ["{", "7", '{"desk": 7}'])
def test_tools_that_are_none(rows: Path, text: str) -> None:
    rows.with_name("tools.json").write_text(text)
    status, _, said = run(rows, *READERS)
    assert status == 2
    assert "tools.json: " in said


def test_tools_that_a_trainer_refuses_are_told_and_can_be_made_plain(rows: Path) -> None:
    parameters = TOOLS[0]["function"]["parameters"]
    union = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    tool = {
        **TOOLS[0]["function"],
        "parameters": {
            **parameters,
            "properties": {**parameters["properties"], "text": union},
        },
    }
    rows.with_name("tools.json").write_text(json.dumps([tool, TOOLS[1]]))
    _, report, _ = run(rows, *READERS, "--shrink", "--json")
    (refused,) = report["classes"]
    assert (refused["cause"], refused["by"]) == ("tools_refused", "right")
    assert (refused["turns"], report["calls_changed"]) == (6, 7)
    # The smallest example still shows the parameter that is refused.
    assert refused["shrunk"]["output"] == ""
    assert union in [
        each
        for tool in refused["shrunk"]["tools"]
        for each in tool["function"]["parameters"]["properties"].values()
    ]
    _, report, _ = run(rows, *READERS, "--plain-schemas", "--calls-only", "--json")
    assert report["differing"] == DIFFERING


def test_the_library_needs_neither_typer_nor_rich() -> None:
    code = (
        "import sys; import outcomebox.interpret.replay as replay;"
        "from outcomebox.interpret.replay.page import page;"
        "print(sorted({'typer', 'rich', 'click'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("missing", ["rich", "typer"])
def test_the_command_says_what_to_install(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None;"
        "from outcomebox.interpret.replay.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"{missing} is missing; pip install 'outcomebox-interpret[replay]'\n"
