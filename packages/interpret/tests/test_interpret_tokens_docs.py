"""The page on tokens: its examples run, and its tables leave nothing out."""

import doctest
from pathlib import Path
from typing import get_args

from interpret_tokenizers import JinjaChat, qwen
from outcomebox.interpret.tokens import ALL_DRIFTS, ChatTemplate, RefusalCode

PAGE = Path(__file__).parents[3] / "docs" / "tokens.md"


def test_the_examples_run() -> None:
    template = ChatTemplate(JinjaChat("qwen3_5"), qwen())
    result = doctest.testfile(
        str(PAGE),
        module_relative=False,
        encoding="utf-8",
        globs={"encoding": qwen(), "template": template},
        optionflags=doctest.ELLIPSIS,
    )
    assert result.attempted >= 25
    assert result.failed == 0


def test_every_cause_and_the_refusals_that_need_a_word_are_told() -> None:
    text = PAGE.read_text(encoding="utf-8")
    told = {each for each in (*ALL_DRIFTS, *get_args(RefusalCode)) if f"`{each}`" in text}
    untold = {"nothing_new", "nothing_sampled", "no_assistant", "no_end_of_turn"}
    assert told == {*ALL_DRIFTS, *get_args(RefusalCode)} - untold
