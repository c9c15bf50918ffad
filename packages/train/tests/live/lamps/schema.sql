CREATE TABLE lamps (
  lamp TEXT PRIMARY KEY NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('on', 'off'))
);
