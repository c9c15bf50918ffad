"""Texts filled with what the servers' init returned, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.sandbox import InputError
from outcomebox.sandbox.thinkingbox import ThinkingBoxTask, load_thinkingbox, prompts

SMALL = Path(__file__).parent / "thinkingbox_small"
INIT = {
    "mail": {"user": "Ana", "card": 7},
    "catalog": {"loans": ["B-1", "B-2"], "today": "2031-04-05"},
}
(RENEW,) = load_thinkingbox(SMALL, ["loans_basic.py:renew"])


def renew(**changes: Any) -> ThinkingBoxTask:
    return RENEW.model_copy(update=changes)


def test_filled_and_joined() -> None:
    found = prompts(RENEW, INIT)
    assert found.query == "Hello Ana, renew B-1."
    assert found.user_context == "Card     7; braces { }."
    assert found.bot_instructions == "Be kind.\nToday is '2031-04-05'."


def test_texts_stay_as_they_are_without_format_query() -> None:
    plain = renew(format_query=False)
    found = prompts(plain, {})
    assert (found.query, found.user_context) == (plain.query, plain.user_context)
    assert found.bot_instructions == f"Be kind.\n{plain.bot_instructions}"


@pytest.mark.parametrize(
    ("scenario", "own", "joined"),
    [
        (None, None, None),
        ("a", None, "a"),
        (None, "b", "b"),
        ("a", "b", "a\nb"),
        ("", "", "\n"),
        ("", None, ""),
    ],
)
def test_instructions_are_joined_by_a_line_break(
    scenario: str | None, own: str | None, joined: str | None
) -> None:
    task = renew(
        scenario=RENEW.scenario.model_copy(update={"bot_instructions": scenario}),
        bot_instructions=own,
    )
    assert prompts(task, INIT).bot_instructions == joined


def test_the_scenarios_own_instructions_are_never_filled() -> None:
    scenario = RENEW.scenario.model_copy(update={"bot_instructions": "{init[mail][user]} {"})
    found = prompts(renew(scenario=scenario), INIT).bot_instructions
    assert found is not None
    assert found.startswith("{init[mail][user]} {\n")


@pytest.mark.parametrize("field", ["query", "user_context", "bot_instructions"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{init[mail][phone]}", r"\{init\[mail\]\[phone\]\} has no \[phone\]"),
        ("{init[post]}", r"has no \[post\]"),
        ("{init[catalog][loans][2]}", r"has no \[2\]"),
        ("{init[catalog][loans][-1]}", r"has no \[-1\]"),
        ("{init[mail][card][0]}", r"has no \[0\]"),
        ("{init.__class__}", "is not of the form"),
        ("{init[mail].keys}", "is not of the form"),
        ("{init[mail][user].__class__.__mro__}", "is not of the form"),
        ("{init[mail][card]:{init.__class__}}", "is not of the form"),
        ("{init[mail]user}", "is not of the form"),
        ("{other}", "is not of the form"),
        ("{}", "is not of the form"),
        ("{0}", "is not of the form"),
        ("a { b", "not a format string"),
        ("a } b", "not a format string"),
        ("{init[mail][card]!x}", "not a format string"),
        ("{init[mail][user]:d}", "not a format string"),
        ("{init[mail]:>9}", "not a format string"),
    ],
)
def test_what_cannot_be_filled_is_told_with_its_place(field: str, text: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        prompts(renew(**{field: text}), INIT)
    assert caught.value.field == field
    assert caught.value.task == "loans_basic.py:renew"


class Trap:
    secret = "not to be read"

    def __str__(self) -> str:
        return "harmless"


def test_no_attribute_of_an_object_is_ever_read() -> None:
    init = {"mail": Trap()}
    plain = renew(query="{init[mail]}", user_context="", bot_instructions=None)
    assert prompts(plain, init).query == "harmless"
    for reach in (".secret", "[secret]", ".__init__.__globals__", "!r.secret"):
        with pytest.raises(InputError):
            prompts(renew(query=f"{{init[mail]{reach}}}"), init)


KEYS = st.text(st.characters(exclude_characters="]{}[!:.", exclude_categories=["Cs"]), min_size=1)


def filled_alike(server: str, key: str, value: Any, around: str) -> None:
    around = around.replace("{", "{{").replace("}", "}}")
    text = f"{around}{{init[{server}][{key}]}}{around}"
    number = [int(name) if name.isdecimal() else name for name in (server, key)]
    init: Any = {number[0]: {number[1]: value}}
    task = renew(query=text, user_context=None, bot_instructions=None)
    try:
        filled = text.format(init=init)
    except ValueError:  # digits that are no index
        with pytest.raises(InputError, match="not a format string"):
            prompts(task, init)
    else:
        assert prompts(task, init).query == filled


@settings(max_examples=100, deadline=None)
@given(KEYS, KEYS, st.text(max_size=5) | st.integers(), st.text(max_size=8))
def test_as_str_format_does_it(server: str, key: str, value: Any, around: str) -> None:
    filled_alike(server, key, value, around)


@pytest.mark.parametrize("key", ["9223372036854775807", "9223372036854775808", "9" * 4000])
def test_digits_are_an_index_as_far_as_an_index_goes(key: str) -> None:
    filled_alike("0", key, "", "")
