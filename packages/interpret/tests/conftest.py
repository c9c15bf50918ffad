"""Soak runs: `OUTCOMEBOX_EXAMPLES=N` gives every property N examples, whatever its own number."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the properties more examples where that is asked for."""
    wanted = os.environ.get("OUTCOMEBOX_EXAMPLES")
    if wanted is None:
        return
    soak = settings(
        max_examples=int(wanted), deadline=None, suppress_health_check=list(HealthCheck)
    )
    for item in items:
        test: Any = getattr(item, "obj", None)
        if hasattr(test, "_hypothesis_internal_use_settings"):
            test._hypothesis_internal_use_settings = soak
