"""Where episodes run: in this process, or wherever an executor takes them."""

from outcomebox.rollout.executors.base import Executor, Job, Tried, WorkerLost
from outcomebox.rollout.executors.choose import executor_names, open_executor

__all__ = ["Executor", "Job", "Tried", "WorkerLost", "executor_names", "open_executor"]
