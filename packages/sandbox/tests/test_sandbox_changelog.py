"""What the change log tells is what a full comparison finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from changelog_states import EVERYTHING, assert_agree, by_log, copy_of, image, play
from write_sequences import Write, sqlite_only

EXAMPLES = 100


@settings(max_examples=EXAMPLES, deadline=None)
@given(sqlite_only(20))
def test_the_log_tells_what_a_full_comparison_finds(writes: list[Write]) -> None:
    start = image(*EVERYTHING)
    with copy_of(start) as path:
        play(path, writes)
        assert assert_agree(path, start)


@settings(max_examples=EXAMPLES, deadline=None)
@given(sqlite_only(20, ddl=True))
def test_so_it_does_when_the_schema_or_the_log_is_tampered_with(writes: list[Write]) -> None:
    start = image(*EVERYTHING)
    with copy_of(start) as path:
        play(path, writes)
        assert_agree(path, start)


# Writes that tell no AFTER trigger of all the rows they change, or touch what is easily missed.
HARD = {
    "replaced through the key, which has another case": "REPLACE INTO names(k, v) VALUES ('B', 9)",
    "replaced through a unique column": "REPLACE INTO names VALUES ('z', 'a  ', 9)",
    "replaced by an update": "UPDATE OR REPLACE names SET alias = 'a ' WHERE k = 'b'",
    "replaced by an update of the key": (
        "UPDATE OR REPLACE names SET k = 'A', alias = 'q' WHERE k = 'ä'"
    ),
    "gone with what it replaces": "UPDATE OR REPLACE ruled SET k = 1 WHERE k = 2",
    "replaced by rowid": "REPLACE INTO names(rowid, k) VALUES (2, 'z')",
    "replaced by an update of the rowid": "UPDATE OR REPLACE names SET rowid = 2 WHERE k = 'a'",
    "replaced, others called rowid": "REPLACE INTO shadowed(oid, id) VALUES (1, 'z')",
    "replaced by declaration": "INSERT INTO pairs(x, y) VALUES ('a', 2)",
    "replaced through a default in place of NULL": (
        "REPLACE INTO pairs(x, y, w) VALUES (NULL, NULL, 'new')"
    ),
    "replaced through a default by declaration": "INSERT INTO filled VALUES ('z', NULL, 9)",
    "updated to a default in place of NULL": "UPDATE filled SET u = NULL WHERE id = 'x'",
    "replaced through a value of another type": "REPLACE INTO pairs(x, y) VALUES ('a', '2')",
    "replaced in a table without rowid": "REPLACE INTO fixed VALUES (1, 'A', 'new')",
    "replaced through an index of its own": "REPLACE INTO mixed(k, v) VALUES ('z', 'A')",
    "replaced through an index that knows no case": "REPLACE INTO mixed(k, u) VALUES ('z', 'A')",
    "case of a key": "UPDATE names SET k = 'A' WHERE k = 'a'",
    "case of a key with its own collation": "UPDATE mixed SET k = 'B' WHERE k = 'b'",
    "a key of another type": "UPDATE fixed SET a = '1' WHERE a = 1 AND b = 'b'",
    "a key through its other name": "UPDATE orders SET rowid = 77 WHERE n = 3",
    "a cascade": "DELETE FROM customers WHERE id = 'a'",
    "a cascade of a replacement": "REPLACE INTO customers(id, email) VALUES ('z', 'a@x')",
    "an update that cascades": "UPDATE customers SET id = 'z' WHERE id = 'a'",
    "all rows": "DELETE FROM orders",
    "a trigger that deletes the row": "UPDATE fixed SET v = 1 WHERE b = 'b'",
    "a trigger that moves the row": "UPDATE filled SET v = 2 WHERE id = 'a'",
    "a trigger that puts a row in the way": "REPLACE INTO filled VALUES ('z', 'x', 'b')",
    "a trigger that replaces rows of other tables": (
        "REPLACE INTO pairs(id, x, w) VALUES (3, 'a', 'b')"
    ),
    "a view": "UPDATE shown SET k = 'z' WHERE k = 'a'",
    "an upsert that moves the row": (
        "INSERT INTO customers(id) VALUES ('a') ON CONFLICT DO UPDATE SET id = 'z'"
    ),
    "text that is not valid": "INSERT INTO names(k) VALUES (CAST(x'61ff' AS TEXT))",
    "text with a zero": "INSERT INTO names(k) VALUES ('a' || char(0) || 'b')",
    "NULL in a key": "UPDATE loose SET v = 7 WHERE k IS NULL AND v = 2",
    "a key that becomes NULL": "UPDATE loose SET k = NULL WHERE k = 'a'",
    "a large key": "UPDATE orders SET total = 1 WHERE n = 9007199254740993",
    "a row of a table without a key": "UPDATE bag SET w = 3 WHERE v IS NULL",
    "a trigger that ignores": "UPDATE quiet SET v = 9",
    "replaced through a partial index": "REPLACE INTO partial VALUES (9, 'a', 1)",
    "replaced through an index of an expression": "REPLACE INTO folded VALUES (9, 'A')",
    "replaced through a generated column": "REPLACE INTO generated(id, v) VALUES ('z', 4)",
    "a name that needs quotes": 'REPLACE INTO "odd ""name"" [x]?" VALUES (\'z\', 2)',
}


@pytest.mark.parametrize("sql", HARD.values(), ids=HARD.keys())
def test_no_changed_row_is_missed(sql: str) -> None:
    start = image(*EVERYTHING)
    with copy_of(start) as path:
        assert play(path, [Write(sql)]) == 1
        assert assert_agree(path, start)
        assert by_log(path, start)[0].changes


def test_the_example_of_the_readme_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (block,) = [each for each in blocks if "terminal_state" in each]
    exec(compile(block, "README.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out.strip() == block.rstrip().rpartition("# ")[2]
