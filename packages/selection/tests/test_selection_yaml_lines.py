"""A line of a pool is what PyYAML writes, whether PyYAML wrote it or not."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.selection.yamlfile import _dump, yaml_line

texts = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="ab1.-_/: #'\"\\[]{},&*!|>%@`~?\t\n", max_size=8),
    st.sampled_from(["yes", "null", "1e3", "~", "0x1F", "2026-03-02", " x ", "", "a b"]),
)
values = st.one_of(
    texts, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.lists(texts)
)


@given(st.dictionaries(st.sampled_from(["uid", "passes", "hash", "no", "a b"]), values))
@settings(deadline=None, max_examples=200)
def test_a_line_is_what_pyyaml_writes(value: dict[str, Any]) -> None:
    line = yaml_line(value)
    assert line == _dump(value, flow=True).rstrip("\n")
    assert yaml.safe_load(line) == value
