"""Moments written as ISO 8601 text, read exactly."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,30}))?)?"
    r" ?([Zz]|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)


def parse_instant(text: str) -> Fraction | None:
    """The moment that a text names, or None if it names none.

    Takes ``YYYY-MM-DD``, optionally with ``T`` or a space, ``hh:mm[:ss[.fraction]]`` and an offset
    (``Z``, ``+hh``, ``+hhmm``, ``+hh:mm``). Without an offset it is UTC. Never raises.

    Returns:
        Seconds since the start of year 1 in UTC, with every digit of the fraction.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    fraction, offset = match.group(7) or "", match.group(8) or "Z"
    if hour > 23 or minute > 59 or second > 59:
        return None
    try:
        days = date(year, month, day).toordinal() - 1
    except ValueError:  # no such day in the calendar
        return None
    seconds = days * 86400 + hour * 3600 + minute * 60 + second
    if offset not in "Zz":
        sign = -1 if offset[0] == "-" else 1
        digits = offset[1:].replace(":", "").ljust(4, "0")
        hours, minutes = int(digits[:2]), int(digits[2:])
        if hours > 23 or minutes > 59:
            return None
        seconds -= sign * (hours * 3600 + minutes * 60)
    return seconds + Fraction(int(fraction or 0), 10 ** len(fraction))
