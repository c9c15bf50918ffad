-- Amounts are whole euro cents. Moments are ISO 8601 text in UTC, such as 2026-02-20T14:05:00Z.

-- Customer system ---------------------------------------------------------------------------------

CREATE TABLE customers (
    customer_id   TEXT NOT NULL PRIMARY KEY CHECK (customer_id ~ '^CUS-[0-9]'),
    name          TEXT NOT NULL CHECK (length(name) > 0),
    email         TEXT NOT NULL UNIQUE CHECK (email LIKE '_%@_%' AND email = lower(email)),
    postcode      TEXT NOT NULL CHECK (length(postcode) > 0),
    country       TEXT NOT NULL CHECK (country IN ('AT', 'BE', 'DE', 'FR', 'IE', 'NL')),
    tier          TEXT NOT NULL DEFAULT 'standard' CHECK (tier IN ('standard', 'gold')),
    registered_at TEXT NOT NULL CHECK (registered_at ~ '^....-..-..T..:..:..Z$')
);

CREATE TABLE addresses (
    address_id  TEXT NOT NULL PRIMARY KEY CHECK (address_id ~ '^ADR-[0-9]'),
    customer_id TEXT NOT NULL REFERENCES customers (customer_id),
    street      TEXT NOT NULL CHECK (length(street) > 0),
    postcode    TEXT NOT NULL CHECK (length(postcode) > 0),
    city        TEXT NOT NULL CHECK (length(city) > 0),
    country     TEXT NOT NULL CHECK (country IN ('AT', 'BE', 'DE', 'FR', 'IE', 'NL'))
);

CREATE INDEX addresses_of_customer ON addresses (customer_id);

-- Order system ------------------------------------------------------------------------------------

CREATE TABLE products (
    product_id  TEXT NOT NULL PRIMARY KEY CHECK (product_id ~ '^PRD-[0-9]'),
    name        TEXT NOT NULL CHECK (length(name) > 0),
    variant     TEXT NOT NULL,
    category    TEXT NOT NULL
        CHECK (category IN (
            'bedroom', 'furniture', 'garden', 'home',
            'kitchen', 'lighting', 'outdoor')),
    price_cents BIGINT NOT NULL CHECK (price_cents > 0),
    stock       BIGINT NOT NULL CHECK (stock >= 0),
    final_sale  BIGINT NOT NULL DEFAULT 0 CHECK (final_sale IN (0, 1)),
    UNIQUE (name, variant)
);

CREATE TABLE orders (
    order_id         TEXT NOT NULL PRIMARY KEY CHECK (order_id ~ '^ORD-[0-9]'),
    customer_id      TEXT NOT NULL REFERENCES customers (customer_id),
    address_id       TEXT NOT NULL REFERENCES addresses (address_id),
    status           TEXT NOT NULL
        CHECK (status IN ('placed', 'packed', 'shipped', 'delivered', 'cancelled')),
    placed_at        TEXT NOT NULL CHECK (placed_at ~ '^....-..-..T..:..:..Z$'),
    shipping_method  TEXT NOT NULL CHECK (shipping_method IN ('standard', 'express')),
    items_cents      BIGINT NOT NULL CHECK (items_cents > 0),
    discount_percent BIGINT NOT NULL DEFAULT 0 CHECK (discount_percent BETWEEN 0 AND 50),
    discount_cents   BIGINT NOT NULL DEFAULT 0 CHECK (discount_cents BETWEEN 0 AND items_cents),
    shipping_cents   BIGINT NOT NULL CHECK (shipping_cents >= 0),
    total_cents      BIGINT NOT NULL
        CHECK (total_cents = items_cents - discount_cents + shipping_cents),
    cancelled_at     TEXT CHECK (cancelled_at ~ '^....-..-..T..:..:..Z$'),
    cancel_reason    TEXT
        CHECK (cancel_reason IN ('customer_request', 'out_of_stock', 'payment_failed')),
    CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL)),
    CHECK ((status = 'cancelled') = (cancel_reason IS NOT NULL))
);

CREATE INDEX orders_of_customer ON orders (customer_id);

