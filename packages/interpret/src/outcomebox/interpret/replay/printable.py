"""Model output made safe to show: it may hold control characters and halves of characters."""

_CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
_CONTROLS[127] = "\u2421"
_CONTROLS |= {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
# Marks that turn the direction of text around could hide what stands there.
_CONTROLS |= {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def printable(text: str) -> str:
    """Return the text with a picture or an escape for whatever is no plain character.

    Newlines and tabs stay; so a terminal can neither be steered nor choke on it.
    """
    return encodable(text.translate(_CONTROLS))


def encodable(text: str) -> str:
    """Return the text with an escape for each lone surrogate, which UTF-8 cannot write."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def visible(text: str) -> str:
    """Return text with a sign for each newline and tab, and for blanks at the ends of lines."""
    lines = printable(text).replace("\t", "→").split("\n")
    return "↵\n".join(map(_edges, lines))


def _edges(line: str) -> str:
    bare = line.strip(" ")
    if not bare:
        return "·" * len(line)
    before = len(line) - len(line.lstrip(" "))
    return "·" * before + bare + "·" * (len(line) - before - len(bare))
