"""The secrets that this process was given, and texts without them.

Endpoints repeat keys in their error messages, and an address may hold a password. Whatever is
written into a row, a log or a page goes through :func:`redact` first.
"""

from __future__ import annotations

import base64
import json
import re
from functools import lru_cache
from urllib.parse import quote, quote_plus

_HIDDEN = "***"
_SHORTEST = 4
"""A shorter value is no secret, and taking it out everywhere would take words apart."""

_known: set[str] = set()


def remember(*values: str | None) -> None:
    """Take values as secrets from now on.

    Args:
        values: Keys, passwords; None and what is shorter than four characters are passed over.
    """
    for value in values:
        if value and len(value.strip()) >= _SHORTEST:
            _known.update({value, value.strip()})
    _pattern.cache_clear()


def redact(text: str) -> str:
    """A text without the secrets, however they are written in it.

    A secret is found as it is, escaped as in JSON, in Python's ``repr``, in an address, and in
    base64 (by itself, or as the password of basic authentication).
    """
    pattern = _pattern()
    return text if pattern is None else pattern.sub(_HIDDEN, text)


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str] | None:
    forms = {form for value in _known for form in _forms(value)}
    if not forms:
        return None
    # The longest first: one secret may be part of another.
    ordered = sorted(forms, key=lambda form: (-len(form), form))
    return re.compile("|".join(map(re.escape, ordered)))


def _forms(value: str) -> set[str]:
    data = value.encode("utf-8", "surrogatepass")
    forms = {
        value,
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        base64.b64encode(data).decode().rstrip("="),
        base64.urlsafe_b64encode(data).decode().rstrip("="),
    }
    # Behind a user's name the same bytes fall differently into groups of three: what does not
    # depend on its neighbours is looked for.
    for shift in (1, 2):
        encoded = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        inner = encoded[shift + 1 : -1]
        if len(inner) >= 2 * _SHORTEST:
            forms.add(inner)
    whole = base64.b64encode(data).decode().rstrip("=")[:-1]
    if len(whole) >= 2 * _SHORTEST:
        forms.add(whole)
    return {form for form in forms if len(form) >= _SHORTEST}
