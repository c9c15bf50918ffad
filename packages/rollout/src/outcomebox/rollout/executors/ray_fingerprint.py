"""Whether two machines have the same tasks."""

from __future__ import annotations

import hashlib
import json

from outcomebox.rollout.stage import Tasks


def fingerprint(tasks: Tasks) -> str:
    """SHA-256 over uid and versions of every task: the same where rows would say the same."""
    versions = {task.uid: dict(tasks.versions(task)) for task in tasks.tasks}
    return hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()
