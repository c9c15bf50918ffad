INSERT INTO lamps (lamp, state) VALUES
  ('red', 'off'), ('blue', 'off'), ('green', 'off'), ('white', 'off');
