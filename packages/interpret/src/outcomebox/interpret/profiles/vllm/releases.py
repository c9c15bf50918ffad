"""What differs between the releases of vLLM whose reading of XML calls is known."""

from typing import NamedTuple


class Release(NamedTuple):
    """Facts of one release.

    Attributes:
        name: The release.
        strips: Whether a value loses all white space on both sides; else one newline on each.
        drops_special: Whether special tokens that are no markup are dropped everywhere, by their
            spelling too where only text is read; else only those that end or pad a turn, only in
            a stream, and only as tokens.
        keeps_markup: Whether an answer without a call has its text as written; else what the call
            reader left of it, so without the markup of an attempt.
        late_first: Whether text behind attempts that all came to nothing is put before the text in
            front of them.
        types_exactly: Whether a value inside JSON is retyped when only its type differs (1, true).
    """

    name: str
    strips: bool
    drops_special: bool
    keeps_markup: bool
    late_first: bool
    types_exactly: bool


V024 = Release(
    name="0.24",
    strips=True,
    drops_special=False,
    keeps_markup=True,
    late_first=True,
    types_exactly=False,
)

V032 = Release(
    name="0.32",
    strips=False,
    drops_special=True,
    keeps_markup=False,
    late_first=False,
    types_exactly=True,
)
