CREATE TABLE shelves (
  shelf_id TEXT PRIMARY KEY NOT NULL,
  label TEXT NOT NULL
);
CREATE TABLE boxes (
  box_id TEXT PRIMARY KEY NOT NULL,
  shelf_id TEXT NOT NULL REFERENCES shelves (shelf_id),
  weight INTEGER NOT NULL CHECK (weight > 0),
  note TEXT
);
