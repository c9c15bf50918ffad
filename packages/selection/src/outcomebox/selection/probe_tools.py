"""The tools that the policy of a run was offered, kept beside its rows.

A row holds what the model wrote; which values are numbers is told by the tools. They are the same
for all tasks of a domain, so they are written once, to `tools.json`: domain -> OpenAI tool objects.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from outcomebox.sandbox import Domain, InputError, Sandbox, TaskSet, open_session
from outcomebox.selection.atomic import write_files

TOOLS = "tools.json"

Tools = dict[str, list[dict[str, Any]]]


def known_tools(folder: Path) -> Tools:
    """The tools that an earlier part of the run has written; empty if none has.

    Raises:
        InputError: the file is damaged.
    """
    file = folder / TOOLS
    if not file.exists():
        return {}
    try:
        found: Tools = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(
            f"is not JSON ({error}); remove it, it is written anew", file=file
        ) from None
    return found


async def save_tools(box: Sandbox, tasks: TaskSet, domains: Sequence[Domain], folder: Path) -> None:
    """Asks each domain's server for its tools and writes them beside the run's rows.

    Args:
        box: where the domains have been started.
        tasks: the tasks of the run.
        domains: those to ask; what is known of others stays.
        folder: the run's folder.

    Raises:
        SandboxFault: a server failed.
    """
    found = known_tools(folder)
    for domain in domains:
        task = next(task for task in tasks.tasks if task.domain == domain.name)
        async with open_session(box, domain, tasks.image(task), seed=0) as session:
            found[domain.name] = [dict(tool.openai()) for tool in session.tools]
    text = json.dumps(dict(sorted(found.items())), ensure_ascii=False, indent=1) + "\n"
    write_files(folder, {TOOLS: text.encode()})
