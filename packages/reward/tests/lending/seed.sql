INSERT INTO members (member_id, email, photo) VALUES
    ('M-1', 'ada@example.com', x'00ff'),
    ('M-2', 'bo@example.com', NULL);
INSERT INTO loans VALUES
    ('LN-7', 'M-1', 'open', '2026-02-20T09:00:00Z', '2026-03-06', NULL);
INSERT INTO loan_lines VALUES ('LN-7', 1, 'Tides'), ('LN-7', 2, 'Maps');
