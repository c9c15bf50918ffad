INSERT INTO items VALUES (1, 'one');
