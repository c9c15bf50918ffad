"""The parts of the linter one by one: wrong values, samples, covering, twins, explanations."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcomebox.reward import accepts
from outcomebox.reward.lint.covering import spec_covers
from outcomebox.reward.lint.samples import NoSample, matching, sample
from outcomebox.reward.lint.wrongs import (
    Columns,
    facts,
    is_prose,
    other_facts,
    same_facts,
    shifted,
    wrong_values,
)
from outcomebox.sandbox.instants import parse_instant
from outcomebox.sandbox.valuespec import OneOfMatcher, PatternMatcher
from reward_lint_helpers import TASKS, bundled, codes, found, lint_seeded, lint_sql, plain, seeded
from reward_states import state_after

STATE = state_after(
    """
    CREATE TABLE shops(shop_id TEXT PRIMARY KEY);
    CREATE TABLE t(id INTEGER PRIMARY KEY, shop_id TEXT REFERENCES shops, n INTEGER, v TEXT);
    INSERT INTO shops VALUES ('S-1'), ('S-2'), ('S-3');
    INSERT INTO t VALUES (1, 'S-1', 5, 'open'), (2, 'S-2', 7, 'closed'), (3, NULL, 5, NULL);
    """
)


def test_facts_are_ids_numbers_moments_and_codes() -> None:
    assert facts("WINDOW: ITM-6007 came on 9 January, 97.20 EUR, 2026-01-31 08:59.") == [
        "08:59",
        "2026-01-31",
        "9",
        "97.20",
        "EUR",
        "ITM-6007",
        "WINDOW",
    ]
    assert same_facts("ORD-5 is late.", "Late:  ORD-5")
    assert not same_facts("ORD-5 is late.", "ORD-6 is late.")
    assert same_facts("From one to two", "from  One to two")
    assert not same_facts("from one to two", "")


@settings(deadline=None)
@given(st.text(max_size=40))
def test_other_facts_name_other_facts(text: str) -> None:
    for other in other_facts(text):
        assert other != text


@settings(deadline=None)
@given(st.datetimes(), st.sampled_from(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M+02:00"]))
def test_shifted_moments_are_others_written_alike(moment: Any, form: str) -> None:
    text = moment.replace(year=max(1000, moment.year)).strftime(form)
    if parse_instant(text) is None:
        return
    for other in shifted(text):
        assert len(other) == len(text)
        assert parse_instant(other) not in (None, parse_instant(text))


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["shop_id", "n", "v"]),
    st.none() | st.integers(-(2**40), 2**40) | st.text(max_size=20) | st.floats(-1e6, 1e6),
    st.integers(0, 5),
)
def test_wrong_values_are_wrong_and_repeatable(column: str, right: Any, seed: int) -> None:
    columns = Columns(STATE.initial)
    made = [list(wrong_values(columns, "t", column, right, Random(seed))) for _ in range(2)]
    assert made[0] == made[1]
    values = [value for _, value in made[0]]
    assert values
    assert all(value != right for value in values)
    for index, value in enumerate(values):
        assert not any(value == other for other in values[:index])


def test_wrong_references_are_ids_of_the_table() -> None:
    columns = Columns(STATE.initial)
    made = dict(wrong_values(columns, "t", "shop_id", "S-1", Random(0)))
    assert made["other_reference"] == "S-3"
    assert made["other_value"] == "S-2"


@pytest.mark.parametrize(
    "pattern",
    [
        r".*\bORD-5005\b.*",
        r"(?=.*\bSTOCK\b)(?=.*\bITM-6408\b).*",
        r"DECLINED BKG-3105:\W*(reason\W+)?too-late\b.*",
        r"DONE BKG-3096:(?=.*\b127\.00 EUR)(?=.*\b254\.00 EUR).*",
        r"(?i)(?=.*\bsuperior\b)(?=.*\bstandard\b).*",
        r"[^a-z]{3,5}\d+(x|y)",
        r"",
        r"(?s).+",
    ],
)
def test_a_sample_matches(pattern: str) -> None:
    text = matching(pattern, Random(0))
    assert re.fullmatch(pattern, text, re.DOTALL)
    assert text == matching(pattern, Random(0))


@settings(deadline=None)
@given(st.from_regex(r"[a-c]{1,3}(\.[0-9]{1,2})?(x|yy)*", fullmatch=True))
def test_a_sample_of_a_literal_is_the_literal(text: str) -> None:
    assert matching(re.escape(text), Random(0)) == text


def test_no_sample_is_said() -> None:
    with pytest.raises(NoSample, match="no text was found"):
        matching("(?!a)a", Random(0))


def spec(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    return OneOfMatcher.model_validate({"$one_of": [data]}).options[0]


@settings(deadline=None)
@given(st.sampled_from(["a", "b", 1, 1.5, None]), st.sampled_from(["a", "b", 1, 2]))
def test_covering_agrees_with_accepting(one: Any, other: Any) -> None:
    wide = OneOfMatcher.model_validate({"$one_of": [one, other]})
    assert spec_covers(wide, one)
    assert spec_covers(wide, other)
    assert spec_covers(one, other) == accepts(one, other)
    assert not spec_covers(one, wide) or one == other


def test_samples_are_accepted() -> None:
    for data in ({"$close": 5, "abs": 1}, {"$decimal": "7.50"}, {"$json": {"a": [1]}}, 7, "x"):
        made = sample(spec(data), Random(0))
        assert accepts(spec(data), made)


def test_prose() -> None:
    assert is_prose("two words")
    assert not is_prose("2026-01-31 08:59")
    assert not is_prose("word")
    assert not is_prose(5)


def test_a_subsumed_alternative_is_named() -> None:
    uid = TASKS[1]
    wider = plain(uid)
    (row,) = wider["ticket_notes"]["insert"]
    row["author"] = {"$one_of": ["agent", "customer"]}
    linted = lint_seeded(seeded(uid, accept_also=[{"name": "wider", "expect": wider}]))
    (finding,) = found(linted, "subsumed_alternative")
    assert finding.details == {"alternative": "expect", "covered_by": "wider"}


def test_a_needless_explanation_is_named() -> None:
    uid = TASKS[1]
    told = {"table": "tickets", "column": "subject", "kinds": ["case"], "reason": "it is so"}
    linted = lint_seeded(seeded(uid, explained_survivors=[told]))
    (finding,) = linted.findings
    assert (finding.code, finding.table, finding.column) == (
        "needless_explanation",
        "tickets",
        "subject",
    )


def test_an_explained_survivor_is_counted_and_no_finding() -> None:
    uid = TASKS[1]
    expect = plain(uid)
    expect["ticket_notes"]["insert"][0]["body"] = {"$pattern": r".*\bPRICE\b.*"}
    (finding,) = lint_seeded(seeded(uid, expect=expect)).findings
    assert (finding.code, finding.column) == ("mutant_survives", "body")
    told = {
        "table": "ticket_notes",
        "column": "body",
        "kinds": sorted(finding.details["kinds"]),
        "reason": "the item is free",
    }
    linted = lint_seeded(seeded(uid, expect=expect, explained_survivors=[told]))
    assert linted.findings == ()
    assert linted.explained == linted.survived == sum(finding.details["kinds"].values())
    assert linted.score is not None
    assert 0.9 < linted.score < 1


def test_an_ignored_column_that_golden_leaves_alone_is_explained_by_its_reason() -> None:
    uid = TASKS[1]
    linted = lint_seeded(seeded(uid, ignore={"orders": {"placed_at": "a clock"}}))
    assert linted.findings == ()
    (survivor,) = linted.survivors
    assert survivor.explained == "ignored: a clock"
    assert bundled()[0][uid].hash != seeded(uid, ignore={"orders": {"placed_at": "x"}}).hash


def test_an_ignored_key_column_is_named() -> None:
    linted = lint_sql(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);",
        {"t": [{"id": 1, "v": "a"}]},
        ["INSERT INTO t(v) VALUES ('b')"],
        {"tables": {"t": {"insert": [{"v": "b"}]}}, "ignore": {"t": ["id"]}},
    )
    assert [(each.table, each.column) for each in found(linted, "ignored_key_column")] == [
        ("t", "id")
    ]


def test_twins_that_the_check_both_accepts_are_fine() -> None:
    schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);"
    rows = {"t": [{"id": 1, "v": "a"}, {"id": 2, "v": "a"}, {"id": 3, "v": "c"}]}
    one = {"t": {"update": [{"key": {"id": 1}, "set": {"v": "b"}}]}}
    other = {"t": {"update": [{"key": {"id": 2}, "set": {"v": "b"}}]}}
    golden = ["UPDATE t SET v = 'b' WHERE id = 1"]
    assert "ambiguous_operand" in codes(lint_sql(schema, rows, golden, {"tables": one}))
    both = {"tables": one, "accept_also": [{"name": "the other", "tables": other}]}
    assert codes(lint_sql(schema, rows, golden, both)) == set()


def test_the_real_clock_is_seen() -> None:
    linted = lint_sql(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);",
        {"t": [{"id": 1, "v": "a"}]},
        ["UPDATE t SET v = hex(randomblob(8)) WHERE id = 1"],
        {"tables": {"t": {"update": [{"key": {"id": 1}, "set": {"v": {"$not_null": True}}}]}}},
    )
    (finding,) = found(linted, "golden_nondeterministic")
    assert (finding.table, finding.column) == ("t", "v")


def test_an_invariant_that_the_seed_breaks_is_named() -> None:
    linted = lint_sql(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER);",
        {"t": [{"id": 1, "v": 1}, {"id": 2, "v": -1}]},
        ["UPDATE t SET v = 3 WHERE id = 1"],
        {
            "tables": {"t": {"update": [{"key": {"id": 1}, "set": {"v": 3}}]}},
            "invariants": [{"name": "positive", "sql": "SELECT id FROM t WHERE v < 0"}],
        },
    )
    states = [each.details["state"] for each in found(linted, "golden_breaks_invariant")]
    assert states == ["the seed", "golden's end"]


def test_patterns_with_flags() -> None:
    assert PatternMatcher.model_validate({"$pattern": "(?i)a"}).pattern == "(?i)a"


def test_mutants_of_another_accepted_end_are_graded_too() -> None:
    """It is made by writing what it lists, and is loose in one column."""
    uid = TASKS[1]
    other = plain(uid)
    note = other["ticket_notes"]["insert"][0]
    note["author"] = {"$any": True}
    note["body"] = "No exchange."
    ends = [{"name": "short", "expect": other}]
    linted = lint_seeded(seeded(uid, accept_also=ends))
    assert [(each.code, each.column) for each in linted.findings] == [("over_wide_check", "author")]
    assert linted.mutants > lint_seeded(bundled()[0][uid]).mutants
