"""The user and the judge: their settings, and whether they answer."""

from __future__ import annotations

import anyio

from outcomebox.rollout import make_judge, make_user
from outcomebox.sandbox import InputError
from outcomebox.train.preflight.context import Context


def check_actors(context: Context) -> str:
    """Their settings are of use; nobody is asked.

    Raises:
        InputError: One is not.
    """
    anyio.run(_with_actors, context, False)
    episodes = context.plan.config.episodes
    user = "a model" if episodes.user_options else "scripted"
    return f"the user is {user}, the judge {episodes.judge or 'nobody'}"


def check_endpoints(context: Context) -> str:
    """Each of them that is a model answers.

    Raises:
        InputError: One does not.
    """
    asked = anyio.run(_with_actors, context, True)
    return f"{asked} answer" if asked else "none is used"


async def _with_actors(context: Context, ask: bool) -> int:
    episodes = context.plan.config.episodes
    asked = 0
    try:
        user = make_user(episodes.user_options)
    except InputError as error:
        raise context.wrong("episodes.user_options", str(error)) from None
    try:
        judge = make_judge(episodes.judge, episodes.judge_options, tasks=context.tasks)
    except InputError as error:
        raise context.wrong("episodes.judge", str(error)) from None
    try:
        if ask and episodes.user_options:
            await _answers(context, "episodes.user_options.base_url", user)
            asked += 1
        if ask and judge is not None:
            await _answers(context, "episodes.judge_options.base_url", judge)
            asked += 1
    finally:
        await user.aclose()
        if judge is not None:
            await judge.aclose()
    return asked


async def _answers(context: Context, field: str, actor: object) -> None:
    check = getattr(actor, "check", None)
    if check is None:
        return
    try:
        await check()
    except InputError as error:
        raise context.wrong(field, str(error)) from None
