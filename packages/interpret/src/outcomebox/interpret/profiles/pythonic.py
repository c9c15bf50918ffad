"""Values that parsers written in Python try as Python literals."""

from typing import Any

NOT_A_LITERAL = (
    ValueError,
    SyntaxError,
    TypeError,
    OverflowError,
    MemoryError,
    RecursionError,
)
"""What `ast.literal_eval` raises for a text that is none, or that is nested too deeply for it."""

NOT_JSON = (TypeError, ValueError, RecursionError)
"""What `json.dumps` raises for a value that a literal can be and JSON has no word for."""


def literal(text: str) -> Any:
    """Return the value of a Python literal.

    Raises:
        Exception: One of `NOT_A_LITERAL`.
    """
    import ast  # noqa: PLC0415 - few outputs need it
    import warnings  # noqa: PLC0415 - the same

    with warnings.catch_warnings():
        # An unknown escape in a string is kept as it stands; Python would only warn of it.
        warnings.simplefilter("ignore")
        return ast.literal_eval(text)
