"""Judge models: any OpenAI-compatible endpoint, asked strictly, by majority, with a cache.

::

    judge = model_judge(judge_settings({"base_url": "http://127.0.0.1:8000/v1", "model": "m"}))
    verdict = await with_answers(lambda known: grade_safely(check, state, judge=known), judge)
"""

from outcomebox.reward.judging.answering import with_answers
from outcomebox.reward.judging.cache import FileCache, MemoryCache, VoteCache
from outcomebox.reward.judging.needs import require_judge, rubric_questions
from outcomebox.reward.judging.recorded import RecordedJudge
from outcomebox.reward.judging.rubric import ModelJudge, model_judge
from outcomebox.reward.judging.settings import JudgeSettings, judge_settings

__all__ = [
    "FileCache",
    "JudgeSettings",
    "MemoryCache",
    "ModelJudge",
    "RecordedJudge",
    "VoteCache",
    "judge_settings",
    "model_judge",
    "require_judge",
    "rubric_questions",
    "with_answers",
]
