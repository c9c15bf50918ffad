"""From what a person or a model asks to terms for SQLite's full-text index.

Any text is a query, none is a syntax error: operators are not looked for, every word stands quoted.
A document needs any one of the words and the ranking sorts them out, so that a question in whole
sentences finds the document that shares its rarest words. ``"words in quotes"`` must stand side by
side to count; the last word counts as the beginning of a word too, unless it is quoted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

# A question has tens of words; what comes after so many different ones changes no ranking.
MAX_TERMS = 128

# Only characters that the index's tokenizer takes for separators too, in every version of Unicode:
# cut anywhere else, a part of a word would be looked for as if it were one.
_SEPARATORS = re.compile(
    r"[\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\xa0«»¡¿\u1680\u2000-\u200a\u2010-\u2029\u202f-\u205f"
    r"\u3000-\u3003\u3008-\u3011]+"
)
_PHRASE = re.compile(r'"([^"]*)"')


# Words of questions. They are looked for too, but must not outweigh what is asked about: in a few
# dozen documents of instructions "how" and "my" are rarer than the subject.
_COMMON_TEXT = (
    "a about all am an and any are as at be been but by can could did do does for from get had has "
    "have he her his how i if in into is it its just me might must my no not of on or our out over "
    "she should so some than that the their them then there these they this those to up us was we "
    "were what when where which while who whom whose why will with would you your s t"
)
_COMMON = frozenset(_COMMON_TEXT.split())
_COMMON_WEIGHT = 0.05
# Of a word that only begins with the last one; one that is the same counts as itself as well.
_BEGINNING_WEIGHT = 0.25


@dataclass(frozen=True, slots=True)
class Term:
    """One thing looked for.

    Attributes:
        match: FTS5 expression.
        weight: What finding it counts.
    """

    match: str
    weight: float


def matches_all(query: str) -> bool:
    """Whether a query asks for every document: ``*``, or nothing that could be looked for."""
    return query.strip() == "*" or not read_query(query)


def read_query(query: str, *, prefix: bool = True) -> tuple[Term, ...]:
    """The terms of a query; none where no word stands in it.

    Args:
        query: Any text.
        prefix: Whether the last word may be the beginning of a longer one.
    """
    found: dict[str, None] = {}
    end = 0
    for match in _PHRASE.finditer(query):
        _words(query[end : match.start()], found)
        phrase = " ".join(word for word in _SEPARATORS.split(match[1]) if _has_token(word))
        if phrase:
            found[f'"{phrase}"'] = None
        end = match.end()
    last = _words(query[end:], found)
    terms = [Term(text, _weight(text)) for text in list(found)[:MAX_TERMS]]
    if prefix and last:
        terms.append(Term(f"{last}*", _weight(last) * _BEGINNING_WEIGHT))
    return tuple(terms)


def expression(terms: Iterable[Term]) -> str:
    """The FTS5 expression for documents that have any of the terms."""
    return " OR ".join(term.match for term in terms)


def _weight(quoted: str) -> float:
    return _COMMON_WEIGHT if quoted.strip('"').lower() in _COMMON else 1.0


def _words(text: str, terms: dict[str, None]) -> str:
    """Add the words of a text to the terms; gives back the last one."""
    last = ""
    for word in _SEPARATORS.split(text):
        if _has_token(word):
            last = f'"{word}"'
            terms[last] = None
    return last


def _has_token(word: str) -> bool:
    """Whether the tokenizer finds anything in a word: a letter, a digit or a private character."""
    if word.isascii():
        return word != ""  # all that is left of ASCII between separators is letters and digits
    return any(
        unicodedata.category(char)[0] in "LN" or unicodedata.category(char) == "Co" for char in word
    )
