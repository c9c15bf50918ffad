"""A lending library with all that makes an end hard to write down."""

import random
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Literal

from outcomebox.sandbox.toolserver import ToolError, ToolServer

server = ToolServer("lending")


@server.tool(writes=False)
def find_member(email: str) -> dict:
    """The member with an address."""
    row = server.one("SELECT member_id, email, card FROM members WHERE email = ?", email)
    if row is None:
        raise ToolError(f"No member has {email}.")
    return row


@server.tool(writes=True)
def lend(member_id: str, titles: list[str]) -> dict:
    """Lend some books."""
    loan_id = server.next_id("loans", "loan_id", "LN-")
    due = (server.now + timedelta(days=14)).date().isoformat()
    server.execute(
        "INSERT INTO loans (loan_id, member_id, lent_at, due_on) VALUES (?, ?, ?, ?)",
        loan_id,
        member_id,
        server.now_text,
        due,
    )
    for line, title in enumerate(titles, 1):
        server.execute("INSERT INTO loan_lines VALUES (?, ?, ?)", loan_id, line, title)
    return {"loan_id": loan_id, "due_on": due}


@server.tool(writes=True)
def note(loan_id: str, body: str, mood: Literal["plain", "very cross"] = "plain") -> dict:
    """Add a note to a loan."""
    server.execute(
        "INSERT INTO loan_notes (loan_id, body, mood) VALUES (?, ?, ?)", loan_id, body, mood
    )
    return {"noted": True}


@server.tool(writes=True)
def end_loan(loan_id: str, replaced_by: str | None = None) -> dict:
    """End a loan: its lines go."""
    server.execute("DELETE FROM loan_lines WHERE loan_id = ?", loan_id)
    server.execute(
        "UPDATE loans SET status = 'ended', ended_by = ? WHERE loan_id = ?", replaced_by, loan_id
    )
    return {"ended": loan_id}


@server.tool(writes=True)
def issue_card(member_id: str) -> dict:
    """A new card, numbered by chance."""
    card = str(uuid.UUID(int=random.Random(server.seed).getrandbits(128), version=4))
    server.execute("UPDATE members SET card = ? WHERE member_id = ?", card, member_id)
    return {"card": card}


@server.tool(writes=True)
def visit(member_id: str) -> dict:
    """Note a visit, by the wall's clock instead of the session's."""
    moment = datetime.now(UTC).isoformat()
    server.execute("INSERT INTO visits VALUES (?, ?)", member_id, moment)
    return {"seen_at": moment}


@server.tool(writes=True)
def voucher(member_id: str, code: str) -> dict:
    """A voucher with a code of the caller's."""
    days = (server.now - datetime(2026, 1, 1, tzinfo=UTC)).days
    luck = random.Random(server.seed).randrange(10**6)
    server.execute("INSERT INTO vouchers VALUES (?, ?, ?, ?)", code, member_id, luck, days)
    return {"code": code}


@server.tool(writes=True)
def pay(member_id: str, amount: float) -> dict:
    """Pay something in."""
    server.execute(
        "UPDATE members SET balance = balance + ? WHERE member_id = ?", amount, member_id
    )
    return {"paid": amount}


@server.tool(writes=True)
def archive() -> dict:
    """Change the schema, as no tool should."""
    server.execute("CREATE TABLE archive (id INTEGER PRIMARY KEY)")
    return {"archived": True}


@server.tool(writes=False)
def stall(seconds: float) -> dict:
    """Take some time."""
    time.sleep(seconds)
    return {}


if __name__ == "__main__":
    server.run()
