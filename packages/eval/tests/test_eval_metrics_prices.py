"""Price files: read as they stand, and refused with the field and the mend."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from outcomebox.eval.metrics.prices import load_prices
from outcomebox.sandbox.errors import InputError

TEXT = """\
name: list prices
date: 2026-08-17
currency: USD
prices:
  - {model: my-model, input: 3.0, cached: 0.3, output: 15}
  - {model: my-model, role: user, input: 1.5, cached: 0.15, output: 7.5}
  - {model: free, input: 0, cached: 0, output: 0}
lines:
  - {name: training, amount: 412.5, note: 50 steps}
"""


def plain() -> dict[str, Any]:
    return {
        "name": "list",
        "date": "2026-08-17",
        "currency": "USD",
        "prices": [{"model": "m", "input": 3.0, "cached": 0.3, "output": 15.0}],
    }


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(TEXT, encoding="utf-8")
    prices = load_prices(file)
    assert prices.date == dt.date(2026, 8, 17)
    assert prices.label == "list prices, 2026-08-17, USD"
    assert prices.sha256 == hashlib.sha256(TEXT.encode()).hexdigest()
    assert prices.lines[0].amount == 412.5
    inputs = {
        (model, role): price and price.input
        for model in ("my-model", "free", "other", None)
        for role in ("policy", "user")
        for price in [prices.price(model, role)]
    }
    assert inputs == {
        ("my-model", "policy"): 3.0,
        ("my-model", "user"): 1.5,
        ("free", "policy"): 0.0,
        ("free", "user"): 0.0,
        ("other", "policy"): None,
        ("other", "user"): None,
        (None, "policy"): None,
        (None, "user"): None,
    }


def test_json_is_read_as_well(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text(json.dumps(plain(), indent=2), encoding="utf-8")
    assert load_prices(file).price("m", "judge") is not None


@pytest.mark.parametrize(
    ("change", "field", "what"),
    [
        ({"name": ""}, "name", "at least 1 character"),
        ({"date": "17.8.2026"}, "date", "write it as 2026-08-17"),
        ({"date": 20260817}, "date", "write it as 2026-08-17"),
        ({"date": "2026-02-30"}, "date", "write it as 2026-08-17"),
        ({"currency": "dollars"}, "currency", "pattern"),
        ({"currency": None}, "currency", "string"),
        ({"prices": []}, "prices", "at least 1 item"),
        ({"extra": 1}, "extra", "unknown field"),
        ({"sha256": "0"}, "sha256", "unknown field"),
        ({"prices": [{"model": "m", "input": 3.0, "output": 1.0}]}, "prices.0.cached", "missing"),
        (
            {"prices": [{"model": "m", "input": "3", "cached": 0, "output": 1}]},
            "prices.0.input",
            "number",
        ),
        (
            {"prices": [{"model": "m", "input": -3, "cached": 0, "output": 1}]},
            "prices.0.input",
            "greater than or equal to 0",
        ),
        (
            {"prices": [{"model": "m", "input": None, "cached": 0, "output": 1}]},
            "prices.0.input",
            "number",
        ),
        (
            {"prices": [{"model": "m", "role": "agent", "input": 3, "cached": 0, "output": 1}]},
            "prices.0.role",
            "'policy', 'user' or 'judge'",
        ),
        ({"prices": plain()["prices"] * 2}, "prices", "m, any role stands twice"),
        ({"lines": [{"name": "probe", "amount": 1}] * 2}, "lines", "probe stands twice"),
        ({"lines": [{"name": "probe", "amount": 1e999}]}, "lines.0.amount", ""),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, change: dict[str, Any], field: str, what: str
) -> None:
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({**plain(), **change}), encoding="utf-8")
    with pytest.raises(InputError) as told:
        load_prices(file)
    assert str(told.value).startswith(f"{file}: {field}: ")
    assert what in str(told.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "holds no price list"),
        ("- 1\n", "holds no price list"),
        ("name: a\nname: b\n", "stands twice"),
        ("{", "not valid YAML"),
    ],
)
def test_what_is_no_price_list_is_refused(tmp_path: Path, text: str, what: str) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=what):
        load_prices(file)
    with pytest.raises(InputError, match="cannot be read"):
        load_prices(tmp_path / "none.yaml")