CREATE TABLE payments (
    payment_id   TEXT NOT NULL PRIMARY KEY CHECK (payment_id ~ '^PAY-[0-9]'),
    order_id     TEXT NOT NULL REFERENCES orders (order_id),
    method       TEXT NOT NULL CHECK (method IN ('card', 'paypal', 'gift_card')),
    amount_cents BIGINT NOT NULL CHECK (amount_cents > 0),
    status       TEXT NOT NULL CHECK (status IN ('authorised', 'captured', 'voided'))
);

CREATE INDEX payments_of_order ON payments (order_id);

CREATE TABLE shipments (
    shipment_id     TEXT NOT NULL PRIMARY KEY CHECK (shipment_id ~ '^SHP-[0-9]'),
    order_id        TEXT NOT NULL REFERENCES orders (order_id),
    carrier         TEXT NOT NULL CHECK (carrier IN ('NordPost', 'Parcelway', 'Velocargo')),
    tracking_number TEXT NOT NULL UNIQUE,
    status          TEXT NOT NULL CHECK (status IN ('in_transit', 'delivered', 'lost', 'returned')),
    shipped_at      TEXT NOT NULL CHECK (shipped_at ~ '^....-..-..T..:..:..Z$'),
    promised_at     TEXT NOT NULL CHECK (promised_at ~ '^....-..-..T..:..:..Z$'),
    delivered_at    TEXT CHECK (delivered_at ~ '^....-..-..T..:..:..Z$'),
    CHECK ((status = 'delivered') = (delivered_at IS NOT NULL))
);

CREATE INDEX shipments_of_order ON shipments (order_id);

CREATE TABLE order_items (
    item_id          TEXT NOT NULL PRIMARY KEY CHECK (item_id ~ '^ITM-[0-9]'),
    order_id         TEXT NOT NULL REFERENCES orders (order_id),
    product_id       TEXT NOT NULL REFERENCES products (product_id),
    shipment_id      TEXT REFERENCES shipments (shipment_id),
    quantity         BIGINT NOT NULL CHECK (quantity > 0),
    unit_price_cents BIGINT NOT NULL CHECK (unit_price_cents > 0)
);

CREATE INDEX items_of_order ON order_items (order_id);

CREATE TABLE returns (
    return_id           TEXT NOT NULL PRIMARY KEY CHECK (return_id ~ '^RET-[0-9]'),
    item_id             TEXT NOT NULL REFERENCES order_items (item_id),
    quantity            BIGINT NOT NULL CHECK (quantity > 0),
    reason              TEXT NOT NULL
        CHECK (reason IN ('unwanted', 'size', 'faulty', 'damaged', 'wrong_item')),
    resolution          TEXT NOT NULL CHECK (resolution IN ('refund', 'exchange')),
    exchange_product_id TEXT REFERENCES products (product_id),
    status              TEXT NOT NULL
        CHECK (status IN ('requested', 'received', 'refunded', 'exchanged')),
    requested_at        TEXT NOT NULL CHECK (requested_at ~ '^....-..-..T..:..:..Z$'),
    received_at         TEXT CHECK (received_at ~ '^....-..-..T..:..:..Z$'),
    CHECK ((resolution = 'exchange') = (exchange_product_id IS NOT NULL)),
    CHECK ((status = 'requested') = (received_at IS NULL))
);

CREATE INDEX returns_of_item ON returns (item_id);

CREATE TABLE refunds (
    refund_id    TEXT NOT NULL PRIMARY KEY CHECK (refund_id ~ '^RFD-[0-9]'),
    payment_id   TEXT NOT NULL REFERENCES payments (payment_id),
    item_id      TEXT REFERENCES order_items (item_id),
    return_id    TEXT REFERENCES returns (return_id),
    amount_cents BIGINT NOT NULL CHECK (amount_cents > 0),
    reason       TEXT NOT NULL
        CHECK (reason IN (
            'return', 'keep_it', 'lost', 'damaged',
            'cancellation', 'price_drop')),
    created_at   TEXT NOT NULL CHECK (created_at ~ '^....-..-..T..:..:..Z$')
);

CREATE INDEX refunds_of_payment ON refunds (payment_id);

CREATE TABLE store_credits (
    credit_id    TEXT NOT NULL PRIMARY KEY CHECK (credit_id ~ '^CRD-[0-9]'),
    customer_id  TEXT NOT NULL REFERENCES customers (customer_id),
    order_id     TEXT NOT NULL REFERENCES orders (order_id),
    amount_cents BIGINT NOT NULL CHECK (amount_cents > 0),
    reason       TEXT NOT NULL CHECK (reason IN ('late_delivery', 'goodwill')),
    issued_at    TEXT NOT NULL CHECK (issued_at ~ '^....-..-..T..:..:..Z$')
);

