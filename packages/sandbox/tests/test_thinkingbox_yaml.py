"""Our reading of YAML is ``yaml.safe_load``'s, on whatever we can think of."""

from __future__ import annotations

import json
import random
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.sandbox import InputError
from outcomebox.sandbox.thinkingbox.blockyaml import Unusual, read_block
from outcomebox.sandbox.thinkingbox.plain import as_json
from outcomebox.sandbox.thinkingbox.yaml11 import load

AWKWARD = {
    "empty": "",
    "only a comment": "# nothing\n",
    "null": "~",
    "booleans": "a: yes\nb: No\nc: on\nd: OFF\ne: true\nf: y\ng: n\nh: 'yes'\n",
    "octal": "a: 010\nb: 0o10\nc: 0x1F\nd: 0b11\ne: 08\nf: '010'\n",
    "sexagesimal": "a: 12:30\nb: 1:30.5\nc: 12:30:45\nd: 190:20\n",
    "numbers": "a: 1_000\nb: +1\nc: -1\nd: 1e3\ne: 1.e+3\nf: .5\ng: 1.\nh: -.5\ni: '1'\nj: 1,5\n",
    "no number in json": "a: .inf\nb: -.INF\nc: .nan\n",
    "dates": "a: 2031-01-02\nb: 2031-01-02 03:04:05\nc: 2031-01-02T03:04:05Z\nd: '2031-01-02'\n",
    "no date": "a: 2031-99-99\n",
    "keys that are no text": "1: a\nyes: b\n~: c\n1.5: d\n2031-01-02: e\n",
    "the same key twice": "a: 1\nb: 2\na: 3\n",
    "anchors": "a: &x {k: [1, 2]}\nb: *x\nc: [*x, *x]\n",
    "an anchor that is not there": "a: *x\n",
    "a list that holds itself": "a: &x [1, *x]\n",
    "merge keys": "a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3\nc:\n  <<: [*x, {m: 4}]\n",
    "merge key of a block": "a: &x\n  k: 1\nb:\n  <<: *x\n",
    "a quoted merge key": "a:\n  '<<': 1\n",
    "the value key": "a:\n  =: 1\nb: =\n",
    "tags": "a: !!str 1\nb: !!int '2'\nc: !!set {x, y}\nd: !!binary aGk=\ne: ! 3\n",
    "pairs": "a: !!omap [x: 1, y: 2]\nb: !!pairs [x: 1, x: 2]\n",
    "a tag that nobody knows": "a: !thing 1\n",
    "python tag": "a: !!python/object/apply:os.getcwd []\n",
    "flow": "a: {b: [1, 'x', {c: d}], e: }\nf: [\n  1,\n  2,\n]\n",
    "list right under its key": "a:\n- 1\n- b: 2\n  c: 3\n-\n- - 4\n  - 5\nd: 6\n",
    "list of lists": "-\n  - 1\n-\n  -   2\n- - 3\n",
    "blocks": "a: |\n  x\n\n    y\n \n\nb: |-\n  x\n\nc: |+\n  x\n\n\nd: |2\n   x\n",
    "folded": "a: >\n  x\n  y\n\n  z\nb: >-\n  x\n",
    "block at the end": "a: |\n  x",
    "kept block at the end": "a: |+\n  x\n\n",
    "block of blanks": "a: |\n\n\nb: |+\n\nc: 1\n",
    "block with comments": "a: |\n  # text\n  x\n # remark\nb: |\n  y\n# remark\nc: 1\n",
    "block with a comment at its head": "a: | # remark\n  x\nb: |-# x\n",
    "continued text": "a: one\n  two\n\n  three\nb: 'one\n  two'\nc: \"one\n  two\\\n  three\"\n",
    "escapes": 'a: "\\u00e9\\x41\\n\\t\\"\\\\ \\/ \\e"\nb: \'it\'\'s\'\nc: "tab\\tend"\n',
    "an escape that is none": 'a: "\\q"\n',
    "quotes that do not end": "a: 'x\nb: 1\n",
    "text behind quotes": "a: 'x' y\n",
    "comments": "a: 1 # one\nb: x#y\nc: '#'\nd: #\n# e\ne: x # y\n",
    "colons": "a: http://x.y/z\nb: x:y\nc: 'x: y'\n",
    "two colons": "a: b: c\n",
    "question marks": "a: [x?, {b?: c}]\nb: {c: d?}\n",
    "colon at the end": "a: b:\n",
    "indicators": "a: -x\nb: ?x\nc: '@x'\nd: -1\ne: - 1\n",
    "reserved": "a: @x\n",
    "backquote": "a: `x`\n",
    "tabs": "a:\t1\nb: x\ty\n",
    "tab as indent": "a:\n\tb: 1\n",
    "markers": "---\na: 1\n...\n",
    "two documents": "a: 1\n---\nb: 2\n",
    "directive": "%YAML 1.1\n---\na: 1\n",
    "indented": "  a: 1\n  b:\n    c: 2\n",
    "outdented": "    a: 1\n  b: 2\n",
    "deeper without a reason": "a: 1\n  b: 2\n",
    "list and mapping mixed": "- 1\na: 2\n",
    "mapping and list mixed": "a: 1\n- 2\n",
    "text at the top": "just text\n",
    "text over lines": "just\ntext\n",
    "carriage returns": "a: 1\r\nb: |\r\n  x\r\n",
    "odd line ends": "a: x\u2028y\nb: x\x85y\n",
    "byte order mark": "\ufeffa: 1\n",
    "not printable": "a: \x07\n",
    "beyond the first plane": "a: \U0001f4da\nb: |\n  \U0001f4da\n",
    "no-break space": "a: x\xa0y\n\xa0b: 1\n",
    "spaces at the ends of lines": "a:   \n  b: x   \n  c: |  \n    y  \n",
    "spaces in keys": "a b: 1\n'c d': 2\n? e\n: 3\n",
    "dash alone": "-\n",
    "dashes": "a: --\nb: -- x\n- c\n",
    "dash and blanks": "-  \n-   a\n",
    "deep": "[" * 400,
    "deep and closed": "[" * 40 + "]" * 40,
}

