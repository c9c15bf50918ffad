"""Every mistake in a dataset is one error that names file, field, value and mend."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from outcomebox.sandbox import InputError
from outcomebox.sandbox.thinkingbox import load_thinkingbox

GOOD = {
    "agent/think.yaml": "system_instructions: Help.\nbuiltin_tools: []\n",
    "scenario/library.yaml": "world_state: {mail: {}}\ntools: [{name: find}]\n",
    "test_case/desk.py": (
        '"""!\nscenario: library\n"""\n\n\n'
        'def greet(x):\n    """!\n    query: Hello\n    """\n    assert x\n'
    ),
    "test_case/shelf.yaml": (
        "test_cases:\n- {uid: a, scenario: library, query: Q, test_code: ''}\n"
        "- {uid: b, scenario: library, query: Q, test_code: ''}\n"
    ),
    "test_case/talk.yaml": (
        "test_cases:\n- {uid: t, scenario: library, query: Q, test_code: '', history: 'k:0:'}\n"
    ),
    "test_case/talk.meta.yaml": "$history:\n  k:\n  - {T: Text, role: user, content: Hi}\n",
    "test_case/conftest.yaml": "fixtures: {clock: {type: lib.Clock}}\n",
    "list.yaml": "- desk.py:greet\n",
}


def python(docstring: str, top: str = "scenario: library") -> str:
    return f'"""!\n{top}\n"""\n\n\ndef greet(x):\n    """!\n    {docstring}\n    """\n'


def case(**changes: str) -> str:
    fields = {"uid": "a", "scenario": "library", "query": "Q", "test_code": "''", **changes}
    written = ", ".join(f"{key}: {value}" for key, value in fields.items())
    return f"test_cases:\n- {{{written}}}\n"


def history(reference: str) -> str:
    return case(history=reference).replace("uid: a", "uid: t")


def meta(text: str) -> dict[str, str | None]:
    return {"test_case/talk.meta.yaml": text}


def desk(text: str) -> dict[str, str | None]:
    return {"test_case/desk.py": text}


MISTAKES: dict[str, tuple[dict[str, str | None], list[str], str]] = {
    # Python files
    "not python": (desk("def (:\n"), [], r"desk\.py:1: not valid Python: .*; mend it"),
    "null byte": (desk("a = 1\0\n"), [], r"desk\.py.*: not valid Python"),
    "not utf-8": (desk("café\n"), [], r"desk\.py: is not UTF-8 text: .*; save it as UTF-8"),
    "two statements on a line": (
        desk("a = 1; b = 2\n"),
        [],
        r"desk\.py:1: two statements share this line, .*; use two lines",
    ),
    "not yaml in a function": (
        desk(python("query: 'x")),
        [],
        r"desk\.py:\d+: desk\.py:greet: not valid YAML: .*; mend it",
    ),
    "not yaml in a block": (desk(python("query: Q", "a: b: c")), [], r"desk\.py:2: not valid YAML"),
    "no date": (
        desk(python("query: 2031-99-99")),
        [],
        r"desk\.py:7: desk\.py:greet: not valid YAML: month must be",
    ),
    "text for a function": (
        desk(python("just text")),
        [],
        r"desk\.py:7: desk\.py:greet: .* must be a YAML mapping.* \(found 'just text'\)",
    ),
    "list for a block": (desk(python("query: Q", "- a")), [], r"desk\.py:1: .*YAML mapping"),
    "unknown key": (
        desk(python("querry: Q")),
        [],
        r"desk\.py:6: desk\.py:greet: querry: unknown key; did you mean query or",
    ),
    "uid for a whole file": (
        desk(python("query: Q", "uid: u")),
        [],
        r"desk\.py:1: uid: cannot be set for a whole file; the keys are scenario, query",
    ),
    "number as a key of a block": (
        desk(python("query: Q", "1: u")),
        [],
        r"desk\.py:1: 1: cannot be set for a whole file",
    ),
    "the same test twice": (
        desk(python("query: Q") + "\n\n" + python("query: R")),
        [],
        r"desk\.py:\d+: desk\.py:greet: stands in .*desk\.py:6 too; give each test its own name",
    ),
    # What a test says
    "no scenario": (
        desk(python("query: Q", "tags: []")),
        [],
        r"desk\.py:6: desk\.py:greet: scenario: is missing; name a file of the folder scenario",
    ),
    "scenario is no text": (desk(python("scenario: 1")), [], r"scenario: is missing.* \(found 1\)"),
    "scenario that is not there": (
        desk(python("scenario: libary\n    query: Q")),
        [],
        r"desk\.py:greet: scenario: there is no scenario 'libary' .*; did you mean library\?",
    ),
    "no query": (
        desk(python("user_context: U")),
        [],
        r"desk\.py:6: desk\.py:greet: query: is missing; add it",
    ),
    "query is no text": (desk(python("query: 5")), [], r"desk\.py:greet: query: .* \(found 5\)"),
    "turns": (
        desk(python("{query: Q, max_user_sim_turns: many}")),
        [],
        r"desk\.py:greet: max_user_sim_turns: .*integer.* \(found 'many'\)",
    ),
    "negative turns": (
        desk(python("{query: Q, max_agent_sim_turns: -1}")),
        [],
        r"max_agent_sim_turns: .*greater than or equal to 0.* \(found -1\)",
    ),
    "format_query": (desk(python("{query: Q, format_query: perhaps}")), [], r"format_query: "),
    "init is no mapping": (desk(python("{query: Q, init: {mail: 1}}")), [], r"init\.mail: "),
    "init is nothing": (desk(python("{query: Q, init: }")), [], r"desk\.py:greet: init: "),
    "a date in init": (
        desk(python("{query: Q, init: {mail: {on: 2031-01-02}}}")),
        [],
        r"desk\.py:greet: init\.mail\.true: YAML reads this as a date; put it in quotes",
    ),
    "a number that json has not": (
        desk(python("{query: Q, init: {mail: {x: .inf}}}")),
        [],
        r"desk\.py:greet: init\.mail\.x: JSON has no such number",
    ),
    "init over something else": (
        {
            "scenario/library.yaml": "world_state: {mail: [1]}\ntools: []\n",
            **desk(python("{query: Q, init: {mail: {a: 1}}}")),
        },
        ["desk.py"],
        r"desk\.py:greet: init\.mail: the scenario's world_state\.mail is a list.*mapping",
    ),
    "tags are text": (
        desk(python("{query: Q, tags: skip}")),
        [],
        r"desk\.py:greet: tags: must be a list of tags",
    ),
    "tags are nothing": (desk(python("{query: Q, tags: }")), [], r"tags: must be a list of tags"),
    "a tag is a number": (
        desk(python("{query: Q, tags: [1]}")),
        [],
        r"desk\.py:greet: tags: a tag is text, not 1; put it in quotes",
    ),
    # YAML files
    "not yaml": ({"test_case/shelf.yaml": "a: b: c"}, [], r"shelf\.yaml:1: not valid YAML"),
    "no test_cases": (
        {"test_case/shelf.yaml": "tests: []"},
        [],
        r"shelf\.yaml: is not a test file: it needs a list `test_cases`",
    ),
    "a case is no mapping": (
        {"test_case/shelf.yaml": "test_cases: [1]"},
        [],
        r"shelf\.yaml: test_cases\.0: must be a mapping: uid, .* \(found 1\)",
    ),
    "no uid": ({"test_case/shelf.yaml": case(uid="")}, [], r"test_cases\.0\.uid: must be text"),
    "no code": (
        {"test_case/shelf.yaml": case(test_code="")},
        [],
        r"shelf\.yaml: test_cases\.0\.test_code: must be text",
    ),
    "code that is not python": (
        {"test_case/shelf.yaml": case(test_code="'def ('")},
        [],
        r"shelf\.yaml: shelf\.yaml:a: test_code: not valid Python: .*; mend it",
    ),
    "code that names no test": (
        {"test_case/shelf.yaml": case(test_code="'a = 1'")},
        [],
        r"shelf\.yaml:a: test_code: never names its test; end it with `__tb_test_fn = <function>`",
    ),
    "the same uid twice": (
        {"test_case/shelf.yaml": case() + case().split("\n", 1)[1]},
        [],
        r"shelf\.yaml: shelf\.yaml:a: stands in .*shelf\.yaml too",
    ),
    "metadata": (
        {"test_case/shelf.yaml": case(metadata="[1]")},
        [],
        r"metadata: must be a mapping",
    ),
    # History
    "history without its file": (
        {"test_case/talk.meta.yaml": None},
        [],
        r"talk\.yaml: history needs the file talk\.meta\.yaml beside the test file; add it",
    ),
    "history key": (
        {"test_case/talk.yaml": history("'kk:0:'")},
        [],
        r"talk\.yaml:t: history: \$history has no list 'kk'; did you mean k\?",
    ),
    "history key of a remark": (
        meta("$history: {'#k': []}"),
        [],
        r"has no list 'k'; there are none",
    ),
    "history is one word": (
        {"test_case/talk.yaml": history("k")},
        [],
        r"talk\.yaml:t: history: write it as \"key:start:end\", in quotes.* \(found 'k'\)",
    ),
    "history without a key": (
        {"test_case/talk.yaml": history("':0:'")},
        [],
        r"history: write it as",
    ),
    "history is a number": ({"test_case/talk.yaml": history("5")}, [], r"history: write it as"),
    "history mapping": ({"test_case/talk.yaml": history("{key: k}")}, [], r"start: is missing"),
    "history start outside": (
        {"test_case/talk.yaml": history("'k:2:'")},
        [],
        r"talk\.yaml:t: history: start 2 is not from 0 to 1; mend it",
    ),
    "history start below": (
        {"test_case/talk.yaml": history("'k:-1:'")},
        [],
        r"start -1 is not from",
    ),
    "history message id": (
        {"test_case/talk.yaml": history("'k:0:m9'")},
        [],
        r"history: no message has the message_id 'm9'; there are: none",
    ),
    "history end before its start": (
        {
            **meta("$history: {k: [{role: user, content: a, message_id: m0}]}"),
            "test_case/talk.yaml": history("'k:0:m0'"),
        },
        [],
        r"history: the end 'm0' is message 0, which is not after the start, 0; name a later one",
    ),
    "meta file without history": (
        meta("a: 1"),
        [],
        r"talk\.meta\.yaml: \$history: must be a mapping",
    ),
    "history list": (meta("$history: {k: 1}"), [], r"\$history\.k: must be a list of messages"),
    "history message": (meta("$history: {k: [hello]}"), [], r"talk\.yaml:t: history: message 0"),
    "history role": (
        meta("$history: {k: [{T: Text, role: nobody, content: a}]}"),
        [],
        r"history: message 0\.Text\.role: ",
    ),
    "history date": (
        meta("$history: {k: [{role: user, content: 2031-01-02}]}"),
        [],
        r"talk\.meta\.yaml: \$history\.k\.0\.content: YAML reads this as a date",
    ),
    # Scenario, agent, fixtures
    "no scenario file": ({"scenario/library.yaml": None}, [], r"there is no scenario 'library'"),
    "scenario is a list": (
        {"scenario/library.yaml": "[1]"},
        [],
        r"library\.yaml: must be a YAML mapping.* \(found \[1\]\)",
    ),
    "scenario is empty": (
        {"scenario/library.yaml": ""},
        [],
        r"library\.yaml: must be a YAML mapping",
    ),
    "scenario without a world": (
        {"scenario/library.yaml": "tools: []"},
        [],
        r"library\.yaml: world_state: is missing; add it",
    ),
    "scenario's tools": (
        {"scenario/library.yaml": "world_state: {}\ntools: [{is_end_turn: true}]"},
        [],
        r"library\.yaml: tools\.0\.name: is missing; add it",
    ),
    "a date in a scenario": (
        {"scenario/library.yaml": "world_state: {mail: {a: 2031-01-02}}\ntools: []"},
        [],
        r"library\.yaml: world_state\.mail\.a: YAML reads this as a date; put it in quotes",
    ),
    "no agent": ({"agent/think.yaml": None}, [], r"there is no agent 'think' .*; there are none"),
    "agent": (
        {"agent/think.yaml": "builtin_tools: []"},
        [],
        r"think\.yaml: system_instructions: is missing; add it",
    ),
    "conftest is a list": (
        {"test_case/conftest.yaml": "[1]"},
        [],
        r"conftest\.yaml: must be a YAML",
    ),
    "fixture without a type": (
        {"test_case/conftest.yaml": "fixtures: {clock: {at: 1}}"},
        [],
        r"conftest\.yaml: fixtures\.clock: a fixture needs a `type`: package\.module\.attribute",
    ),
    "fixture without a module": (
        {"test_case/conftest.yaml": "fixtures: {clock: {type: Clock}}"},
        [],
        r"fixtures\.clock: the type 'Clock' names no module; write package\.module\.attribute",
    ),
    # Selectors
    "unknown test": ({}, ["desk.py:great"], r"desk\.py: has no test 'great'; did you mean greet\?"),
    "unknown test in yaml": ({}, ["shelf.yaml:c"], r"shelf\.yaml: has no test 'c'; there are a, b"),
    "unknown file": (
        {},
        ["dsk.py:greet"],
        r"'dsk\.py:greet': there is no test file 'dsk\.py'; did you mean desk\.py",
    ),
    "neither path nor test": (
        {},
        ["desks"],
        r"'desks' names no file or folder, and is not file\.py",
    ),
    "empty": ({}, [""], r"the selector '' names no file or folder"),
    "no test name": ({}, ["desk.py:"], r"the selector 'desk\.py:' names no file"),
    "no file name": ({}, [":greet"], r"the selector ':greet' names no file"),
    "empty folder": ({"test_case/empty/note.txt": ""}, ["empty"], r"empty: there is no test file"),
    "list of numbers": ({"list.yaml": "- 1"}, ["LIST"], r"list\.yaml: 0: must be text of the form"),
    "list that names nothing": (
        {"list.yaml": "- desk.py"},
        ["LIST"],
        r"list\.yaml: the selector 'desk\.py' names no file or folder, and is not file\.py:test",
    ),
    "one uid from two files": (
        {"test_case/other/desk.py": GOOD["test_case/desk.py"]},
        [],
        r"other/desk\.py: desk\.py:greet: this uid comes from .*/test_case/desk\.py too; select",
    ),
}


def write(folder: Path, changes: dict[str, str | None]) -> Path:
    for name, text in {**GOOD, **changes}.items():
        if text is not None:
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("latin-1"))
    return folder


def test_without_a_mistake_there_is_no_error(tmp_path: Path) -> None:
    uids = [task.uid for task in load_thinkingbox(write(tmp_path, {}))]
    assert uids == ["desk.py:greet", "shelf.yaml:a", "shelf.yaml:b", "talk.yaml:t"]


@pytest.mark.parametrize(("changes", "selectors", "told"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_with_its_place(
    tmp_path: Path, changes: dict[str, str | None], selectors: list[str], told: str
) -> None:
    write(tmp_path, changes)
    given = [str(tmp_path / "list.yaml") if one == "LIST" else one for one in selectors]
    with pytest.raises(InputError, match=told) as caught:
        load_thinkingbox(tmp_path, given or None)
    assert "\n" not in str(caught.value)
    assert re.match(re.escape(str(tmp_path)), str(caught.value)), "it does not begin with a file"


def test_the_agent_is_looked_up_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no agent 'thinks' .*; did you mean think\?"):
        load_thinkingbox(write(tmp_path, {}), agent="thinks")


def test_a_list_file_must_be_a_list(tmp_path: Path) -> None:
    write(tmp_path, {"list.yaml": "a: 1"})
    with pytest.raises(InputError, match=r"list\.yaml: must be a YAML list of file\.py:test"):
        load_thinkingbox(tmp_path, list_file=tmp_path / "list.yaml")
    with pytest.raises(InputError, match=r"none\.yaml: cannot be read: No such file"):
        load_thinkingbox(tmp_path, list_file=tmp_path / "none.yaml")


def test_a_dataset_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: there is no such dataset folder"):
        load_thinkingbox(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"is not a dataset: it has no folder test_case"):
        load_thinkingbox(tmp_path)


def test_a_mistake_elsewhere_does_not_matter(tmp_path: Path) -> None:
    write(tmp_path, {"test_case/shelf.yaml": "[", "scenario/other.yaml": "["})
    (task,) = load_thinkingbox(tmp_path, ["desk.py:greet"])
    assert task.uid == "desk.py:greet"
