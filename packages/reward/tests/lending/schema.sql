CREATE TABLE members (
    member_id TEXT NOT NULL PRIMARY KEY,
    email     TEXT NOT NULL UNIQUE,
    card      TEXT,
    balance   REAL NOT NULL DEFAULT 0,
    photo     BLOB
) STRICT;

CREATE TABLE loans (
    loan_id   TEXT NOT NULL PRIMARY KEY,
    member_id TEXT NOT NULL REFERENCES members (member_id),
    status    TEXT NOT NULL DEFAULT 'open',
    lent_at   TEXT NOT NULL,
    due_on    TEXT NOT NULL,
    ended_by  TEXT
) STRICT;

CREATE TABLE loan_lines (
    loan_id TEXT NOT NULL REFERENCES loans (loan_id),
    line    INTEGER NOT NULL,
    title   TEXT NOT NULL,
    PRIMARY KEY (loan_id, line)
) STRICT;

CREATE TABLE loan_notes (
    id      INTEGER PRIMARY KEY,
    loan_id TEXT NOT NULL REFERENCES loans (loan_id),
    body    TEXT NOT NULL,
    mood    TEXT NOT NULL DEFAULT 'plain'
) STRICT;

CREATE TABLE visits (
    member_id TEXT NOT NULL REFERENCES members (member_id),
    seen_at   TEXT NOT NULL,
    PRIMARY KEY (member_id)
) STRICT;

CREATE TABLE vouchers (
    code      TEXT NOT NULL PRIMARY KEY,
    member_id TEXT NOT NULL REFERENCES members (member_id),
    luck      INTEGER NOT NULL,
    age_days  INTEGER NOT NULL
) STRICT;