quick = settings(max_examples=100, deadline=None)


def outcome(read: Callable[[str], Any], text: str) -> str:
    """What reading gives, types and order included, or what it says is wrong."""
    try:
        return repr(read(text))
    except (yaml.YAMLError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    except RecursionError:
        return "too deep"


def ours(text: str) -> Any:
    return load(text)[0]


@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD.keys())
def test_awkward_documents(text: str) -> None:
    assert outcome(ours, text) == outcome(yaml.safe_load, text)
    docstring = textwrap.indent(f"\n{text}\n", "    ")
    expected = outcome(lambda one: yaml.safe_load(textwrap.dedent(one)), docstring)
    assert outcome(lambda one: load(one, indented=True)[0], docstring) == expected


@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD.keys())
def test_the_same_without_libyaml(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert outcome(ours, text) == outcome(yaml.safe_load, text)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=12)
    | st.sampled_from(["yes", "010", "1:30", "2031-01-02", "a: b", "- x", "x #y", "a\nb\n", "\n"])
)
KEYS = st.from_regex(r"\A[a-z_$][a-z0-9_.]{0,5}\Z") | st.sampled_from(["yes", "1", "a b", "<<"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
STYLES = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([2, 4]),
        "width": st.sampled_from([20, 80, 10_000]),
        "default_flow_style": st.sampled_from([False, False, None, True]),
        "default_style": st.sampled_from([None, None, None, "|", "'", '"']),
        "allow_unicode": st.booleans(),
        "explicit_start": st.sampled_from([False, False, True]),
    }
)


