"""Readers of results, one module a kind; all give the same table of tries."""

from outcomebox.eval.reading.finding import KINDS, read

__all__ = ["KINDS", "read"]
