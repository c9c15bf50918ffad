"""Linting one task: a check, what replays of golden showed, and nothing else.

Pure: no session, no file, no clock. The same arguments give the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from outcomebox.reward.check import Check
from outcomebox.reward.fit import fit
from outcomebox.reward.ignored import Ignored
from outcomebox.reward.lint.alternatives import unreachable
from outcomebox.reward.lint.covering import subsumed
from outcomebox.reward.lint.ends import golden_findings, noop_findings
from outcomebox.reward.lint.evidence import Evidence
from outcomebox.reward.lint.findings import Finding, LintedTask, Survivors
from outcomebox.reward.lint.killing import (
    Explanation,
    Tally,
    accepted_as,
    explains,
    state_check,
    survivor_findings,
)
from outcomebox.reward.lint.mutants import Right, mutants
from outcomebox.reward.lint.statics import ignored_keys, keyless, rubrics_for_facts
from outcomebox.reward.lint.twins import ambiguous_operands
from outcomebox.reward.lint.wrongs import Columns
from outcomebox.reward.matchers import Spec
from outcomebox.sandbox.changes import TerminalState
from outcomebox.sandbox.expect import Alternative


def lint_states(
    uid: str,
    check: Check,
    evidence: Evidence,
    *,
    explanations: Sequence[Explanation] = (),
    seed: int = 0,
) -> LintedTask:
    """Test the check of a task.

    Mutants are made of every accepted end state: of golden's end, and of an end that is written for
    each of the others. Where golden itself is not accepted there are none, since they would say
    nothing about the check.

    Args:
        uid: The task.
        check: Its check.
        evidence: What replays of golden showed.
        explanations: Why some survivors may pass.
        seed: Chooses rows and values where there are many.
    """
    check = state_check(check)
    golden = evidence.golden
    findings = [
        *keyless(golden.initial),
        *noop_findings(check, evidence),
        *golden_findings(check, evidence),
        *ignored_keys(check, golden),
        *subsumed(check, golden.initial.tables),
    ]
    tally = Tally()
    name = accepted_as(check, golden)
    if name is not None:
        columns = Columns(golden.initial)
        findings += ambiguous_operands(check, golden, evidence.named)
        ends, unreached = _ends(check, evidence, name, columns, f"{seed}/{uid}")
        findings += unreached
        for alternative, state in ends:
            right = Right(state, specs_of(alternative, state), Ignored(alternative.ignore))
            findings += rubrics_for_facts(right, columns)
            found = mutants(right, columns, seed=f"{seed}/{uid}/{alternative.name}")
            tally.run(check, right, alternative, found, columns)
        tally.run_dropped(check, evidence.failed)
    survivors = tally.survivors(explanations)
    findings += survivor_findings(survivors)
    for each in explanations:
        met = [kind for kind in each.kinds if any(_explained(each, kind, s) for s in survivors)]
        if name is not None and len(met) < len(each.kinds):
            findings.append(_needless(each, [kind for kind in each.kinds if kind not in met]))
    return LintedTask(
        uid=uid,
        findings=tuple(findings),
        kinds=tally.counts,
        survivors=survivors,
        equivalent=tally.equivalent,
        judged=tally.judged,
    )


def _ends(
    check: Check, evidence: Evidence, name: str, columns: Columns, seed: str
) -> tuple[list[tuple[Alternative, TerminalState]], list[Finding]]:
    """An end for every accepted end state: golden's for its own, written ones for the others."""
    ends: list[tuple[Alternative, TerminalState]] = []
    findings = []
    for alternative in check.alternatives:
        if alternative.name == name:
            ends.append((alternative, evidence.golden))
            continue
        state, finding = unreachable(check, alternative, evidence.golden, columns, seed=seed)
        if finding is not None:
            findings.append(finding)
        # Where another end state takes it, that one's mutants say what is to be said.
        if state is not None and accepted_as(check, state) == alternative.name:
            ends.append((alternative, state))
    return ends, findings


def specs_of(alternative: Alternative, state: TerminalState) -> dict[int, Mapping[str, Spec]]:
    """What an accepted end state takes in the rows of an end that fits it, by index of change."""
    specs: dict[int, Mapping[str, Spec]] = {}
    pairs = fit(alternative, state).pairs or ()
    places = {id(change): index for index, change in enumerate(state.changes)}
    for pair in pairs:
        if id(pair.change) in places:  # else an update that stands for a delete and an insert
            specs[places[id(pair.change)]] = pair.wanted.specs
    for index, change in enumerate(state.changes):
        expected = alternative.expect.get(change.table)
        for update in expected.update if expected else ():
            if change.op == "update" and change.key == update.key:
                specs[index] = update.set
    return specs


def _explained(explanation: Explanation, kind: str, each: Survivors) -> bool:
    return each.kind == kind and explains(explanation, each.table, each.column, kind)


def _needless(explanation: Explanation, kinds: Sequence[str]) -> Finding:
    return Finding(
        "needless_explanation",
        f"no {' or '.join(kinds)} survives there, and yet it is explained: {explanation.reason}",
        f"take {', '.join(kinds)} out of explained_survivors",
        table=explanation.table,
        column=explanation.column,
        details={"kinds": list(kinds)},
    )
