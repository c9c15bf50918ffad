"""Patterns mean what they mean to `re`, and never take long."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.sandbox.patterns import Pattern

ATOMS = [
    "a", "b", ".", r"\n", "[ab]", "[^a]", r"\w", r"\s", r"\W", r"\d", "é", "k",
    "^", "$", r"\b", r"\B", r"\A", r"\Z", "",
]  # fmt: skip
texts = st.text(st.sampled_from("ab \nkKé\u212a1"), max_size=8)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "??"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        st.tuples(st.sampled_from(["(?=", "(?!", "(?i:", "(?-i:", "(?s:", "(?m:", "("]), inner).map(
            lambda pair: f"{pair[0]}{pair[1]})"
        ),
        st.sampled_from("ab ").map(lambda mark: f"(?<={mark})"),
        st.sampled_from("ab\n").map(lambda mark: f"(?<!{mark})"),
    )


patterns = st.tuples(
    st.sampled_from(["", "", "(?i)", "(?m)", "(?a)", "(?im)"]),
    st.recursive(st.sampled_from(ATOMS), _grown, max_leaves=8),
).map("".join)


@settings(max_examples=200, deadline=None)
@given(patterns, st.lists(texts, min_size=1, max_size=6), st.sampled_from([re.DOTALL, 0]))
def test_a_pattern_means_what_it_means_to_re(pattern: str, written: list[str], flags: int) -> None:
    theirs = re.compile(pattern, flags)
    ours = Pattern(pattern, flags)
    for text in written:
        assert ours.fullmatch(text) == (theirs.fullmatch(text) is not None), (pattern, text)
        assert ours.search(text) == (theirs.search(text) is not None), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+b", "a" * 20_000),
        ("(a|a)*b", "a" * 20_000),
        (".*late.*refund.*sorry.*", "late refund " * 2_000),
        (r"(\w+\s?)*!", "word " * 4_000),
        ("(?=.*x)(?!.*y.*y).*z", "y" * 20_000),
        ("(.*a){12}b", "a" * 10_000),
        ("((a{0,9}){0,9}){0,3}b", "a" * 1_000),
    ],
)
def test_no_text_makes_it_slow(pattern: str, text: str) -> None:
    """With `re` each of these takes longer than anybody waits."""
    assert not Pattern(pattern).fullmatch(text)
    assert not Pattern(pattern).search(text)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(a", r"no regular expression: missing \)"),
        (r"(a)\1", "a reference to a group .*; write it without"),
        ("(a)?(?(1)b|c)", "a condition on a group"),
        ("(?>a+)b", "an atomic group"),
        ("a*+b", "a possessive repeat"),
        ("(a{1000}){1000}", "more than 2000 states; write smaller repeats"),
        ("(" * 5000 + ")" * 5000, "no regular expression"),
    ],
)
def test_what_cannot_be_matched_so_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Pattern(pattern)


def test_what_is_kept_does_not_grow_with_what_agents_write() -> None:
    pattern = Pattern("(?i)[^x]*x?.*")
    for start in range(0, 0xD000, 997):
        assert pattern.fullmatch("".join(map(chr, range(start, start + 997))))
    assert pattern._machine._steps <= 50_000
