"""The tool server of the lamps, which breaks and waits when it is told to, by files in its folder.

It dies in a call as soon as there is a file in ``break``, and takes that file with it: one file is
one death. The call is then repeated in a fresh session, where it works: so it is the server that was
at fault, and the episode is a system error.

Calls wait while there is a file ``hold``; a file in ``pass`` lets one of them through.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from outcomebox.sandbox.toolserver import ToolError, ToolServer

server = ToolServer("lamps")
FOLDER = Path(__file__).parent


@server.tool(writes=True)
def switch(lamp: str, state: str) -> dict[str, Any]:
    """Switch a lamp."""
    _as_told()
    if not server.execute("UPDATE lamps SET state = ? WHERE lamp = ?", state, lamp):
        raise ToolError("There is no such lamp.")
    return {"lamp": lamp, "state": state}


def _as_told() -> None:
    while (FOLDER / "hold").exists() and not _taken("pass"):
        time.sleep(0.05)
    if _taken("break"):
        os._exit(3)


def _taken(folder: str) -> bool:
    """Take a file out of a folder; False where there is none. One file is taken once."""
    for told in sorted((FOLDER / folder).glob("*")):
        try:
            told.unlink()
        except FileNotFoundError:
            continue  # another session took it
        return True
    return False


if __name__ == "__main__":
    server.run()
