"""Tasks, tool servers, isolated sessions and the terminal state they leave.

The way of the data::

    tasks = load_tasks(["retail"])
    async with sandbox() as box:
        await box.start([domain])
        async with box.open(domain, image, seed=1) as session:
            result = await session.call("get_order", {"order_id": "ORD-5003"})
            state = await session.close()      # what changed, row by row
"""

from outcomebox.sandbox.changes import (
    Change,
    TerminalState,
    change_from_json,
    change_to_json,
    terminal_state,
)
from outcomebox.sandbox.database import DatabaseState, TableInfo, Value, read_state
from outcomebox.sandbox.domain import BUNDLED, Domain, find_domain, load_domain
from outcomebox.sandbox.errors import (
    InputError,
    SandboxFault,
    ServerDied,
    SessionOpenError,
    StateUnreadable,
    ToolDeadline,
    ToolFault,
)
from outcomebox.sandbox.image import Image, domain_image, task_image
from outcomebox.sandbox.session import Sandbox, Session, ToolResult, ToolSpec, sandbox
from outcomebox.sandbox.task import NO_CHANGE, Call, Limits, Reply, Task, UserContext
from outcomebox.sandbox.taskfile import TaskSet, load_tasks, read_task_file

__all__ = [
    "BUNDLED",
    "NO_CHANGE",
    "Call",
    "Change",
    "DatabaseState",
    "Domain",
    "Image",
    "InputError",
    "Limits",
    "Reply",
    "Sandbox",
    "SandboxFault",
    "ServerDied",
    "Session",
    "SessionOpenError",
    "StateUnreadable",
    "TableInfo",
    "Task",
    "TaskSet",
    "TerminalState",
    "ToolDeadline",
    "ToolFault",
    "ToolResult",
    "ToolSpec",
    "UserContext",
    "Value",
    "change_from_json",
    "change_to_json",
    "domain_image",
    "find_domain",
    "load_domain",
    "load_tasks",
    "read_state",
    "read_task_file",
    "sandbox",
    "task_image",
    "terminal_state",
]
