"""A fixture that compares the agent's answer with a reference answer."""

from __future__ import annotations

import re

from outcomebox.reward.thinkingbox import prompts
from outcomebox.reward.thinkingbox.context import TestContext
from outcomebox.reward.thinkingbox.judging import Judge
from outcomebox.reward.thinkingbox.rubrics import RubricConfig, RubricJudge

_SHOWN = 200
_PLACE = re.compile(
    r"(?:(?P<sheet>.+):)?(?P<kind>[pr])(?P<first>\d+)(?:-(?P<last>\d+))?", re.IGNORECASE
)
_KINDS = {"p": "page", "r": "row"}
_READABLE = "Is the response clear, easy to read, and to the point of the query?"
_CONCISE = "Is the response concise: complete, without padding, filler or repetition?"


class GeneratedAnswerEvaluator:
    """Judges an answer by what it says, what it cites and how it reads.

    Args:
        judge: Who is asked.
        x: The check's context, whose ``response`` is judged.
        fail_on_mismatch: Whether an answer that says something else fails at once; if not, what it
            says is one rubric, of the weight of all others together.
        rubrics_threshold: The reward of the rubrics below which the check fails.
        max_workers: As for :class:`RubricJudge`.
    """

    def __init__(
        self,
        judge: Judge,
        x: TestContext,
        fail_on_mismatch: bool = True,
        rubrics_threshold: float = 0.7,
        max_workers: int = 2,
    ) -> None:
        self.judge = judge
        self.x = x
        self.fail_on_mismatch = fail_on_mismatch
        self.rubrics_threshold = rubrics_threshold
        self.rubric_judge = RubricJudge(judge=judge, x=x, max_workers=max_workers)

    def candidate_answer_matches_reference(
        self, query: str, reference: str, candidate: str, fail_on_mismatch: bool = True
    ) -> bool:
        """Whether an answer says all that the reference says.

        Raises:
            AssertionError: It does not, and ``fail_on_mismatch``.
        """
        user = prompts.about_reference(query, reference, candidate)
        matches = self.judge.evaluate_bool(system=prompts.REFERENCE, user=user)
        if fail_on_mismatch and not matches:
            raise AssertionError(
                f"the answer {_shown(candidate)} does not say what the reference says: "
                f"{_shown(reference)}"
            )
        return matches

    def evaluate(
        self,
        reference: str,
        ref_doc: str | None = None,
        ref_loc: str | None = None,
        fail_on_mismatch: bool | None = None,
        rubrics_threshold: float | None = None,
        *,
        ref_pages: str | None = None,
    ) -> bool:
        """Judge the context's response.

        Args:
            reference: What it should say.
            ref_doc: The document it should cite.
            ref_loc: Where in it: ``p3``, ``p3-5``, ``r7``, ``Sheet:r7-9``, ``Multiple_Sheets``;
                ``+`` between places that must all be cited, ``,`` between alternatives.
            fail_on_mismatch: In place of the fixture's own.
            rubrics_threshold: In place of the fixture's own.
            ref_pages: An older name of ``ref_loc``.

        Returns:
            Whether it says what the reference says.

        Raises:
            AssertionError: It does not and that is to fail at once, or the reward is too low.
        """
        at_once = self.fail_on_mismatch if fail_on_mismatch is None else fail_on_mismatch
        threshold = self.rubrics_threshold if rubrics_threshold is None else rubrics_threshold
        place = ref_pages if ref_loc is None else ref_loc
        query, response = self.x.query(), self.x.response
        criteria = [_READABLE, _CONCISE]
        if place is not None:
            where = describe_place(place)
            criteria.insert(0, f"Does the response say that it rests on {where} of its source?")
        if ref_doc is not None:
            criteria.insert(0, f"Does the response name the document '{ref_doc}' as its source?")
        rubrics = [RubricConfig(criterion=each, weight=1.0) for each in criteria]
        if at_once:
            self.candidate_answer_matches_reference(query, reference, response)
        else:
            says = prompts.same_as_reference(query, reference)
            rubrics.insert(0, RubricConfig(criterion=says, weight=float(len(rubrics))))
        result = self.rubric_judge.evaluate(
            response, rubrics, global_threshold=threshold, throw_on_failure=True
        )
        return at_once or result.scores[0].rating == 1


def describe_place(place: str) -> str:
    """A place in a document, in words."""
    return ", or ".join(
        " and ".join(_one_place(each.strip()) for each in option.split("+"))
        for option in place.split(",")
    )


def _one_place(place: str) -> str:
    if place == "Multiple_Sheets":
        return "several sheets"
    found = _PLACE.fullmatch(place)
    if found is None or (found["sheet"] and found["kind"].lower() == "p"):
        return place
    kind = _KINDS[found["kind"].lower()]
    words = f"{kind} {found['first']}"
    if found["last"]:
        words = f"{kind}s {found['first']} to {found['last']}"
    return f"{words} of sheet '{found['sheet']}'" if found["sheet"] else words


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