@quick
@given(VALUES, STYLES)
def test_values_written_in_any_style(value: Any, style: dict[str, Any]) -> None:
    text = yaml.safe_dump(value, sort_keys=False, **style)
    assert outcome(ours, text) == outcome(yaml.safe_load, text)


@quick
@given(st.dictionaries(KEYS, VALUES, max_size=4), st.randoms(use_true_random=False))
def test_lines_moved_and_damaged(value: dict[str, Any], chance: random.Random) -> None:
    lines = yaml.safe_dump(value, width=10_000, allow_unicode=True).split("\n")
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(lines))
        change = chance.choice(["drop", "twice", "in", "out", "blank", "tail", "swap"])
        if change == "drop":
            del lines[at : at + 1]
            lines = lines or [""]
        elif change == "twice":
            lines.insert(at, lines[at])
        elif change == "in":
            lines[at] = " " * chance.randint(1, 3) + lines[at]
        elif change == "out":
            lines[at] = lines[at][1:]
        elif change == "blank":
            lines.insert(at, " " * chance.randint(0, 5))
        elif change == "tail":
            lines[at] += chance.choice([" ", ":", " # x", ": x", " |", "'", "\t"])
        else:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
    text = "\n".join(lines)
    assert outcome(ours, text) == outcome(yaml.safe_load, text)
    docstring = textwrap.indent(text, "  ")
    expected = outcome(lambda one: yaml.safe_load(textwrap.dedent(one)), docstring)
    assert outcome(lambda one: load(one, indented=True)[0], docstring) == expected


SIGNS = "ab1-:?|>[]{},&*!#'\"%@~=.\n "
WORDS = [
    "\n  ",
    "\n- ",
    ": ",
    "<<",
    "yes",
    "|\n",
    "!!str ",
    "&a ",
    "é",
    "\t",
    "\r\n",
    "---\n",
    "1:30",
]
PIECES = st.sampled_from([*SIGNS, *WORDS])


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join), st.sampled_from(["", "a: ", "a:\n  b: "]))
def test_signs_in_any_order(text: str, before: str) -> None:
    assert outcome(ours, before + text) == outcome(yaml.safe_load, before + text)


PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab c", min_size=1).map(str.strip),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.from_regex(r"\A[a-z]{3,6}\Z"), inner, min_size=1, max_size=3)
    ),
    max_leaves=15,
)


@quick
@given(st.dictionaries(st.from_regex(r"\A[a-z]{3,6}\Z"), PLAIN, min_size=1, max_size=3))
def test_plain_blocks_need_no_pyyaml(value: dict[str, Any]) -> None:
    text = yaml.safe_dump(value, width=10_000)
    try:
        found = read_block(text)
    except Unusual:
        assert "- - " in text  # all that is left for PyYAML of such documents
    else:
        assert found == value
        assert load(text) == (value, True)


@quick
@given(VALUES, STYLES)
def test_what_is_said_to_be_plain_is_json(value: Any, style: dict[str, Any]) -> None:
    found, plain = load(yaml.safe_dump(value, sort_keys=False, **style))
    if plain:
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        assert as_json(found) == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: {b: 2031-01-02}", r"a\.b: YAML reads this as a date; put it in quotes"),
        ("a: [1, .nan]", r"a\.1: JSON has no such number"),
        ("a: !!binary aGk=", "a: YAML reads this as a bytes; put it in quotes"),
        ("a: !!set {x}", "a: YAML reads this as a set"),
        ("2031-01-02: a", "YAML reads a key as a date; put it in quotes"),
        ("a: {1: x, '1': y}", "a: two keys are the same as text; keep one"),
        ("a: &x [*x]", "holds itself through an alias"),
    ],
)
def test_what_json_has_no_word_for(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        as_json(load(text)[0])


def test_an_alias_is_one_object_and_no_error() -> None:
    value = as_json(load("a: &x [1]\nb: *x\n")[0])
    assert value == {"a": [1], "b": [1]}
