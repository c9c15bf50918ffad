-- What every session starts with. A task's own tickets and orders are numbered from 10.

INSERT INTO owners (owner) VALUES
  ('A1'), ('A2'), ('A3'), ('A4'), ('A5'), ('A6'), ('A7'), ('A8');

INSERT INTO orders (order_id, owner, status) VALUES
  ('O01', 'A1', 'paid'),
  ('O02', 'A3', 'lost'),
  ('O03', 'A5', 'sent'),
  ('O04', 'A8', 'refunded');

INSERT INTO tickets (ticket_id, order_id, owner, priority, status) VALUES
  ('T01', 'O02', 'A2', 'P1', 'open'),
  ('T02', 'O03', 'A4', 'P2', 'open'),
  ('T03', 'O01', 'A6', 'P3', 'open'),
  ('T04', 'O04', 'A7', 'P2', 'closed');
