"""Grading stored episodes again with the present checks: no session, no model."""

from outcomebox.reward.regrade.again import Regrader
from outcomebox.reward.regrade.outcome import Left, Regraded
from outcomebox.reward.regrade.report import Report
from outcomebox.reward.regrade.run import Order, regrade
from outcomebox.reward.regrade.runfile import RunFile, open_run

__all__ = ["Left", "Order", "Regraded", "Regrader", "Report", "RunFile", "open_run", "regrade"]
