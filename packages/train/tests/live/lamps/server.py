"""The tool server of the lamps, which breaks when it is told to.

It dies in a call as soon as there is a file in its folder ``break``, and takes that file with it:
one file is one death. The call is then repeated in a fresh session, where it works: so it is the
server that was at fault, and the episode is a system error.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from outcomebox.sandbox.toolserver import ToolError, ToolServer

server = ToolServer("lamps")
BREAK = Path(__file__).parent / "break"


@server.tool(writes=True)
def switch(lamp: str, state: str) -> dict[str, Any]:
    """Switch a lamp."""
    _die_if_told()
    if not server.execute("UPDATE lamps SET state = ? WHERE lamp = ?", state, lamp):
        raise ToolError("There is no such lamp.")
    return {"lamp": lamp, "state": state}


def _die_if_told() -> None:
    for told in sorted(BREAK.glob("*")):
        try:
            told.unlink()
        except FileNotFoundError:
            continue  # another session took it
        os._exit(3)


if __name__ == "__main__":
    server.run()
