"""Profiles read the corpus as the parsers they are named after did: parity without the parsers."""

import json
from collections import Counter
from functools import cache
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracle_compare import (
    MOST_CLASSES,
    Case,
    Outcome,
    cases_of,
    compare,
    counted,
    deviations,
    differing,
    faults,
    rarely_tried,
    reading,
    say,
)
from oracle_corpus import RECORDERS, Corpus, digest, manifest, read, row_lines
from oracle_turns import FORMATS, corpus, rows
from outcomebox.interpret import interpret
from outcomebox.interpret.live.record import recorded_row
from outcomebox.interpret.tools import Toolbox

LEAST_TURNS = 5_000


@cache
def recorded() -> Corpus:
    return read()


@cache
def cases() -> list[Case]:
    return cases_of(recorded().toolboxes, recorded().rows)


def test_the_corpus_is_what_its_manifest_says() -> None:
    about, (toolboxes, turns, answers) = manifest(), recorded()
    assert len(turns) == about["turns"] >= LEAST_TURNS
    assert digest(row_lines(toolboxes, turns)) == about["sha256"]
    assert set(about["parsers"]) == set(answers) == set(RECORDERS)
    assert {len(given) for given in answers.values()} == {len(turns)}


def test_the_generator_still_makes_the_corpus() -> None:
    toolboxes, turns = corpus(manifest()["seed"], manifest()["turns"])
    assert toolboxes == recorded().toolboxes
    # A tenth of it: each turn has a seed of its own.
    assert list(islice(turns, 0, None, 10)) == recorded().rows[::10]


def test_every_damage_is_in_the_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    tried: Counter[str] = Counter()
    for row in recorded().rows:
        tried.update(row.damages)
    with capsys.disabled():
        say(f"\ncorpus: {len(recorded().rows)} turns; {counted(tried)}")
    assert rarely_tried(tried) == {}


@pytest.mark.parametrize("profile", RECORDERS)
def test_profile_reads_as_its_parser_did(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = compare(profile, cases(), recorded().answers[profile])
    with capsys.disabled():
        say(f"\n{manifest()['parsers'][profile]} | {outcome.told()}")
    wrong = faults(outcome)
    assert not wrong, "\n".join(wrong)


def test_the_list_of_deviations_stays_short_and_true(capsys: pytest.CaptureFixture[str]) -> None:
    listed = deviations()
    with capsys.disabled():
        say(f"\nknown deviations: {len(listed)}")
        for one in listed:
            say(f"  {one.name} ({', '.join(one.profiles)}): {one.why}\n  {one.example}")
    assert len(listed) <= MOST_CLASSES
    assert len({one.name for one in listed}) == len(listed)
    for one in listed:
        assert set(one.profiles) <= set(RECORDERS), one.name
        for profile in one.profiles:
            record = recorded_row(one.example)
            got = reading(profile, record, Toolbox(record.tools))
            assert differing(got, one.example["answer"]), (
                f"{one.name}: {profile} reads the example as its parser does; take it off the list"
            )


def test_nothing_compared_and_an_unlisted_difference_are_faults() -> None:
    profile = "vllm-0.32"
    assert faults(Outcome(profile, 0, Counter(), [])) == [f"{profile}: no turn was compared"]
    wrong = {**recorded().answers[profile][0], "content": "something else"}
    outcome = compare(profile, cases()[:1], [wrong])
    assert "1 differences are not listed" in faults(outcome)[0]


TOOLBOXES, _ = corpus("property", 0)


@pytest.mark.parametrize("format_name", FORMATS)
@given(data=st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_profile_reads_any_turn(format_name: str, data: st.DataObject) -> None:
    row = data.draw(rows(TOOLBOXES, format_name))
    record = recorded_row(row.plain(TOOLBOXES))
    for profile in RECORDERS:
        turn = interpret(
            list(record.ids),
            tools=record.tools,
            format=record.format,
            profile=profile,
            prompt_state=record.prompt_state,
            finish_reason=record.finish_reason,
            tokenizer=record.tokenizer,
        )
        for call in turn.tool_calls:
            assert call.wire is not None
            if call.executable:
                assert json.loads(call.wire) == call.arguments or "NaN" in call.wire
            start, end = call.span
            assert 0 <= start <= end <= len(record.text)
