"""Tasks, tool servers, isolated sessions and the terminal state they leave.

The way of the data::

    tasks = load_tasks(["retail"])
    async with sandbox() as box:
        await start_domains(box, [domain])
        async with open_session(box, domain, image, seed=1) as session:
            result = await session.call("get_order", {"order_id": "ORD-5003"})
            state = await session.close()      # what changed, row by row
"""

from outcomebox.sandbox.backends.base import Backend, Backing, Image
from outcomebox.sandbox.backends.choose import BACKEND_VARIABLE, find_backend
from outcomebox.sandbox.backends.sqlite import SQLITE
from outcomebox.sandbox.box import Sandbox, sandbox
from outcomebox.sandbox.changes import (
    Change,
    TerminalState,
    change_from_json,
    change_to_json,
    read_state,
    terminal_state,
)
from outcomebox.sandbox.connection import Connection, ToolResult, ToolSpec
from outcomebox.sandbox.database import DatabaseState, TableInfo, Value
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
from outcomebox.sandbox.image import SqliteImage, domain_image, task_image
from outcomebox.sandbox.process import Process
from outcomebox.sandbox.servers import ServerLimits, ServerSpec, load_servers
from outcomebox.sandbox.session import Session, open_session, start_domains
from outcomebox.sandbox.supervised import Isolation
from outcomebox.sandbox.task import NO_CHANGE, Call, Limits, Reply, Task, UserContext
from outcomebox.sandbox.taskfile import TaskSet, load_tasks, read_task_file
from outcomebox.sandbox.world import World, open_world

__all__ = [
    "BACKEND_VARIABLE",
    "BUNDLED",
    "NO_CHANGE",
    "SQLITE",
    "Backend",
    "Backing",
    "Call",
    "Change",
    "Connection",
    "DatabaseState",
    "Domain",
    "Image",
    "InputError",
    "Isolation",
    "Limits",
    "Process",
    "Reply",
    "Sandbox",
    "SandboxFault",
    "ServerDied",
    "ServerLimits",
    "ServerSpec",
    "Session",
    "SessionOpenError",
    "SqliteImage",
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
    "World",
    "change_from_json",
    "change_to_json",
    "domain_image",
    "find_backend",
    "find_domain",
    "load_domain",
    "load_servers",
    "load_tasks",
    "open_session",
    "open_world",
    "read_state",
    "read_task_file",
    "sandbox",
    "start_domains",
    "task_image",
    "terminal_state",
]