CREATE INDEX credits_of_order ON store_credits (order_id);

-- Carrier portal ----------------------------------------------------------------------------------

CREATE TABLE carrier_scans (
    scan_id     TEXT NOT NULL PRIMARY KEY CHECK (scan_id ~ '^SCN-[0-9]'),
    shipment_id TEXT NOT NULL REFERENCES shipments (shipment_id),
    kind        TEXT NOT NULL
        CHECK (kind IN (
            'picked_up', 'in_transit', 'held', 'released',
            'out_for_delivery', 'delivered')),
    place       TEXT NOT NULL CHECK (length(place) > 0),
    scanned_at  TEXT NOT NULL CHECK (scanned_at ~ '^....-..-..T..:..:..Z$')
);

CREATE INDEX scans_of_shipment ON carrier_scans (shipment_id);

CREATE TABLE carrier_exceptions (
    exception_id TEXT NOT NULL PRIMARY KEY CHECK (exception_id ~ '^EXC-[0-9]'),
    shipment_id  TEXT NOT NULL REFERENCES shipments (shipment_id),
    code         TEXT NOT NULL
        CHECK (code IN (
            'address_query', 'depot_hold', 'damaged',
            'lost_parcel', 'missorted', 'weather_delay')),
    status       TEXT NOT NULL CHECK (status IN ('open', 'closed')),
    opened_at    TEXT NOT NULL CHECK (opened_at ~ '^....-..-..T..:..:..Z$'),
    closed_at    TEXT CHECK (closed_at ~ '^....-..-..T..:..:..Z$'),
    resolution   TEXT
        CHECK (resolution IN (
            'moving', 'delivered', 'address_confirmed',
            'declared_lost', 'returned_to_sender')),
    CHECK ((status = 'closed') = (closed_at IS NOT NULL)),
    CHECK ((status = 'closed') = (resolution IS NOT NULL))
);

CREATE INDEX exceptions_of_shipment ON carrier_exceptions (shipment_id);

-- Ticket desk -------------------------------------------------------------------------------------

CREATE TABLE tickets (
    ticket_id    TEXT NOT NULL PRIMARY KEY CHECK (ticket_id ~ '^TKT-[0-9]'),
    customer_id  TEXT NOT NULL REFERENCES customers (customer_id),
    order_id     TEXT NOT NULL REFERENCES orders (order_id),
    exception_id TEXT REFERENCES carrier_exceptions (exception_id),
    category     TEXT NOT NULL
        CHECK (category IN ('delivery', 'return', 'cancellation', 'address', 'price')),
    subject      TEXT NOT NULL CHECK (length(subject) > 0),
    status       TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'on_hold', 'resolved')),
    reason       TEXT CHECK (reason IN ('awaiting_carrier', 'awaiting_return', 'done', 'declined')),
    opened_at    TEXT NOT NULL CHECK (opened_at ~ '^....-..-..T..:..:..Z$'),
    resolved_at  TEXT CHECK (resolved_at ~ '^....-..-..T..:..:..Z$'),
    CHECK ((status = 'resolved') = (resolved_at IS NOT NULL)),
    CHECK (CASE status
               WHEN 'open' THEN reason IS NULL
               WHEN 'on_hold' THEN coalesce(reason IN ('awaiting_carrier', 'awaiting_return'), false)
               ELSE coalesce(reason IN ('done', 'declined'), false)
           END)
);

CREATE INDEX tickets_of_customer ON tickets (customer_id);

CREATE TABLE ticket_notes (
    note_id    TEXT NOT NULL PRIMARY KEY CHECK (note_id ~ '^NOT-[0-9]'),
    ticket_id  TEXT NOT NULL REFERENCES tickets (ticket_id),
    author     TEXT NOT NULL CHECK (author IN ('agent', 'customer', 'carrier')),
    body       TEXT NOT NULL CHECK (length(body) > 0),
    created_at TEXT NOT NULL CHECK (created_at ~ '^....-..-..T..:..:..Z$')
);

CREATE INDEX notes_of_ticket ON ticket_notes (ticket_id);
