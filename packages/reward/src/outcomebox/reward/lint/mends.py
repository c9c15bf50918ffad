"""What to do about a survivor, by what its survival shows."""

from __future__ import annotations

from collections.abc import Mapping

EXPLAIN = "or say under explained_survivors why it may pass"

MENDS: Mapping[str, str] = {
    "ignored_table": "take the table out of ignore and list its changes, " + EXPLAIN,
    "ignored_column_written": "take the column out of ignore and list its value, " + EXPLAIN,
    "over_wide_check": "list golden's value, or {$one_of: [..]} with the values that are right, "
    + EXPLAIN,
    "unchecked_text": "list a {$pattern: ..} that demands the facts the text must name, or a "
    "{$rubric: ..}",
    "pattern_matches_all": "demand the facts that the text must name, such as ids, amounts and "
    "codes",
    "tolerance_too_wide": "make abs smaller, or list the exact number",
    "passes_on_exception": "list what the call writes in every accepted end state, " + EXPLAIN,
    "mutant_survives": "make the check say what must be there, " + EXPLAIN,
}
"""code -> mend."""

SHOWS: Mapping[str, str] = {
    "ignored_table": "the whole table is ignored",
    "ignored_column_written": "the column is ignored, and golden writes it",
    "over_wide_check": "the check takes almost anything here",
    "unchecked_text": "no one looks at this text",
    "pattern_matches_all": "the pattern accepts nonsense",
    "tolerance_too_wide": "the tolerance takes in numbers that are wrong",
    "passes_on_exception": "the end is accepted although the call has failed",
    "mutant_survives": "a wrong end is accepted",
}
"""code -> what a survivor shows, as the start of a message."""
