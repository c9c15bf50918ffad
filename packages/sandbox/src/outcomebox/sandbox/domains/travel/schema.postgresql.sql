-- Hotel booking desk. Money is whole euro cents; timestamps are ISO 8601 text in UTC
-- (2026-05-11T08:30:00Z); dates are ISO 8601 text (2026-05-11). Ids are text.

-- Customers and companies ------------------------------------------------------------------------

CREATE TABLE customers (
  customer_id    TEXT NOT NULL PRIMARY KEY,
  full_name      TEXT NOT NULL,
  email          TEXT NOT NULL UNIQUE,
  phone          TEXT,
  home_city      TEXT NOT NULL,
  card_last4     TEXT CHECK (card_last4 ~ '^[0-9]{4}$'),
  loyalty_tier   TEXT NOT NULL DEFAULT 'none' CHECK (loyalty_tier IN ('none', 'silver', 'gold')),
  loyalty_points BIGINT NOT NULL DEFAULT 0 CHECK (loyalty_points >= 0),
  created_at     TEXT NOT NULL
);

CREATE TABLE corporate_accounts (
  account_id  TEXT NOT NULL PRIMARY KEY,
  name        TEXT NOT NULL,
  country     TEXT NOT NULL,
  status      TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  billing_ref TEXT NOT NULL,
  since       TEXT NOT NULL
);

CREATE TABLE employees (
  employee_id TEXT NOT NULL PRIMARY KEY,
  account_id  TEXT NOT NULL REFERENCES corporate_accounts (account_id),
  customer_id TEXT NOT NULL UNIQUE REFERENCES customers (customer_id),
  role        TEXT NOT NULL CHECK (role IN ('traveller', 'arranger', 'approver')),
  cost_centre TEXT NOT NULL,
  status      TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'left'))
);

CREATE TABLE travel_policies (
  policy_id              TEXT NOT NULL PRIMARY KEY,
  account_id             TEXT NOT NULL UNIQUE REFERENCES corporate_accounts (account_id),
  max_nightly_cents      BIGINT NOT NULL CHECK (max_nightly_cents > 0),
  approval_rule          TEXT NOT NULL
                         CHECK (approval_rule IN ('downgrades', 'downgrades_and_dates')),
  approver_employee_id   TEXT NOT NULL REFERENCES employees (employee_id),
  auto_approve_max_cents BIGINT CHECK (auto_approve_max_cents > 0),
  cancellation_terms     TEXT NOT NULL CHECK (cancellation_terms IN ('rate_plan', 'contract'))
);

CREATE TABLE policy_room_classes (
  policy_id  TEXT NOT NULL REFERENCES travel_policies (policy_id),
  room_class TEXT NOT NULL CHECK (room_class IN ('standard', 'superior', 'deluxe', 'suite')),
  PRIMARY KEY (policy_id, room_class)
);

-- Booking system ---------------------------------------------------------------------------------

CREATE TABLE hotels (
  hotel_id TEXT NOT NULL PRIMARY KEY,
  name     TEXT NOT NULL,
  city     TEXT NOT NULL,
  country  TEXT NOT NULL,
  stars    BIGINT NOT NULL CHECK (stars BETWEEN 1 AND 5)
);

-- A room type of a hotel; `inventory` is how many such rooms the desk may sell for a night.
CREATE TABLE rooms (
  room_id        TEXT NOT NULL PRIMARY KEY,
  hotel_id       TEXT NOT NULL REFERENCES hotels (hotel_id),
  room_class     TEXT NOT NULL CHECK (room_class IN ('standard', 'superior', 'deluxe', 'suite')),
  max_guests     BIGINT NOT NULL CHECK (max_guests BETWEEN 1 AND 6),
  inventory      BIGINT NOT NULL CHECK (inventory >= 0),
  flexible_cents BIGINT NOT NULL CHECK (flexible_cents > 0),
  standard_cents BIGINT NOT NULL CHECK (standard_cents > 0),
  saver_cents    BIGINT NOT NULL CHECK (saver_cents > 0),
  UNIQUE (hotel_id, room_class)
);

CREATE TABLE bookings (
  booking_id             TEXT NOT NULL PRIMARY KEY,
  customer_id            TEXT NOT NULL REFERENCES customers (customer_id),
  account_id             TEXT REFERENCES corporate_accounts (account_id),
  room_id                TEXT NOT NULL REFERENCES rooms (room_id),
  rate_plan              TEXT NOT NULL CHECK (rate_plan IN ('flexible', 'standard', 'saver')),
  check_in               TEXT NOT NULL,
  check_out              TEXT NOT NULL,
  nights                 BIGINT NOT NULL CHECK (nights > 0),
  guests                 BIGINT NOT NULL CHECK (guests > 0),
  nightly_cents          BIGINT NOT NULL CHECK (nightly_cents > 0),
  total_cents            BIGINT NOT NULL,
  status                 TEXT NOT NULL CHECK (status IN
                           ('held', 'confirmed', 'checked_in', 'completed', 'cancelled', 'no_show')),
  hold_expires_at        TEXT,
  change_fee_cents       BIGINT NOT NULL DEFAULT 0 CHECK (change_fee_cents >= 0),
  cancellation_fee_cents BIGINT CHECK (cancellation_fee_cents >= 0),
  cancel_reason          TEXT CHECK (cancel_reason IN ('customer_request', 'duplicate')),
  cancelled_at           TEXT,
  special_request        TEXT,
  booked_at              TEXT NOT NULL,
  updated_at             TEXT NOT NULL,
  CHECK (nights = check_out::date - check_in::date),
  CHECK (total_cents = nights * nightly_cents),
  CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL)),
  CHECK ((status = 'cancelled') = (cancellation_fee_cents IS NOT NULL)),
  CHECK ((status = 'cancelled') = (cancel_reason IS NOT NULL))
);

