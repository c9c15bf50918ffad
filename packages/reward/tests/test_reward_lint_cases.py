"""Every public mistake of a check in ``cases/state.jsonl`` is found and named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reward_lint_helpers import LINT_CASES, found, lint_sql

NAMED = ("table", "column", "key")


def test_all_cases_are_here() -> None:
    assert len(LINT_CASES) == 11


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in LINT_CASES])
def test_lint(case: dict[str, Any]) -> None:
    linted = lint_sql(case["schema"], case["seed"], case["golden"], case["check"])
    defect = case["expected"]["defect"]
    named = {name: defect[name] for name in NAMED if name in defect}
    findings = [
        each
        for each in found(linted, defect["code"])
        if all(getattr(each, name) == value for name, value in named.items())
    ]
    assert findings, [each.to_json() for each in linted.findings]
    details = findings[0].details
    for name in defect.keys() - {"code", *NAMED, "reasons"}:
        assert details[name] == defect[name]
    brief = [
        {name: reason[name] for name in ("table", "key", "column", "kind")}
        for reason in details.get("reasons", ())
    ]
    assert brief == defect.get("reasons", [])
    assert findings[0].mend
    assert "\n" not in findings[0].message
    json.dumps(linted.to_json())
