-- A small service desk. Ids are text: T12 is a ticket, O34 an order, A1 an owner; P1 is urgent.

CREATE TABLE owners (
  owner TEXT NOT NULL PRIMARY KEY CHECK (owner ~ '^A[1-9]$')
);

CREATE TABLE orders (
  order_id TEXT NOT NULL PRIMARY KEY CHECK (order_id ~ '^O[0-9][0-9]$'),
  owner    TEXT NOT NULL REFERENCES owners (owner),
  status   TEXT NOT NULL CHECK (status IN ('paid', 'lost', 'sent', 'refunded'))
);

CREATE TABLE tickets (
  ticket_id TEXT NOT NULL PRIMARY KEY CHECK (ticket_id ~ '^T[0-9][0-9]$'),
  order_id  TEXT NOT NULL REFERENCES orders (order_id),
  owner     TEXT NOT NULL REFERENCES owners (owner),
  priority  TEXT NOT NULL DEFAULT 'P2' CHECK (priority IN ('P1', 'P2', 'P3')),
  status    TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'closed'))
);