-- Corporate approvals ----------------------------------------------------------------------------

CREATE TABLE approvals (
  approval_id          TEXT NOT NULL PRIMARY KEY,
  booking_id           TEXT NOT NULL REFERENCES bookings (booking_id),
  kind                 TEXT NOT NULL CHECK (kind IN ('downgrade', 'over_cap', 'date_change')),
  to_room_id           TEXT REFERENCES rooms (room_id),
  to_check_in          TEXT,
  to_check_out         TEXT,
  approver_employee_id TEXT NOT NULL REFERENCES employees (employee_id),
  reason               TEXT NOT NULL,
  status               TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'declined', 'used')),
  requested_at         TEXT NOT NULL,
  decided_at           TEXT,
  valid_until          TEXT,
  used_at              TEXT,
  CHECK ((kind = 'date_change') = (to_room_id IS NULL)),
  CHECK ((kind = 'date_change') = (to_check_in IS NOT NULL)),
  CHECK ((kind = 'date_change') = (to_check_out IS NOT NULL)),
  CHECK ((status = 'pending') = (decided_at IS NULL)),
  CHECK ((status IN ('approved', 'used')) = (valid_until IS NOT NULL)),
  CHECK ((status = 'used') = (used_at IS NOT NULL))
);

-- Payments ---------------------------------------------------------------------------------------

CREATE TABLE payments (
  payment_id     TEXT NOT NULL PRIMARY KEY,
  booking_id     TEXT NOT NULL REFERENCES bookings (booking_id),
  method         TEXT NOT NULL CHECK (method IN ('card', 'invoice')),
  card_last4     TEXT,
  amount_cents   BIGINT NOT NULL CHECK (amount_cents > 0),
  captured_cents BIGINT NOT NULL DEFAULT 0
                 CHECK (captured_cents BETWEEN 0 AND amount_cents),
  status         TEXT NOT NULL CHECK (status IN ('authorised', 'captured', 'released', 'failed')),
  created_at     TEXT NOT NULL,
  settled_at     TEXT,
  CHECK ((method = 'card') = (card_last4 IS NOT NULL)),
  CHECK ((status = 'captured') = (captured_cents > 0)),
  CHECK ((status IN ('captured', 'released')) = (settled_at IS NOT NULL))
);

CREATE TABLE refunds (
  refund_id    TEXT NOT NULL PRIMARY KEY,
  payment_id   TEXT NOT NULL REFERENCES payments (payment_id),
  amount_cents BIGINT NOT NULL CHECK (amount_cents > 0),
  reason       TEXT NOT NULL CHECK (reason IN
                 ('cancellation', 'change', 'duplicate', 'overcharge', 'service_failure')),
  created_at   TEXT NOT NULL
);

-- Ticket desk ------------------------------------------------------------------------------------

CREATE TABLE tickets (
  ticket_id   TEXT NOT NULL PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers (customer_id),
  booking_id  TEXT REFERENCES bookings (booking_id),
  topic       TEXT NOT NULL CHECK (topic IN ('new_booking', 'cancellation', 'date_change',
                'room_change', 'payment', 'complaint', 'other')),
  subject     TEXT NOT NULL,
  queue       TEXT NOT NULL DEFAULT 'desk'
              CHECK (queue IN ('desk', 'approvals', 'hotel_relations', 'supervisor')),
  priority    TEXT NOT NULL DEFAULT 'normal' CHECK (priority IN ('normal', 'high')),
  status      TEXT NOT NULL CHECK (status IN ('open', 'pending', 'resolved')),
  opened_at   TEXT NOT NULL,
  updated_at  TEXT NOT NULL,
  resolved_at TEXT,
  CHECK ((status = 'resolved') = (resolved_at IS NOT NULL))
);

CREATE TABLE ticket_notes (
  note_id    TEXT NOT NULL PRIMARY KEY,
  ticket_id  TEXT NOT NULL REFERENCES tickets (ticket_id),
  author     TEXT NOT NULL CHECK (author IN ('desk', 'customer', 'hotel', 'system')),
  body       TEXT NOT NULL,
  created_at TEXT NOT NULL
);
