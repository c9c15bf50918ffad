"""The bundled `desk` domain: a small desk of tickets, orders and owners, with unlimited tasks."""
