"""YAML in and out: text stays text, whoever reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outcomebox.selection import InputError
from outcomebox.selection.yamlfile import read_yaml, yaml_line, yaml_text

plain_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**12), 10**12),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(codec="utf-8")),
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text("abcdé-1: "), inner)),
    max_leaves=12,
)


@given(plain_values)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_as_yaml_is_read_back(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "x.yaml"
    for text in (yaml_text({"value": value}), yaml_line({"value": value})):
        assert yaml.safe_load(text) == {"value": value}
        path.write_text(text, encoding="utf-8", newline="")
        assert read_yaml(path) == {"value": value}
    assert "\n" not in yaml_line({"value": value})


def test_yaml_is_read_by_the_core_rules(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "a: no\nb: 2026-03-02\nc: 1:30\nd: 012\ne: 1e3\nf: true\ng: 0x10\nh: ~\ni: -1.5\n"
    )
    assert read_yaml(path) == {
        "a": "no",
        "b": "2026-03-02",
        "c": "1:30",
        "d": 12,
        "e": 1000.0,
        "f": True,
        "g": "0x10",
        "h": None,
        "i": -1.5,
    }
    for text, said in (
        ("a: 1\na: 2\n", "x.yaml:2:1: .*stands twice"),
        ("a: [1\n", "is not YAML"),
        ("\x00", "is not YAML"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=said):
            read_yaml(path)
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="UTF-8"):
        read_yaml(path)
