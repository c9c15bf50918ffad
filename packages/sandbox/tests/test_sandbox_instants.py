"""Moments as text: read exactly, and never a crash."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcomebox.sandbox.instants import parse_instant


@pytest.mark.parametrize(
    "text",
    [
        "2024-08-02T07:15:00Z",
        "2024-08-02T08:15:00+01:00",
        "2024-08-02t08:15+0100",
        "2024-08-02 08:15:00,000 +01",
        "2024-08-02T07:15:00.000000000000z",
        "2024-08-01T23:15:00-08:00",
        "2024-08-02T07:15",
    ],
)
def test_the_same_moment_in_other_words(text: str) -> None:
    assert parse_instant(text) == parse_instant("2024-08-02T07:15:00+00:00")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024",
        "20240802",
        "2024-W31-5",
        "2024-02-30",
        "0000-01-01",
        "2024-08-02T24:00",
        "2024-08-02T07:60",
        "2024-08-02T07:15:60Z",
        "2024-08-02T07:15:00+24:00",
        "2024-08-02Z",
        " 2024-08-02",
        "2024-08-02\n",
        "\uff12\uff10\uff12\uff14-08-02",
    ],
)
def test_what_names_no_moment(text: str) -> None:
    assert parse_instant(text) is None


def test_a_date_is_its_first_moment_and_fractions_keep_every_digit() -> None:
    assert parse_instant("2024-08-02") == parse_instant("2024-08-02T00:00Z")
    assert parse_instant("2024-08-02T00:00:00.1234567") != parse_instant(
        "2024-08-02T00:00:00.1234568"
    )


moments = st.datetimes(
    timezones=st.integers(-23 * 60, 23 * 60).map(lambda m: timezone(timedelta(minutes=m)))
)


@given(moments, moments)
def test_moments_compare_as_the_standard_library_compares_them(a: datetime, b: datetime) -> None:
    first, second = parse_instant(a.isoformat()), parse_instant(b.isoformat(" "))
    assert first is not None
    assert second is not None
    assert (first == second) == (a == b)
    assert (first < second) == (a < b)


@given(st.datetimes(), st.sampled_from([0, 1, 999_999]))
def test_without_an_offset_it_is_utc(moment: datetime, microsecond: int) -> None:
    naive = moment.replace(microsecond=microsecond)
    aware = naive.replace(tzinfo=UTC)
    assert parse_instant(naive.isoformat()) == parse_instant(aware.isoformat())


@given(st.text() | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", fullmatch=True))
def test_no_text_breaks_it(text: str) -> None:
    found = parse_instant(text)
    assert found is None or found >= -86400
