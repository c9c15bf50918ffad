"""Compare a render of a conversation with the ids that stand, and name the cause of a difference.

Ids that were sampled are the only record of what the model wrote. A chat template that renders the
conversation anew may write something else: this module says where first, and why. Turns are
compared one by one, so that a harmless difference does not hide a grave one behind it.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType

from outcomebox.interpret.tokens.errors import Drift, DriftCode
from outcomebox.interpret.tokens.marks import Marks
from outcomebox.interpret.tokens.text import read_ids

CAUSES: Mapping[DriftCode, str] = MappingProxyType(
    {
        "arguments_rewritten": "a call's arguments are written in another way",
        "boundary_newline": "the white space between two turns differs",
        "call_added": "the render has a call that does not stand",
        "call_missing": "a call that stands is not rendered",
        "empty_thinking": "an empty reasoning block stands that is not rendered",
        "end_of_turn": "the turn ends with another token, or does not end",
        "retokenised": "the same text in other tokens",
        "system_prompt": "the system message differs, or only one side has one",
        "text": "the text differs",
        "thinking_added": "the render has a reasoning block that does not stand",
        "thinking_stripped": "reasoning that stands is not rendered",
        "tool_merging": "tool results are one turn on one side and several on the other",
        "turn_added": "the render has a turn that does not stand",
        "turn_missing": "a turn that stands is not rendered",
        "white_space": "white space within a turn differs",
    }
)

OWN_WORDS: frozenset[DriftCode] = frozenset(
    {"arguments_rewritten", "empty_thinking", "retokenised", "white_space"}
)
"""Differences that say only that the model wrote the same in its own way. What stands is kept."""

ALL_DRIFTS: frozenset[DriftCode] = frozenset(CAUSES)

_SHOWN = 8


def drifts(standing: Sequence[int], rendered: Sequence[int], marks: Marks) -> tuple[Drift, ...]:
    """Return the first difference of every turn that differs, in order; empty where none does.

    Where texts differ, the first difference is the first that shows in the text.

    Args:
        standing: The ids that stand.
        rendered: The ids of the same turns as a template writes them.
        marks: The marks of the conversation's format.
    """
    if list(standing) == list(rendered):
        return ()
    return tuple(_Comparison(standing, rendered, marks).run())


def first_difference(standing: Sequence[int], rendered: Sequence[int]) -> int | None:
    """Return the first index at which two sequences of ids differ; None where they are equal."""
    for at, (left, right) in enumerate(zip_longest(standing, rendered)):
        if left != right:
            return at
    return None


class _Comparison:
    def __init__(self, standing: Sequence[int], rendered: Sequence[int], marks: Marks) -> None:
        self._marks = marks
        self._standing = standing
        self._rendered = rendered
        self._left = marks.turns(standing)
        self._right = marks.turns(rendered)

    def run(self) -> list[Drift]:
        if len(self._left) != len(self._right):
            whole = self._turns_differ()
            if whole:
                return [whole]
        found = [
            self._turn(number, left, right)
            for number, (left, right) in enumerate(zip(self._left, self._right, strict=False))
        ]
        both = min(len(self._left), len(self._right))
        if len(self._left) > both:
            found.append(
                self._drift("turn_missing", self._left[both][0], both, len(self._rendered))
            )
        elif len(self._right) > both:
            found.append(self._drift("turn_added", len(self._standing), both, self._right[both][0]))
        return [each for each in found if each]

    def _turns_differ(self) -> Drift | None:
        """Name the cause where one side has more turns and otherwise says the same."""
        at = first_difference(self._standing, self._rendered) or 0
        number = sum(stop <= at for _, stop in self._left)
        if self._joined(self._standing) == self._joined(self._rendered):
            return self._drift("tool_merging", at, number, at)
        longer, shorter = sorted((self._left, self._right), key=len, reverse=True)
        ids = self._standing if longer is self._left else self._rendered
        others = self._rendered if longer is self._left else self._standing
        start = longer[0][1]
        # The first turn's white space stands before its marks, so the next one has one more.
        if self._marks.text(ids[start:]).strip() == self._marks.text(others).strip() and shorter:
            return self._drift("system_prompt", at, 0, at)
        return None

    def _joined(self, ids: Sequence[int]) -> str:
        """Return the text without white space and without what separates two turns of one role."""
        text = self._marks.text(ids)
        ends = "|".join(map(re.escape, self._marks.format.end_of_turn))
        if ends:
            text = re.sub(rf"(?:{ends})\s*(?:<\|[^|<>]*\|>\w*)?", "", text)
        return "".join(text.split())

    def _turn(self, number: int, left: tuple[int, int], right: tuple[int, int]) -> Drift | None:
        stands, rendered = self._standing[slice(*left)], self._rendered[slice(*right)]
        at = first_difference(stands, rendered)
        if at is None:
            return None
        code = self._cause(number, stands, rendered)
        places = (at, at) if code == "retokenised" else self._text_differs(stands, rendered)
        return self._drift(code, left[0] + places[0], number, right[0] + places[1])

    def _text_differs(self, stands: Sequence[int], rendered: Sequence[int]) -> tuple[int, int]:
        """Return the ids that wrote the first character that differs.

        Ids before it may differ too, where both sides spell the same in other tokens.
        """
        left, right = (read_ids(ids, self._marks.vocabulary) for ids in (stands, rendered))
        pairs = zip_longest(left[0], right[0])
        at = next((at for at, (one, other) in enumerate(pairs) if one != other), 0)
        return left[1].holding(at), right[1].holding(at)

    def _cause(self, number: int, stands: Sequence[int], rendered: Sequence[int]) -> DriftCode:
        marks = self._marks
        left, right = marks.text(stands), marks.text(rendered)
        if left == right:
            return "retokenised"
        if "".join(left.split()) == "".join(right.split()):
            blank = [len(each) - len(each.lstrip()) for each in (left, right)]
            same = left[: blank[0]] == right[: blank[1]]
            return "white_space" if same else "boundary_newline"
        if stands[:-1] and (stands[-1] in marks.ends or rendered[-1] in marks.ends):
            left, right, ends = self._without_end(left, right, stands, rendered)
            if ends and left.rstrip() == right.rstrip():
                return "end_of_turn"
        thought = self._thinking(left, right)
        if thought:
            return thought
        if marks.call_open:
            calls = left.count(marks.call_open), right.count(marks.call_open)
            if calls[0] != calls[1]:
                return "call_missing" if calls[0] > calls[1] else "call_added"
        if number == 0 and _role(left) != _role(right):
            return "system_prompt"
        if number == 0 and _role(left) == "system":
            return "system_prompt"
        if marks.call_open and self._before_calls(left) == self._before_calls(right):
            return "arguments_rewritten" if marks.call_open in left else "text"
        return "text"

    def _without_end(
        self, left: str, right: str, stands: Sequence[int], rendered: Sequence[int]
    ) -> tuple[str, str, bool]:
        """Take the ends of turn off both texts; say whether they differ."""
        tails = [
            self._marks.text(ids[-1:]) if ids[-1] in self._marks.ends else ""
            for ids in (stands, rendered)
        ]
        return left.removesuffix(tails[0]), right.removesuffix(tails[1]), tails[0] != tails[1]

    def _thinking(self, left: str, right: str) -> DriftCode | None:
        thoughts = [self._thought(each) for each in (left, right)]
        if thoughts[0] is not None and thoughts[1] is None:
            return "thinking_stripped" if thoughts[0] else "empty_thinking"
        if thoughts[0] is None and thoughts[1] is not None:
            return "thinking_added"
        if thoughts[0] and not thoughts[1]:
            return "thinking_stripped"
        return None

    def _thought(self, text: str) -> str | None:
        """Return the reasoning of a turn without white space around it; None without a block."""
        opener, closer = self._marks.think
        if not closer or closer not in text:
            return None
        before = text.partition(closer)[0]
        return before.rpartition(opener)[2].strip() if opener in before else None

    def _before_calls(self, text: str) -> str:
        return "".join(text.partition(self._marks.call_open)[0].split())

    def _drift(self, code: DriftCode, index: int, turn: int, rendered_at: int) -> Drift:
        stands = tuple(self._standing[index : index + _SHOWN])
        rendered = tuple(self._rendered[rendered_at : rendered_at + _SHOWN])
        message = (
            f"{CAUSES[code]}: turn {turn}, id {index}: stands "
            f"{self._marks.text(stands)!r}, rendered {self._marks.text(rendered)!r}"
        )
        return Drift(code, index, turn, stands, rendered, message)


def _role(turn: str) -> str:
    """Return the first word of a turn's text, which names its role."""
    words = re.search(r"[A-Za-z]+$", turn.partition("\n")[0])
    return words.group() if words else ""
