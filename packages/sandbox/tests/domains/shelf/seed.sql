INSERT INTO shelves (shelf_id, label) VALUES ('S-1', 'left'), ('S-2', 'right');
INSERT INTO boxes (box_id, shelf_id, weight, note) VALUES
  ('B-008', 'S-1', 3, NULL),
  ('B-009', 'S-2', 5, 'fragile');
