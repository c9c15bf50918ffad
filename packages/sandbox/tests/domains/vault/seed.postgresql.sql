INSERT INTO items (item_id, label, made_at, code, raw, weight) VALUES
    (1, 'one', '2026-01-05T11:00:00+01:00', '6f1c1a1e-0000-4000-8000-000000000000', '\x00ff', 0.1),
    (2, NULL, 'infinity', NULL, NULL, 'NaN'),
    (9007199254740993, 'ä', NULL, NULL, '', '-Infinity');
INSERT INTO "back room"."Odd ""name""" VALUES
    ('a', '2026-01-05T10:00:00Z', 1.0, 'x'), ('A', '2026-01-05T10:00:00Z', 1.50, NULL);
INSERT INTO events VALUES ('north', 1, 1), ('south', 1, NULL);
INSERT INTO parents VALUES (1, NULL), (2, 1), (3, 2);
INSERT INTO children VALUES (1, 1), (2, 3), (3, NULL);
