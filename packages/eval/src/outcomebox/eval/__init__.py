"""Benchmark runs: replays of golden calls and of their mutations, with verdicts from terminal states."""

from outcomebox.eval.mutations import MutationError, Policy, Variant, parse_policy, variants

__all__ = ["MutationError", "Policy", "Variant", "parse_policy", "variants"]
