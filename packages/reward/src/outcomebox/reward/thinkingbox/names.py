"""The module names that test code imports, served by the modules here."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any

from outcomebox.reward.thinkingbox import (
    answers,
    chat,
    context,
    graders,
    judging,
    prompts,
    rubrics,
)
from outcomebox.reward.thinkingbox.asking import SessionClientFixture, ThinkingBoxError

_SERVED: Mapping[str, Mapping[str, Any]] = {
    "thinkingbox": {},
    "thinkingbox.common": {
        "Judge": judging.Judge,
        "SessionClientFixture": SessionClientFixture,
        "TestContext": context.TestContext,
    },
    "thinkingbox.common.chat_types": {
        "Conversation": chat.Conversation,
        "Message": chat.Message,
        "MessageT": chat.MessageT,
        "ParallelToolCall": chat.ParallelToolCall,
        "TestContext": context.TestContext,
        "Text": chat.Text,
        "ToolCall": chat.ToolCall,
        "ToolCallResponse": chat.ToolCallResponse,
        "ToolResponse": chat.ToolResponse,
        "get_conversation_transcript": chat.get_conversation_transcript,
    },
    "thinkingbox.common.judge": {
        "Judge": judging.Judge,
        "JudgeException": judging.JudgeException,
        "safe_tag_encode": prompts.escape_tags,
    },
    "thinkingbox.common.graders": {
        "average_reward": graders.average_reward,
        "match_score": graders.match_score,
    },
    "thinkingbox.common.rubrics_judge": {
        "EvaluationResult": rubrics.EvaluationResult,
        "RubricConfig": rubrics.RubricConfig,
        "RubricJudge": rubrics.RubricJudge,
        "RubricScore": rubrics.RubricScore,
    },
    "thinkingbox.common.config_types": {"RubricConfig": rubrics.RubricConfig},
    "thinkingbox.common.mcp_proxy_client": {"SessionClientFixture": SessionClientFixture},
    "thinkingbox.fixtures": {"GeneratedAnswerEvaluator": answers.GeneratedAnswerEvaluator},
    "thinkingbox.fixtures.answer_evaluator": {
        "GeneratedAnswerEvaluator": answers.GeneratedAnswerEvaluator
    },
    "thinkingbox.common.utils": {"ThinkingBoxError": ThinkingBoxError},
}


def install() -> None:
    """Serve the names in this process, also where a package of that name is installed.

    For grader processes only: in a runner they would stand in the way of the real package.
    """
    for name, served in _SERVED.items():
        module = types.ModuleType(name, f"What test code may import from {name}.")
        module.__dict__.update(served)
        module.__all__ = sorted(served)  # type: ignore[attr-defined]
        if any(other.startswith(f"{name}.") for other in _SERVED):
            module.__path__ = []  # a package, so that a name not served is said to be missing
        sys.modules[name] = module
        parent, _, own = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], own, module)
