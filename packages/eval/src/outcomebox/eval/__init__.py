"""Benchmark runs: golden calls and mutations of them, judged by the state they leave."""

from outcomebox.reward.thinkingbox.mutations import (
    MutationError,
    Policy,
    Variant,
    parse_policy,
    variants,
)

__all__ = ["MutationError", "Policy", "Variant", "parse_policy", "variants"]
