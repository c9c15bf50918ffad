"""What the parsers are called where they are plugged in."""

from outcomebox.interpret.formats import FORMAT_NAMES
from outcomebox.interpret.profiles import PROFILE_NAMES

PREFIX = "outcomebox_"
"""What every name starts with, so that it never hides a parser of the same format."""


def plug_name(format_name: str, profile_name: str = "strict") -> str:
    """Return the name of a parser: `outcomebox_FORMAT`, then `@PROFILE` unless it is `strict`."""
    return PREFIX + format_name + ("" if profile_name == "strict" else f"@{profile_name}")


def plug_names() -> dict[str, tuple[str, str]]:
    """Return every name with its format and profile.

    Whether the profile reads the format is found out when a parser is made: only then is the
    profile's module loaded.
    """
    return {
        plug_name(format_name, profile_name): (format_name, profile_name)
        for format_name in FORMAT_NAMES
        for profile_name in PROFILE_NAMES
    }
