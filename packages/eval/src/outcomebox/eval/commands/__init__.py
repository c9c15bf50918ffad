"""The commands of `outcomebox-eval`."""
