"""The program ``outcomebox-rollout``."""
