"""The JSON Schema of task files; ``python -m outcomebox.sandbox.taskschema`` prints it.

The package ships it as ``task.schema.json``. An editor uses it for a file that starts with::

    # yaml-language-server: $schema=<path of task.schema.json>
"""

from __future__ import annotations

import json
import sys
from typing import Any

from outcomebox.sandbox.task import TaskFile


def task_file_schema() -> dict[str, Any]:
    """The schema of a file of tasks.

    ``domain`` and ``family`` may stand at the top instead of in each task; no task must have them.
    """
    schema = TaskFile.model_json_schema()
    task = schema["$defs"]["Task"]
    task["required"] = [name for name in task["required"] if name not in {"domain", "family"}]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tasks of a domain",
        **{name: value for name, value in schema.items() if name != "title"},
    }


def schema_text() -> str:
    """The schema as the text of a file."""
    return json.dumps(task_file_schema(), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
