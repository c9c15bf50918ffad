"""Tokenizer, chat template and reading of the model's output."""

from __future__ import annotations

from typing import Any

from outcomebox.interpret.tokens import TurnRefused, prompt_state_of
from outcomebox.rollout.turns import check_profile
from outcomebox.sandbox import InputError
from outcomebox.train.preflight.context import Context

_TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Looks something up.",
        "parameters": {
            "type": "object",
            "properties": {"id": {"type": "string"}},
            "required": ["id"],
        },
    },
}
_ASKED: list[dict[str, Any]] = [
    {"role": "system", "content": "Help."},
    {"role": "user", "content": "Where is my order?"},
]
_ANSWERED: list[dict[str, Any]] = [
    *_ASKED,
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "look_up", "arguments": '{"id": "A-1"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": '{"state": "sent"}'},
]


def check_template(context: Context) -> str:
    """The template writes tools, calls and answers with the model's tokenizer.

    Raises:
        InputError: It cannot be used.
    """
    template, model = context.template, context.plan.config.model
    field = "model.chat_template" if model.chat_template else "model.path"
    try:
        first = template.ids(_ASKED, tools=[_TOOL], generation=True)
        without = template.ids(_ASKED, tools=None, generation=True)
        second = template.ids(_ANSWERED, tools=[_TOOL], generation=True)
    except TurnRefused as error:
        raise context.wrong(
            field, f"its chat template refuses a conversation with a tool ({error}); give another"
        ) from error
    if first == without:
        raise context.wrong(
            field,
            "its chat template does not write the tools that are offered, so the model would not "
            "know them; give one that does with model.chat_template",
        )
    if len(second) <= len(first):
        raise context.wrong(
            field,
            "its chat template leaves out calls or answers of tools; give another with "
            "model.chat_template",
        )
    known = context.model_config.get("vocab_size")
    top = max(*first, *second)
    if isinstance(known, int) and top >= known:
        raise context.wrong(
            "model.path",
            f"its tokenizer writes id {top}, and the model has {known}; they are not of one model",
        )
    state = prompt_state_of(first, template.marks.vocabulary, model.format)
    return f"{len(first)} tokens ask with one tool; the model begins at {state}"


def check_reading(context: Context) -> str:
    """The interpreter reads the model's format as the profile says.

    Raises:
        InputError: There is no such profile or format, or it does not read it.
    """
    model = context.plan.config.model
    try:
        check_profile(model.profile, model.format)
    except InputError as error:
        field = "model.format" if "format" in str(error).split("; ")[0] else "model.profile"
        raise context.wrong(field, str(error).removeprefix("profile: ")) from None
    return f"{model.format} as {model.profile} reads it"
