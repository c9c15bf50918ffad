"""The kinds of tasks that there are, each as stages for the episode loop."""

from outcomebox.rollout.stages.native import NativeTasks
from outcomebox.rollout.stages.open import open_tasks
from outcomebox.rollout.stages.thinkingbox import ThinkingBoxSettings, ThinkingBoxTasks

__all__ = ["NativeTasks", "ThinkingBoxSettings", "ThinkingBoxTasks", "open_tasks"]
