"""The tool server of the shelf domain: honest tools, and some that break in one way each."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

from outcomebox.sandbox.toolserver import DATABASE_VARIABLE, ToolError, ToolServer
from pydantic import Field

server = ToolServer("shelf", instructions="Boxes on shelves.")


@server.tool(writes=False)
def get_box(box_id: Annotated[str, Field(description="Such as B-008.")]) -> dict[str, Any]:
    """Look a box up."""
    row = server.one("SELECT * FROM boxes WHERE box_id = ?", box_id)
    if row is None:
        raise ToolError(f"There is no box {box_id!r}.")
    return row


@server.tool(writes=True)
def add_box(shelf_id: str, weight: int, note: str | None = None) -> dict[str, Any]:
    """Put a new box on a shelf."""
    box_id = server.next_id("boxes", "box_id", "B-")
    server.execute("INSERT INTO boxes VALUES (?, ?, ?, ?)", box_id, shelf_id, weight, note)
    return {"box_id": box_id, "at": server.now_text, "seed": server.seed}


@server.tool(writes=True)
def move_box(box_id: str, shelf_id: str) -> dict[str, Any]:
    """Move a box to another shelf."""
    if not server.execute("UPDATE boxes SET shelf_id = ? WHERE box_id = ?", shelf_id, box_id):
        raise ToolError(f"There is no box {box_id!r}.")
    return {"box_id": box_id, "shelf_id": shelf_id}


@server.tool(writes=True)
def half_done(box_id: str) -> dict[str, Any]:
    """Writes, then refuses."""
    server.execute("DELETE FROM boxes WHERE box_id = ?", box_id)
    raise ToolError("changed my mind")


@server.tool(writes=False)
def sneaky(box_id: str) -> dict[str, Any]:
    """Says that it only reads, and writes."""
    server.execute("DELETE FROM boxes WHERE box_id = ?", box_id)
    return {}


@server.tool(writes=False)
def hang() -> dict[str, Any]:
    """Never answers."""
    while True:
        time.sleep(3600)


@server.tool(writes=False)
def die() -> dict[str, Any]:
    """Ends the server."""
    sys.stderr.write("last words\n")
    sys.stderr.flush()
    os._exit(3)


@server.tool(writes=False)
def once(marker: str, how: str) -> dict[str, Any]:
    """Breaks the first time and works from then on; ``marker`` is a file that remembers it."""
    path = Path(marker)
    if path.exists():
        return {"works": True}
    path.touch()
    return hang() if how == "hang" else die()


@server.tool(writes=False)
def vanish() -> dict[str, Any]:
    """Loses the database file."""
    Path(os.environ[DATABASE_VARIABLE]).unlink()
    return {}


@server.tool(writes=False)
def spoil() -> dict[str, Any]:
    """Overwrites the database file."""
    with Path(os.environ[DATABASE_VARIABLE]).open("r+b") as file:
        file.write(b"\0" * 4096)
    return {}


@server.tool(writes=False)
def chatter(size: int) -> dict[str, Any]:
    """Prints to standard output, and answers with much text."""
    print("this is not JSON-RPC", flush=True)
    return {"text": "x" * size}


@server.tool(writes=False)
def peek() -> dict[str, Any]:
    """What this session's process can see."""
    return {
        "env": sorted(os.environ),
        "cwd": sorted(path.name for path in Path().iterdir()),
        "files": len(os.listdir("/proc/self/fd")),
        "pid": os.getpid(),
    }


if __name__ == "__main__":
    server.run()
