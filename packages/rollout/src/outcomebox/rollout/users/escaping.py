"""Text in a prompt's sections: nobody's words can close one, open one, or look like the end.

Sections stand between tags. In the text between them every angle bracket is written as a character
reference, and so is every character that looks like one or that normalises to one; no tag and no
end mark can be spelt without. The reader of a reply that repeats such a reference puts the
character back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from outcomebox.reward.judging.prompt import plain
from outcomebox.rollout.turns import DONE

# Single angle brackets, arrowheads, and letters that are drawn like them.
_LIKE = (
    "\u02c2\u02c3\u1433\u1438\u16b2\u2039\u203a\u226e\u226f\u2329\u232a\u276c\u276d\u276e\u276f"
    "\u2770\u2771\u27e8\u27e9\u2991\u2992\u29fc\u29fd\u3008\u3009\ufe3f\ufe40\ufe64\ufe65\uff1c"
    "\uff1e\U00016f3f\U0001d236\U0001d237"
)
BRACKETS: Mapping[str, str] = {
    "<": "&lt;",
    ">": "&gt;",
    **{mark: f"&#x{ord(mark):X};" for mark in _LIKE},
}
"""What is not left as it is in a section, and how it is written."""

_WRITTEN = str.maketrans(dict(BRACKETS))
_MEANT = {written: mark for mark, written in BRACKETS.items()}
_REFERENCE = re.compile("|".join(map(re.escape, _MEANT)))


def escape(text: str) -> str:
    """Text as it stands in a section; any transport takes it."""
    return plain(text).translate(_WRITTEN)


def section(name: str, text: str) -> str:
    """A section of a prompt.

    Args:
        name: Its tag.
        text: What is in it, escaped already.
    """
    return f"<{name}>\n{text}\n</{name}>"


def restore(text: str) -> str:
    """A reply with the references of :func:`escape` turned back; never into an end mark."""
    restored = _REFERENCE.sub(lambda match: _MEANT[match[0]], text)
    return text if restored.count(DONE) > text.count(DONE) else restored
